"""Gradients against those that jax computes by its own rules, in float64: a second opinion beside differences.

Both agree to rounding: the tolerance is 1e-10.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import apart, case, i64, normal, uniform

jax.config.update("jax_enable_x64", True)


def same(op, inputs, function, **more):
    """A case whose gradients are the vector-Jacobian products of a jax function of its float64 inputs."""
    floats = [i for i, x in enumerate(inputs) if x is not None and np.asarray(x).dtype == np.float64]

    def forward(*given):
        y = function(*given)
        return [np.asarray(part) for part in (y if isinstance(y, tuple) else (y,))]

    def expect(given, weights):
        def of_floats(*values):
            full = list(given)
            for i, value in zip(floats, values):
                full[i] = value
            y = function(*full)
            return y if isinstance(y, tuple) else (y,)

        ys, pull = jax.vjp(of_floats, *[jnp.asarray(given[i]) for i in floats])
        seeds = tuple(jnp.asarray(weights[i]) if i in weights else jnp.zeros_like(y) for i, y in enumerate(ys))
        return [np.asarray(g) for g in pull(seeds)]

    case(op, inputs, forward=forward, expect=expect, rtol=1e-10, why="jax", **more)


# ---- Elementwise ---------------------------------------------------------------------------------------

for op, function in (("Erf", jax.scipy.special.erf), ("Sigmoid", jax.nn.sigmoid), ("Softplus", jax.nn.softplus), ("Tanh", jnp.tanh),
                     ("Softsign", jax.nn.soft_sign), ("Mish", jax.nn.mish), ("Asinh", jnp.arcsinh), ("Exp", jnp.exp)):
    same(op, [normal(3, 5, scale=2.0)], function)
same("Gelu", [normal(3, 5)], lambda x: jax.nn.gelu(x, approximate=False))
same("Gelu", [normal(3, 5)], lambda x: jax.nn.gelu(x, approximate=True), approximate="tanh")
same("Pow", [uniform(0.5, 2, 3, 1), normal(1, 4)], jnp.power)
same("Where", [np.array([[True], [False]]), normal(2, 3), normal(3)], jnp.where)
same("Clip", [normal(20), np.array(-0.5), np.array(0.5)], jnp.clip)

# ---- Products ------------------------------------------------------------------------------------------

same("MatMul", [normal(2, 1, 3, 4), normal(5, 4, 2)], jnp.matmul)
for equation, *shapes in (("bij,bjk,kl->bil", (2, 2, 3), (2, 3, 2), (2, 4)), ("ii->i", (4, 4)), ("...ij,...jk->...ik", (2, 2, 3), (3, 4)),
                          ("ij,ik,il->jkl", (2, 3), (2, 2), (2, 4))):
    same("Einsum", [normal(*s, seed=i) for i, s in enumerate(shapes)], lambda *v, e=equation: jnp.einsum(e, *v), equation=equation)
same("Det", [normal(2, 4, 4)], jnp.linalg.det, dynamic=False)

# ---- Convolutions and pools ----------------------------------------------------------------------------


def convolution(x, w, strides, pads, dilations, group):
    half = len(strides)
    return lax.conv_general_dilated(x, w, strides, list(zip(pads[:half], pads[half:])), rhs_dilation=dilations, feature_group_count=group)


for x, w, strides, pads, dilations, group in (((2, 3, 7, 6), (4, 3, 3, 3), [1, 1], [1, 1, 1, 1], [1, 1], 1),
                                              ((1, 4, 8, 7), (4, 2, 3, 2), [2, 1], [0, 1, 2, 0], [1, 2], 2),
                                              ((2, 2, 9), (3, 2, 4), [3], [2, 1], [2], 1), ((1, 3, 5, 5), (6, 1, 3, 3), [1, 1], [1] * 4, [1, 1], 3)):
    same("Conv", [normal(*x), normal(*w, seed=1)], lambda x, w, a=(strides, pads, dilations, group): convolution(x, w, *a),
         strides=strides, pads=pads, dilations=dilations, group=group, fixed=(1,),
         dynamic=group == 1)
same("MaxPool", [apart(2, 2, 6, 5)], lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 2), (1, 1, 2, 1), "VALID"),
     kernel_shape=[3, 2], strides=[2, 1])
same("AveragePool", [normal(2, 2, 6, 5)], lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 1), "VALID") / 4,
     kernel_shape=[2, 2], strides=[2, 1])

# ---- Reductions and normalizations ---------------------------------------------------------------------

same("Softmax", [normal(3, 4, 5)], lambda x: jax.nn.softmax(x, axis=1), axis=1)
same("LogSoftmax", [normal(3, 5, scale=4.0)], jax.nn.log_softmax)
same("ReduceLogSumExp", [normal(3, 4, 2), i64(0, 2)], lambda x, _: jax.nn.logsumexp(x, axis=(0, 2)), keepdims=0)
same("ReduceMax", [np.array([[1.0, 3, 3], [2, 2, 2]]), i64(1)], lambda x, _: jnp.max(x, axis=1), keepdims=0)
same("ReduceProd", [normal(3, 4), i64(1)], lambda x, _: jnp.prod(x, axis=1), keepdims=0)
same("CumSum", [normal(3, 4), np.array(1)], lambda x, _: lax.cumsum(x, axis=1, reverse=True), reverse=1)
same("LayerNormalization", [normal(3, 5), normal(5, seed=1), normal(5, seed=2)],
     lambda x, s, b: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * s + b)

# ---- Movement ------------------------------------------------------------------------------------------

same("Gather", [normal(4, 3), i64(0, 2, 2, -1)], lambda x, i: x[i])
same("GatherElements", [normal(3, 4), np.array([[0, 1, 2, 0], [2, 2, 1, 0]])], lambda x, i: jnp.take_along_axis(x, i, 0))
same("ScatterND", [normal(4, 2), np.array([[1], [3]]), normal(2, 2, seed=1)], lambda x, i, u: jnp.asarray(x).at[i[:, 0]].add(u), reduction="add")
same("TopK", [apart(3, 6), i64(2)], lambda x, k: tuple(lax.top_k(x, 2)), outputs=2, used=(0,))
same("Pad", [normal(4, 5), i64(2, 1, 1, 3)], lambda x, p: jnp.pad(x, ((2, 1), (1, 3)), mode="reflect"), mode="reflect", dynamic=False)
same("Resize", [normal(1, 2, 4, 5), None, None, i64(1, 2, 8, 15)], lambda x, *_: jax.image.resize(x, (1, 2, 8, 15), "linear"),
     mode="linear", wrt=(0,))

# ---- Layers --------------------------------------------------------------------------------------------


def lstm(x, w, r, b):
    size = r.shape[2]

    def step(state, row):
        h, c = state
        i, o, f, g = jnp.split(row @ w[0].T + h @ r[0].T + b[0, :4 * size] + b[0, 4 * size:], 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((x.shape[1], size))
    (h, c), y = lax.scan(step, (zero, zero), x)
    return y[:, None], h[None], c[None]


same("LSTM", [normal(5, 2, 3), normal(1, 16, 3, scale=0.5), normal(1, 16, 4, scale=0.5), normal(1, 32, scale=0.3)], lstm, outputs=3,
     hidden_size=4, fixed=(1, 2, 3))
same("Attention", [normal(2, 2, 3, 4), normal(2, 2, 5, 4, seed=1), normal(2, 2, 5, 4, seed=2)],
     lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 2, axis=-1), v), dynamic=False)
same("SoftmaxCrossEntropyLoss", [normal(4, 3), np.array([0, 2, 1, 1])],
     lambda x, t: -jnp.mean(jax.nn.log_softmax(x)[jnp.arange(4), t]), reduction="mean")
same("DFT", [normal(2, 7, 1), None, np.array(1)], lambda x, *_: (lambda y: jnp.stack([y.real, y.imag], -1))(jnp.fft.fft(x[..., 0], axis=1)),
     dynamic=False)
