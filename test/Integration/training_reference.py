"""An independent implementation of what training computes: networks, losses and optimizers in numpy.

Written from the formulas of PyTorch's documentation and of onnxruntime's AdamW (mode "ort"), in any precision: float64 is
the reference, float32 shows how far rounding alone goes.
"""
import numpy as np


class Network:
    """Layers in a row. A layer is a function (x, parameters) -> (y, backward), where backward gives (dx, gradients)."""

    def __init__(self, layers, parameters):
        self.layers, self.parameters = layers, parameters

    def forward(self, x):
        self.tape = []
        for layer, names in self.layers:
            x, backward = layer(x, *[self.parameters[name] for name in names])
            self.tape.append((names, backward))
        return x

    def backward(self, dy):
        gradients = {}
        for names, backward in reversed(self.tape):
            dy, own = backward(dy)
            gradients.update(zip(names, own))
        return gradients


def linear(x, w, b):
    return x @ w.T + b, lambda dy: (dy @ w, (dy.T @ x, dy.sum(0)))


def relu(x):
    return np.maximum(x, 0), lambda dy: (dy * (x > 0), ())


def tanh(x):
    y = np.tanh(x)
    return y, lambda dy: (dy * (1 - y * y), ())


def flatten(x):
    return x.reshape(len(x), -1), lambda dy: (dy.reshape(x.shape), ())


def conv3x3(x, w, b):
    """Stride 1, one pixel of padding."""
    n, c, h, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    shifts = [(i, j) for i in range(3) for j in range(3)]
    columns = np.stack([padded[:, :, i:i + h, j:j + width] for i, j in shifts], 2)
    kernel = w.reshape(len(w), c, 9)
    y = np.einsum("nckhw,ock->nohw", columns, kernel, optimize=True) + b[:, None, None]

    def backward(dy):
        dw = np.einsum("nohw,nckhw->ock", dy, columns, optimize=True).reshape(w.shape)
        parts = np.einsum("nohw,ock->nckhw", dy, kernel, optimize=True)
        dx = np.zeros_like(padded)
        for k, (i, j) in enumerate(shifts):
            dx[:, :, i:i + h, j:j + width] += parts[:, :, k]
        return dx[:, :, 1:-1, 1:-1], (dw, dy.sum((0, 2, 3)))
    return y, backward


def maxpool2(x):
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
    best = blocks.argmax(-1)

    def backward(dy):
        spread = np.zeros_like(blocks)
        np.put_along_axis(spread, best[..., None], dy[..., None], -1)
        return spread.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(x.shape), ()
    return np.take_along_axis(blocks, best[..., None], -1)[..., 0], backward


def batchnorm(x, scale, shift, eps=1e-5):
    """In training mode; the running statistics are the test's business."""
    axes, shape = (0, 2, 3), (1, -1, 1, 1)
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    inverse = 1 / np.sqrt(var + eps)
    hat = (x - mean) * inverse

    def backward(dy):
        dhat = dy * scale.reshape(shape)
        dx = inverse * (dhat - dhat.mean(axes, keepdims=True) - hat * (dhat * hat).mean(axes, keepdims=True))
        return dx, ((dy * hat).sum(axes), dy.sum(axes))
    return hat * scale.reshape(shape) + shift.reshape(shape), backward


# ---- Losses: functions of an output and a target that give the value of every element or sample ------------------------


def log_softmax(x, axis):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def cross_entropy(x, t, reduction="mean", weight=None, ignore=-100, smoothing=0.0, axis=1, nll=False):
    logs = np.moveaxis(x if nll else log_softmax(x, axis), axis, -1)
    classes = logs.shape[-1]
    w = np.ones(classes, x.dtype) if weight is None else np.asarray(weight, x.dtype)
    counts = t != ignore
    safe = np.where(counts, t, 0)
    own = -np.take_along_axis(logs, safe[..., None], -1)[..., 0] * w[safe]
    spread = -(logs * w).sum(-1)
    losses = np.where(counts, (1 - smoothing) * own + smoothing / classes * spread, 0)
    if reduction == "none":
        return losses
    return losses.sum() / (1 if reduction == "sum" else np.where(counts, w[safe], 0).sum())


def element(name, x, t, reduction="mean", number=1.0, log_target=False):
    d = x - t
    losses = {
        "mse": lambda: d * d,
        "l1": lambda: abs(d),
        "smooth-l1": lambda: np.where(abs(d) < number, d * d / 2 / number, abs(d) - number / 2),
        "huber": lambda: np.where(abs(d) <= number, d * d / 2, number * (abs(d) - number / 2)),
        "bce-with-logits": lambda: number * t * np.logaddexp(0, -x) + (1 - t) * np.logaddexp(0, x),
        "kl-div": lambda: np.exp(t) * (t - x) if log_target else np.where(
            t > 0, t * (np.log(np.where(t > 0, t, 1)) - x), 0),
    }[name]()
    if reduction == "batchmean":
        return losses.sum() / len(x)
    return {"mean": np.mean, "sum": np.sum, "none": lambda v: v}[reduction](losses)


def mse_gradient(x, t):
    return ((x - t) ** 2).mean(), 2 * (x - t) / x.size


def cross_entropy_gradient(x, t):
    logs = log_softmax(x, 1)
    onehot = np.eye(x.shape[1], dtype=x.dtype)[t]
    return -(logs * onehot).sum() / len(x), (np.exp(logs) - onehot) / len(x)


# ---- Optimizers: functions (w, g, state, lr, t) -> w of one parameter ----------------------------------------------


def sgd(momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    def step(w, g, s, lr, t):
        g = g + weight_decay * w
        if momentum:
            s["b"] = g if t == 1 else momentum * s["b"] + (1 - dampening) * g
            g = g + momentum * s["b"] if nesterov else s["b"]
        return w - lr * g
    return step


def moments(s, g, betas):
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g


def adam(betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, decoupled=False):
    def step(w, g, s, lr, t):
        if decoupled:
            w = w * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * w
        moments(s, g, betas)
        v = s["v"]
        if amsgrad:
            v = s["x"] = np.maximum(s.get("x", 0), v)
        return w - lr * (s["m"] / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return step


def adamw_ort(betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0, correct_bias=True):
    def step(w, g, s, lr, t):
        moments(s, g, betas)
        rate = lr * np.sqrt(1 - betas[1] ** t) / (1 - betas[0] ** t) if correct_bias else lr
        w = w - rate * s["m"] / (np.sqrt(s["v"]) + eps)
        return w - lr * weight_decay * w
    return step


def adagrad(lr_decay=0.0, weight_decay=0.0, initial=0.0, eps=1e-10):
    def step(w, g, s, lr, t):
        g = g + weight_decay * w
        s["h"] = s.get("h", initial) + g * g
        return w - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["h"]) + eps)
    return step


def rmsprop(alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False):
    def step(w, g, s, lr, t):
        g = g + weight_decay * w
        v = s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
        if centered:
            s["a"] = alpha * s.get("a", 0) + (1 - alpha) * g
            v = v - s["a"] ** 2
        d = g / (np.sqrt(v) + eps)
        if momentum:
            d = s["b"] = momentum * s.get("b", 0) + d
        return w - lr * d
    return step


def lamb(betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
    def step(w, g, s, lr, t):
        moments(s, g, betas)
        u = s["m"] / (1 - betas[0] ** t) / (np.sqrt(s["v"] / (1 - betas[1] ** t)) + eps) + weight_decay * w
        a, b = np.sqrt((w * w).sum()), np.sqrt((u * u).sum())
        return w - lr * (a / b if a > 0 and b > 0 else 1.0) * u
    return step


def lion(betas=(0.9, 0.99), weight_decay=0.0):
    def step(w, g, s, lr, t):
        m = s.get("m", np.zeros_like(g))
        w = w * (1 - lr * weight_decay) - lr * np.sign(betas[0] * m + (1 - betas[0]) * g)
        s["m"] = betas[1] * m + (1 - betas[1]) * g
        return w
    return step


def clip(gradients, norm=None, value=None):
    """Scales to a norm, then cuts off; gives the norm before."""
    total = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients.values()))
    for name, g in gradients.items():
        if norm is not None:
            g = g * np.asarray(min(1.0, norm / (total + 1e-6)), g.dtype)
        gradients[name] = g if value is None else np.clip(g, -value, value)
    return total
