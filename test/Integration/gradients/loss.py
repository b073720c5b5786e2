"""Losses."""
import numpy as np

from cases import case, normal, rng, uniform


def labels(shape, classes, ignored=None):
    values = rng("labels", shape, classes).integers(0, classes, size=shape)
    if ignored is not None:
        values.flat[::3] = ignored
    return values.astype(np.int64)


def likelihood(x, target, weight=None, reduction="mean", ignore_index=None):
    counts = np.ones(target.shape, bool) if ignore_index is None else target != ignore_index
    safe = np.where(counts, target, 0)
    w = np.where(counts, 1.0 if weight is None else weight[safe], 0.0)
    loss = -w * np.take_along_axis(x, safe[:, None], axis=1)[:, 0]
    if reduction == "none":
        return loss
    return np.sum(loss) / np.sum(w) if reduction == "mean" else np.sum(loss)


def log_softmax(x):
    x = x - np.max(x, axis=1, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))


def entropy(x, target, weight=None, **attributes):
    logs = log_softmax(x)
    return likelihood(logs, target, weight, **attributes), logs


CONFIGURATIONS = (((3, 5), False, None), ((4, 3), True, None), ((2, 4, 3), False, -100), ((3, 2, 2, 2), True, 1),
                  ((1, 7), False, None), ((5, 1), True, None), ((6, 4), True, -1))

for shape, weighted, ignored in CONFIGURATIONS:
    for reduction in ("mean", "sum", "none"):
        target = labels(shape[:1] + shape[2:], shape[1], ignored)
        inputs = [normal(*shape), target] + ([uniform(0.5, 2.0, shape[1])] if weighted else [])
        attributes = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
        if ignored is not None and np.all(target == ignored):
            continue
        case("NegativeLogLikelihoodLoss", inputs, runtime=(1,),
             forward=lambda *v, a=attributes: likelihood(*v, **a), **attributes)
        case("SoftmaxCrossEntropyLoss", inputs, runtime=(1,), outputs=2 if len(shape) == 2 else 1,
             used=(0, 1) if len(shape) == 2 else (0,), forward=lambda *v, a=attributes: entropy(*v, **a), **attributes)
case("SoftmaxCrossEntropyLoss", [normal(2, 3), labels((2,), 3).astype(np.int32)], forward=entropy, runtime=(1,), outputs=2,
     used=(0,))
