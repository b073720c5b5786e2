"""How a row of the gradient tests is written: see elementwise.py for examples.

A case is one node (or a few, see `nodes`) and values for its inputs. It is differentiated with respect to every
float64 input, each output weighted by random numbers, and compared with differences of ONNX's reference implementation.
Integer and bool inputs are constants of the model unless `runtime` names them.
"""
import dataclasses
import zlib

import numpy as np

CASES = []


@dataclasses.dataclass
class Case:
    op: str
    inputs: list                  # arrays; None for one that is left out
    attributes: dict
    outputs: int = 1              # how many outputs the node has
    used: tuple = None            # which of them are differentiated (default: those of float64)
    domain: str = ""
    wrt: tuple = None             # which inputs are differentiated for (default: those of float64)
    runtime: tuple = ()           # integer and bool inputs that are inputs of the model
    dynamic: bool = True          # run it with all input dimensions symbolic, too
    fixed: tuple = ()             # inputs that keep their sizes then
    nodes: list = None            # the graph from x0, x1, ... to y0, y1, ... where it is more than one node
    opset: int = 24
    forward: object = None        # inputs -> outputs, where the reference implementation is wrong or single precision
    expect: object = None         # (inputs, dys) -> gradients, where the convention is not the derivative
    step: float = 1e-3            # of the differences
    rtol: float = 1e-6
    second: bool = True           # check the gradient's gradient as well (the first case of an operator)
    why: str = ""                 # why expect, forward or a wider rtol

    def wanted(self):
        """Positions of the inputs to differentiate for."""
        if self.wrt is not None:
            return list(self.wrt)
        return [i for i, x in enumerate(self.inputs) if x is not None and x.dtype == np.float64]

    def name(self):
        shapes = ",".join("-" if x is None else "x".join(map(str, x.shape)) or "scalar" for x in self.inputs)
        attributes = ",".join(f"{k}={v}" for k, v in self.attributes.items() if not hasattr(v, "SerializeToString"))
        return f"{self.op}({shapes}) {attributes}"[:110]


def case(op, inputs, *, outputs=1, used=None, domain="", wrt=None, runtime=(), dynamic=True, fixed=(), nodes=None, opset=24,
         forward=None, expect=None, step=1e-3, rtol=1e-6, second=True, why="", **attributes):
    """Adds a case; further keywords are the node's attributes."""
    arrays = [None if x is None else np.asarray(x) for x in inputs]
    CASES.append(Case(op, arrays, attributes, outputs, used, domain, wrt, runtime, dynamic, fixed, nodes, opset, forward, expect,
                      step, rtol, second, why))


def rng(*key):
    """A generator that depends on the key alone: cases do not change when others are added."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def normal(*shape, scale=1.0, shift=0.0, seed=0):
    """Normally distributed float64."""
    return np.asarray(rng("normal", shape, scale, shift, seed).normal(size=shape) * scale + shift)


def uniform(low, high, *shape, seed=0):
    """Uniformly distributed float64."""
    return np.asarray(rng("uniform", low, high, shape, seed).uniform(low, high, size=shape))


def apart(*shape, gap=0.1, low=-2.0, away=(), seed=0):
    """Distinct float64 in random order, at least `gap` from each other and from the numbers `away`: no ties, no kinks."""
    count, values, at = int(np.prod(shape)), [], low
    while len(values) < count:
        if all(abs(at - a) > gap for a in away):
            values.append(at)
        at += gap * 1.37
    return np.asarray(rng("apart", shape, seed).permutation(np.array(values)).reshape(shape))


def i64(*values):
    return np.array(values, np.int64)
