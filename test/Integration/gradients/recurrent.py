"""Recurrent layers."""
import numpy as np

from cases import case, normal


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def attributes_of(activations=(), activation_alpha=(), activation_beta=()):
    """The functions of a layer that names its own, one for each direction."""
    numbers = {"Affine": "ab", "ScaledTanh": "ab", "Softplus": ""}
    alphas, betas, result = list(activation_alpha), list(activation_beta), []
    for name in activations:
        a, b = (alphas.pop(0), betas.pop(0)) if numbers[name] else (0, 0)
        result.append({"Affine": lambda v, a=a, b=b: a * v + b, "ScaledTanh": lambda v, a=a, b=b: a * np.tanh(b * v),
                       "Softplus": lambda v: np.log1p(np.exp(v))}[name])
    return result


def run(kind, x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, direction="forward", linear=0, layout=0, forget=0, clip=None, **more):
    """All three kinds, after their definitions; (y, y_h) and y_c for an LSTM."""
    functions = attributes_of(**more)

    def a(function, value):
        return (functions[d] if functions else function)(value if clip is None else np.clip(value, -clip, clip))

    if layout:
        x = np.swapaxes(x, 0, 1)
        h0, c0 = (None if s is None else np.swapaxes(s, 0, 1) for s in (h0, c0))
    steps, batch, size = x.shape[0], x.shape[1], r.shape[2]
    count = w.shape[0]
    y = np.zeros((steps, count, batch, size))
    finals = [[], []]
    for d in range(count):
        h = np.zeros((batch, size)) if h0 is None else h0[d]
        c = np.zeros((batch, size)) if c0 is None else c0[d]
        gates = r.shape[1] // size
        wb, rb = (np.zeros(gates * size),) * 2 if b is None else np.split(b[d], 2)
        ws, rs, wbs, rbs = (np.split(t, gates) for t in (w[d], r[d], wb, rb))
        ps = [np.zeros(size)] * 3 if p is None else np.split(p[d], 3)
        for i in range(steps):
            t = steps - 1 - i if direction == "reverse" or d == 1 else i

            def g(k, state=None):
                return x[t] @ ws[k].T + (h if state is None else state) @ rs[k].T + wbs[k] + rbs[k]

            if kind == "RNN":
                nh, nc = a(np.tanh, g(0)), c
            elif kind == "GRU":
                z, reset = a(sigmoid, g(0)), a(sigmoid, g(1))
                new = a(np.tanh, x[t] @ ws[2].T + wbs[2] + reset * (h @ rs[2].T + rbs[2])) if linear else a(np.tanh, g(2, reset * h))
                nh, nc = (1 - z) * new + z * h, c
            else:
                gate = a(sigmoid, g(0) + ps[0] * c)
                keep = 1 - gate if forget else a(sigmoid, g(2) + ps[2] * c)
                nc = keep * c + gate * a(np.tanh, g(3))
                nh = a(sigmoid, g(1) + ps[1] * nc) * a(np.tanh, nc)
            on = np.ones((batch, 1), bool) if lengths is None else (t < lengths)[:, None]
            y[t, d] = np.where(on, nh, 0)
            h, c = np.where(on, nh, h), np.where(on, nc, c)
        finals[0].append(h)
        finals[1].append(c)
    states = [np.stack(s, axis=1 if layout else 0) for s in finals]
    y = y.transpose(2, 0, 1, 3) if layout else y
    return [y, states[0]] + ([states[1]] if kind == "LSTM" else [])


def layer(kind, steps, batch, inputs, hidden, bias=True, lengths=None, initial=False, peepholes=False, **attributes):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    d = 2 if attributes.get("direction") == "bidirectional" else 1
    first = attributes.get("layout", 0)
    state = (batch, d, hidden) if first else (d, batch, hidden)
    values = [normal(*((batch, steps, inputs) if first else (steps, batch, inputs))), normal(d, gates * hidden, inputs, seed=1, scale=0.5),
              normal(d, gates * hidden, hidden, seed=2, scale=0.5), normal(d, 2 * gates * hidden, seed=3, scale=0.3) if bias else None,
              None if lengths is None else np.array(lengths, np.int32), normal(*state, seed=4) if initial else None]
    if kind == "LSTM":
        values += [normal(*state, seed=5) if initial else None, normal(d, 3 * hidden, seed=6, scale=0.5) if peepholes else None]
    while values[-1] is None:
        values.pop()
    names = {"linear_before_reset": "linear", "input_forget": "forget"}
    own = {names.get(k, k): v for k, v in attributes.items()}
    case(kind, values, outputs=3 if kind == "LSTM" else 2, hidden_size=hidden, fixed=(1, 2, 3, 7), dynamic=not initial,
         forward=lambda *v: run(kind, *v, **own), runtime=(4,) if lengths else (), **attributes)


for kind in ("RNN", "GRU", "LSTM"):
    layer(kind, 3, 2, 3, 2)
    layer(kind, 2, 1, 2, 3, bias=False, direction="reverse", initial=True)
    layer(kind, 3, 2, 2, 2, direction="bidirectional", lengths=[3, 1], initial=True)
    layer(kind, 1, 3, 1, 1)
    layer(kind, 2, 2, 2, 2, layout=1, initial=True)
    layer(kind, 0, 2, 2, 2, initial=True)
    layer(kind, 3, 2, 2, 1, bias=False)
layer("GRU", 3, 2, 2, 2, linear_before_reset=1, initial=True)
layer("LSTM", 3, 2, 2, 2, peepholes=True, initial=True)
layer("LSTM", 2, 2, 2, 2, input_forget=1, clip=0.8)
layer("RNN", 3, 2, 2, 3, lengths=[2, 3], direction="reverse", activations=["Affine"], activation_alpha=[0.7], activation_beta=[0.2])
layer("RNN", 2, 2, 2, 2, activations=["Softplus", "ScaledTanh"], direction="bidirectional", activation_alpha=[1.3], activation_beta=[0.6])
