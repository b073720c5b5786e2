"""Normalizations and softmax."""
import numpy as np

from cases import apart, case, normal, uniform

# ---- Along axes ----------------------------------------------------------------------------------------

for op in ("Softmax", "LogSoftmax"):
    case(op, [normal(3, 5)])
    case(op, [normal(2, 3, 4)], axis=1)
    case(op, [normal(7)], axis=0)
    case(op, [normal(2, 1, 3, 2)], axis=-4)
    case(op, [normal(0, 4)])
    case(op, [normal(4, 1)])


def lp(x, axis=-1, p=2):
    return x / np.sum(np.abs(x) ** p, axis=axis, keepdims=True) ** (1 / p)


for shape, axis, p in (((3, 5), -1, 2), ((3, 5), 0, 1), ((2, 3, 4), 1, 2), ((7,), 0, 1), ((0, 3), 1, 2), ((2, 1), 1, 2)):
    case("LpNormalization", [apart(*shape, away=(0.0,))], axis=axis, p=p, forward=lambda x, a=axis, q=p: lp(x, a, q),
         why="the reference divides by a norm that it does not keep")


def mvn(x, axes=(0, 2, 3)):
    centered = x - np.mean(x, axis=tuple(axes), keepdims=True)
    return centered / (np.sqrt(np.mean(centered ** 2, axis=tuple(axes), keepdims=True)) + 1e-9)


for shape, axes in (((2, 3, 2, 3), None), ((3, 4), [1]), ((2, 3, 4), [0, 2]), ((5,), [0]), ((2, 3, 4), [-1, 0])):
    attributes = {} if axes is None else {"axes": axes}
    case("MeanVarianceNormalization", [normal(*shape)], forward=lambda x, a=axes: mvn(x, a or (0, 2, 3)),
         why="single precision constants", **attributes)

for shape, attributes in (((2, 5, 2, 3), dict(size=3)), ((1, 6, 4), dict(size=5, alpha=0.5, beta=0.5, bias=2.0)),
                          ((2, 4, 1, 1), dict(size=2, alpha=0.3)), ((1, 1, 3), dict(size=1)), ((1, 3, 2, 2, 2), dict(size=9, alpha=0.1))):
    def lrn(x, size, alpha=1e-4, beta=0.75, bias=1.0):
        alpha, beta, bias = np.float64(np.float32(alpha)), np.float64(np.float32(beta)), np.float64(np.float32(bias))
        sums = np.zeros_like(x)
        for c in range(x.shape[1]):
            sums[:, c] = np.sum(x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1] ** 2, axis=1)
        return x / (bias + alpha / size * sums) ** beta

    case("LRN", [normal(*shape)], forward=lambda x, a=attributes: lrn(x, **a), why="the reference takes rank 4 only",
         **attributes)

# ---- Over channels -------------------------------------------------------------------------------------


def channels(count, seed=0):
    return [uniform(0.5, 1.5, count, seed=seed), normal(count, seed=seed + 1)]


def running(count):
    return [normal(count, seed=7), uniform(0.5, 2.0, count, seed=8)]


for shape in ((2, 3, 4, 2), (5, 2), (1, 3, 7), (3, 1, 2, 2, 2), (0, 2, 3)):
    case("BatchNormalization", [normal(*shape), *channels(shape[1]), *running(shape[1])])
    if 0 not in shape:
        case("BatchNormalization", [normal(*shape), *channels(shape[1]), *running(shape[1])], outputs=3, training_mode=1,
             epsilon=1e-2, momentum=0.7)


def over(x, axes, epsilon):
    centered = x - np.mean(x, axis=axes, keepdims=True)
    return centered / np.sqrt(np.mean(centered ** 2, axis=axes, keepdims=True) + np.float64(np.float32(epsilon)))


def per_channel(v, x):
    return v.reshape((1, -1) + (1,) * (x.ndim - 2))


def instance(x, scale, b, epsilon=1e-5):
    return over(x, tuple(range(2, x.ndim)), epsilon) * per_channel(scale, x) + per_channel(b, x)


for shape in ((2, 3, 4, 2), (1, 2, 5), (3, 1, 2, 2, 2), (0, 2, 3), (2, 2, 3, 3)):
    case("InstanceNormalization", [normal(*shape), *channels(shape[1])], epsilon=1e-2,
         forward=lambda x, s, b: instance(x, s, b, 1e-2))


def group(x, scale, b, groups, epsilon=1e-5):
    split = x.reshape((x.shape[0], groups, int(np.prod(x.shape[1:])) // groups))
    return over(split, (2,), epsilon).reshape(x.shape) * per_channel(scale, x) + per_channel(b, x)


for shape, groups in (((2, 4, 3, 2), 2), ((1, 6, 4), 3), ((2, 3, 2, 2), 3), ((1, 4, 3), 1), ((3, 2, 1, 2, 2), 2)):
    case("GroupNormalization", [normal(*shape), *channels(shape[1])], num_groups=groups, epsilon=1e-2,
         forward=lambda x, s, b, g=groups: group(x, s, b, g, 1e-2))

# ---- Over trailing dimensions --------------------------------------------------------------------------


def layer(x, scale, b=None, axis=-1, epsilon=1e-2):
    axes = tuple(range(axis % x.ndim, x.ndim))
    epsilon = np.float64(np.float32(epsilon))
    mean = np.mean(x, axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(np.mean((x - mean) ** 2, axis=axes, keepdims=True) + epsilon)
    y = (x - mean) * inverse * scale
    return y if b is None else y + b


for x, scale, b, axis in (((2, 3, 5), (5,), (5,), -1), ((4, 6), (6,), None, 1), ((2, 3, 4), (3, 4), (3, 4), 1), ((3,), (3,), (3,), 0),
                          ((0, 4), (4,), (4,), -1), ((2, 1, 4), (4,), (1,), -1)):
    inputs = [normal(*x), normal(*scale, seed=1)] + ([normal(*b, seed=2)] if b else [])
    case("LayerNormalization", inputs, axis=axis, epsilon=1e-2, forward=lambda *v, a=axis: layer(*v, axis=a))


def rms(x, scale, axis=-1, epsilon=1e-2):
    axes = tuple(range(axis % x.ndim, x.ndim))
    return x / np.sqrt(np.mean(x ** 2, axis=axes, keepdims=True) + np.float64(np.float32(epsilon))) * scale


for x, scale, axis in (((2, 3, 5), (5,), -1), ((4, 6), (6,), 1), ((2, 3, 4), (3, 4), 1), ((3,), (3,), 0), ((0, 4), (4,), -1)):
    case("RMSNormalization", [normal(*x), normal(*scale, seed=1)], axis=axis, epsilon=1e-2,
         forward=lambda *v, a=axis: rms(*v, axis=a))

for shape in ((3, 4), (5,), (2, 1, 3)):
    case("Hardmax", [apart(*shape)], expect=lambda inputs, dys: [np.zeros_like(inputs[0])], why="a step has no slope")
case("Hardmax", [apart(2, 3)], axis=0, expect=lambda inputs, dys: [np.zeros_like(inputs[0])], why="a step has no slope")
case("Hardmax", [apart(1, 1)], expect=lambda inputs, dys: [np.zeros_like(inputs[0])], why="a step has no slope")
