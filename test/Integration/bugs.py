#!/usr/bin/env python3
"""Replay public bugs of other systems: each graph gives the right values, or the run ends with the reason.

usage: bugs.py [--build DIR] [--filter RE] [-- FLAG...]

docs/Semantics.md says which bug is tested where. Expected values are numpy's, or stand here. Sizes are symbols, and the same
graph is compiled once more with the sizes of its first inputs. Fresh memory is filled with garbage.
"""
import argparse
import os
import pathlib
import re
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from graphs import Case, check, f32, harness, i64  # noqa: E402

NAN, INF = np.nan, np.inf
RANDOM = np.random.default_rng(11)
CASES = []


def bug(name, text, *runs, errors=(), rtol=1e-6):
    """Notes a graph; a run is (inputs, outputs), an error (inputs, text)."""
    CASES.append(Case(name, text, [], list(errors), list(runs), rtol))


def random(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def nan(*values):
    return np.array(values, np.float32)


# ---- Rewrites that go wrong --------------------------------------------------------------------------

a, b, c = random(4, 4), random(4, 4), random(4)
bug("onnxruntime#32228 Transpose that does nothing before MatMul and Add", """
  g (float[M, K] a, float[K, N] b, float[N] c) => (float[M, N] y) {
    t = Transpose <perm: ints = [0, 1]> (a)
    p = MatMul (t, b)
    y = Add (p, c)
  }""", (dict(a=a, b=b, c=c), dict(y=a @ b + c)))
c = random(4, 4)
bug("onnxruntime#12071 Gemm of a transposed third input", """
  g (float[M, K] a, float[K, N] b, float[N, M] c) => (float[M, N] y) {
    t = Transpose <perm: ints = [1, 0]> (c)
    y = Gemm (a, b, t)
  }""", (dict(a=a, b=b, c=c), dict(y=a @ b + c.T)))
bug("onnxruntime#25922 Transpose of an empty constant", """
  g (float[N] x) => (float[A, B] y, float[N] z) {
    e = Constant <value = float[0, 3] {}> ()
    y = Transpose (e)
    z = Identity (x)
  }""", (dict(x=f32(2)), dict(y=np.zeros((3, 0), np.float32), z=f32(2))))
s = np.float32(0.5)
bug("onnxruntime#10950 MatMul scaled by a scalar", """
  g (float[M, K] a, float[K, N] b, float s) => (float[M, N] y) {
    t = Mul (a, s)
    p = MatMul (t, b)
    y = Div (p, s)
  }""", (dict(a=a, b=b, s=s), dict(y=a @ b)))
bug("onnxruntime#13425 a constant that is an output, and one value as two outputs", """
  g (float[N] x) => (float[3] c, float[N] y, float[N] z, float[N] x_again) {
    c = Constant <value = float[3] {1.0, 2.0, 3.0}> ()
    y = Relu (x)
    z = Identity (y)
    x_again = Identity (x)
  }""", (dict(x=nan(-1, 2)), dict(c=f32(3, start=1), y=nan(0, 2), z=nan(0, 2), x_again=nan(-1, 2))))
bug("onnxruntime#11870 declared sizes that do not hold", """
  g (float[M, N] x) => (float[N, M] y) {
    y = Relu (x)
  }""", (dict(x=f32(2, 3)), dict(y=f32(2, 3))))
bug("tvm#13048 Cast of -1 to bool and on", """
  g (int64[N] x, float[M] f) => (int32[N] y, bool[M] z, int32[M] w) {
    t = Cast <to: int = 9> (x)
    y = Cast <to: int = 6> (t)
    i = Cast <to: int = 6> (f)
    z = Cast <to: int = 9> (i)
    d = Cast <to: int = 9> (f)
    w = Cast <to: int = 6> (d)
  }""", (dict(x=i64([-1, 0, 256]), f=nan(0.5, -0.5, 0, 2, NAN)),
         dict(y=np.array([1, 0, 1], np.int32), z=np.array([False, False, False, True, False]),
              w=np.array([1, 1, 0, 1, 1], np.int32))))


def attention(x, w, heads):
    """Self-attention with one weight for all three projections."""
    batch, length, width = x.shape
    p = (x @ w).reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3).astype(np.float64)
    e = p @ p.transpose(0, 1, 3, 2) / np.sqrt(width // heads)
    e = np.exp(e - e.max(-1, keepdims=True))
    return ((e / e.sum(-1, keepdims=True)) @ p).transpose(0, 2, 1, 3).reshape(x.shape).astype(np.float32)


w = random(8, 8)
bug("torch-mlir#4743 attention of symbolic batch and length", """
  g (float[B, S, 8] x, float[8, 8] w) => (float[B, S, 8] y) {
    p = MatMul (x, w)
    lead = Shape <start: int = 0, end: int = 2> (x)
    heads = Constant <value = int64[2] {2, 4}> ()
    split = Concat <axis: int = 0> (lead, heads)
    q = Reshape (p, split)
    qt = Transpose <perm: ints = [0, 2, 1, 3]> (q)
    kt = Transpose <perm: ints = [0, 2, 3, 1]> (q)
    e = MatMul (qt, kt)
    half = Constant <value = float {0.5}> ()
    scaled = Mul (e, half)
    s = Softmax <axis: int = -1> (scaled)
    o = MatMul (s, qt)
    ot = Transpose <perm: ints = [0, 2, 1, 3]> (o)
    rest = Constant <value = int64[1] {-1}> ()
    merged = Concat <axis: int = 0> (lead, rest)
    y = Reshape (ot, merged)
  }""", *[(dict(x=x, w=w), dict(y=attention(x, w, 2))) for x in (random(2, 5, 8), random(3, 1, 8), random(1, 7, 8))], rtol=1e-4)

# ---- Parts and pads ----------------------------------------------------------------------------------

slice_text = """
  g (float[M, N] x, int64[A] starts, int64[A] ends, int64[A] axes, int64[A] steps) => (float[P, Q] y, float[R, S] z) {
    y = Slice (x, starts, ends, axes, steps)
    s = Constant <value = int64[1] {-1}> ()
    e = Constant <value = int64[1] {0}> ()
    one = Constant <value = int64[1] {1}> ()
    z = Slice (x, s, e, one, s)
  }"""
bug("iree#24584 Slice backwards", slice_text, *[
    (dict(x=x, starts=i64([start]), ends=i64([end]), axes=i64([1]), steps=i64([step])),
     dict(y=x[:, start:end:step], z=x[:, -1:0:-1]))
    for x, start, end, step in ((f32(1, 10), 9, 0, -1), (f32(3, 10), 9, 0, -3), (f32(1, 20), 19, 0, -3), (f32(2, 10), -1, 2, -4))])
bug("onnx#7735 Slice backwards of nothing", slice_text,
    (dict(x=f32(0, 4), starts=i64([-1]), ends=i64([-9]), axes=i64([0]), steps=i64([-1])),
     dict(y=f32(0, 4), z=f32(0, 3))),
    (dict(x=f32(2, 0), starts=i64([9]), ends=i64([-9]), axes=i64([1]), steps=i64([-1])),
     dict(y=f32(2, 0), z=f32(2, 0))),
    (dict(x=f32(2, 4), starts=i64([2**63 - 1]), ends=i64([-2**63]), axes=i64([1]), steps=i64([-1])),
     dict(y=f32(2, 4)[:, ::-1], z=f32(2, 4)[:, :0:-1])),
    (dict(x=f32(2, 4), starts=i64([3]), ends=i64([1]), axes=i64([1]), steps=i64([2**63 - 1])),
     dict(y=f32(2, 0), z=f32(2, 4)[:, :0:-1])))


def pad(x, pads, mode):
    """Crops where a pad is negative, then pads."""
    n = x.ndim
    part = x[tuple(slice(max(0, -pads[i]), x.shape[i] - max(0, -pads[n + i])) for i in range(n))]
    widths = [(max(0, pads[i]), max(0, pads[n + i])) for i in range(n)]
    return np.pad(part, widths, mode=mode, **({"constant_values": 7} if mode == "constant" else {}))


for mode in ("constant", "reflect", "edge", "wrap"):
    bug(f"onnxruntime#11828, #2433 Pad by negative and positive numbers, {mode}", f"""
      g (float[M, N] x, int64[4] pads, float v) => (float[P, Q] y, float[R, S] z) {{
        y = Pad <mode: string = "{mode}"> (x, pads, v)
        fixed = Constant <value = int64[4] {{-1, 2, 1, -1}}> ()
        z = Pad <mode: string = "{mode}"> (x, fixed, v)
      }}""", *[(dict(x=x, pads=i64(pads), v=np.float32(7)), dict(y=pad(x, pads, mode), z=pad(x, [-1, 2, 1, -1], mode)))
               for x, pads in ((f32(4, 5), [-1, 2, 1, -1]), (f32(4, 5), [1, -2, -1, 2]), (f32(4, 6), [-1, -1, -1, -1]),
                               (f32(5, 5), [2, 0, -2, 1]))])
bug("onnxruntime#11828 Pad reflect by more than there is", """
  g (float[M] x, int64[2] pads) => (float[P] y) { y = Pad <mode: string = "reflect"> (x, pads) }""",
    (dict(x=f32(2), pads=i64([-1, 2])), dict(y=nan(1, 1, 1))), (dict(x=f32(3), pads=i64([5, 0])), dict(y=np.pad(f32(3), (5, 0), "reflect"))),
    errors=[(dict(x=f32(2), pads=i64([-2, 1])), "Pad"), (dict(x=f32(0), pads=i64([1, 0])), "Pad")])

# ---- Indices -----------------------------------------------------------------------------------------

x = f32(3, 4)
bug("tvm#20297 indices far out of range", """
  g (float[M, N] x, int64[A, B] at, float[A, B] u, int64[C, 2] place, float[C] v, int64[D] rows)
      => (float[M, N] e, float[M, N] n, float[A, B] g, float[C] h, float[D, N] r) {
    e = ScatterElements <axis: int = 0> (x, at, u)
    n = ScatterND (x, place, v)
    g = GatherElements <axis: int = 0> (x, at)
    h = GatherND (x, place)
    r = Gather (x, rows)
  }""", (dict(x=x, at=i64([[-1, 0]]), u=nan(70, 80).reshape(1, 2), place=i64([[-3, -1], [2, 0]]), v=nan(50, 60), rows=i64([-3, 2])),
         dict(e=nan(0, 80, 2, 3, 4, 5, 6, 7, 70, 9, 10, 11).reshape(3, 4),
              n=nan(0, 1, 2, 50, 4, 5, 6, 7, 60, 9, 10, 11).reshape(3, 4), g=nan(8, 1).reshape(1, 2), h=nan(3, 8),
              r=x[[0, 2]])),
    errors=[(dict(x=x, at=i64([[at, 0]]), u=f32(1, 2), place=i64([[0, 0]]), v=f32(1), rows=i64([0])), "out of range")
            for at in (3, -4, 2**40, -2**63)] +
           [(dict(x=x, at=i64([[0, 0]]), u=f32(1, 2), place=i64([place]), v=f32(1), rows=i64([0])), "out of range")
            for place in ([3, 0], [0, -5], [2**62, 2**62])] +
           [(dict(x=x, at=i64([[0, 0]]), u=f32(1, 2), place=i64([[0, 0]]), v=f32(1), rows=i64([row])), "out of range")
            for row in (3, -4, 2**63 - 1)])
bug("openvino#35898, onnx#4716 TopK with a NaN", """
  g (float[N] x, int64[1] k) => (float[K] v, int64[K] i, float[K] w, int64[K] j) {
    v, i = TopK (x, k)
    w, j = TopK <largest: int = 0> (x, k)
  }""", (dict(x=nan(1, NAN, 3, -1, 7, 2), k=i64([3])),
         dict(v=nan(NAN, 7, 3), i=i64([1, 4, 2]), w=nan(-1, 1, 2), j=i64([3, 0, 5]))),
    (dict(x=nan(2, 2, 1, 2), k=i64([4])), dict(v=nan(2, 2, 2, 1), i=i64([0, 1, 3, 2]), w=nan(1, 2, 2, 2), j=i64([2, 0, 1, 3]))),
    (dict(x=nan(2, 1), k=i64([0])), dict(v=f32(0), i=i64([]), w=f32(0), j=i64([]))),
    errors=[(dict(x=nan(1, 2), k=i64([k])), "k is negative or larger") for k in (3, -1, 2**62, -2**63)])

# ---- Windows -----------------------------------------------------------------------------------------

bug("onnxruntime#28291 Resize nearest from 20 to 6", """
  g (float[1, 1, N] x) => (float[1, 1, 6] y) {
    sizes = Constant <value = int64[3] {1, 1, 6}> ()
    y = Resize <mode: string = "nearest", coordinate_transformation_mode: string = "half_pixel",
                nearest_mode: string = "round_prefer_ceil"> (x, , , sizes)
  }""", (dict(x=f32(1, 1, 20)), dict(y=nan(1, 5, 8, 11, 15, 18).reshape(1, 1, 6))))
bug("onnxruntime#12019 Resize linear of one element", """
  g (float[A, B, C, D] x, float[E, F, G, H, I] v) => (float[1, 2, 2, 1] y, float[1, 1, 2, 3, 2] z) {
    sizes = Constant <value = int64[4] {1, 2, 2, 1}> ()
    y = Resize <mode: string = "linear"> (x, , , sizes)
    more = Constant <value = int64[5] {1, 1, 2, 3, 2}> ()
    z = Resize <mode: string = "linear"> (v, , , more)
  }""", (dict(x=np.full((1, 1, 1, 1), 5, np.float32), v=np.full((1, 1, 1, 1, 1), 3, np.float32)),
         dict(y=np.full((1, 2, 2, 1), 5, np.float32), z=np.full((1, 1, 2, 3, 2), 3, np.float32))))
bug("onnx#4958 a window that lies in the padding only", """
  g (float[1, 1, A, B] x) => (float[1, 1, C, D] m, float[1, 1, C, D] a, float[1, 1, C, D] p) {
    m = MaxPool <kernel_shape: ints = [1, 1], strides: ints = [2, 2], pads: ints = [0, 0, 0, 1], ceil_mode: int = 1> (x)
    a = AveragePool <kernel_shape: ints = [1, 1], strides: ints = [2, 2], pads: ints = [0, 0, 0, 1], ceil_mode: int = 1> (x)
    p = AveragePool <kernel_shape: ints = [1, 1], strides: ints = [2, 2], pads: ints = [0, 0, 0, 1], ceil_mode: int = 1,
                     count_include_pad: int = 1> (x)
  }""", (dict(x=f32(1, 1, 4, 4, start=1)), dict.fromkeys("map", nan(1, 3, 9, 11).reshape(1, 1, 2, 2))))

# ---- Nothing at all ----------------------------------------------------------------------------------

bug("onnxruntime#7563 reductions of nothing", """
  g (float[M, N] x) => (float[N] top, float[N] low, float[N] sum, float[M] rows) {
    zero = Constant <value = int64[1] {0}> ()
    one = Constant <value = int64[1] {1}> ()
    top = ReduceMax <keepdims: int = 0> (x, zero)
    low = ReduceMin <keepdims: int = 0> (x, zero)
    sum = ReduceSum <keepdims: int = 0> (x, zero)
    rows = ReduceSum <keepdims: int = 0> (x, one)
  }""", (dict(x=f32(0, 4)), dict(top=np.full(4, -INF, np.float32), low=np.full(4, INF, np.float32), sum=np.zeros(4, np.float32),
                                 rows=f32(0))),
    (dict(x=f32(1, 0)), dict(top=f32(0), low=f32(0), sum=f32(0), rows=np.zeros(1, np.float32))))
bug("onnxruntime#21483, #22111 products of nothing", """
  g (float[M, K] a, float[K, N] b, float[N] c) => (float[M, N] p, float[M, N] q) {
    p = MatMul (a, b)
    q = Gemm <beta: float = 2.0> (a, b, c)
  }""", (dict(a=f32(2, 0), b=f32(0, 3), c=f32(3)), dict(p=np.zeros((2, 3), np.float32), q=np.float32([[0, 2, 4]] * 2))),
    (dict(a=f32(0, 2), b=f32(2, 3), c=f32(3)), dict(p=f32(0, 3), q=f32(0, 3))))
bug("onnxruntime#11895, #25663 broadcasting of nothing", """
  g (float[M, N] a, float[K] b) => (float[M, N] y, float[P, Q] z, float[R, N] t) {
    y = Add (a, b)
    shape = Constant <value = int64[2] {2, 0}> ()
    e = Constant <value = float[1, 1] {3.0}> ()
    z = Expand (e, shape)
    t = Concat <axis: int = 0> (a, a)
  }""", (dict(a=f32(3, 0), b=f32(1)), dict(y=f32(3, 0), z=f32(2, 0), t=f32(6, 0))),
    (dict(a=f32(0, 2), b=f32(2)), dict(y=f32(0, 2), z=f32(2, 0), t=f32(0, 2))),
    errors=[(dict(a=f32(3, 0), b=f32(2)), "broadcast|differ|size")])
bug("onnxruntime#4559 a convolution of no images, a loop that does not run", """
  g (float[N, 1, H, W] x, int64 trips) => (float[N, 2, P, Q] y, float[T, H] all) {
    w = Constant <value = float[2, 1, 1, 1] {1.0, 2.0}> ()
    y = Conv (x, w)
    yes = Constant <value = bool {1}> ()
    shape = Shape <start: int = 2, end: int = 3> (x)
    first = ConstantOfShape (shape)
    last, all = Loop (trips, yes, first) <body = body (int64 i, bool c, float[H] before)
        => (bool going, float[H] after, float[H] seen) {
      going = Identity (c)
      after = Relu (before)
      seen = Identity (after)
    }>
  }""", (dict(x=f32(0, 1, 4, 4), trips=i64(0)), dict(y=f32(0, 2, 4, 4), all=f32(0, 4))),
    (dict(x=f32(1, 1, 1, 2), trips=i64(2)), dict(y=nan(0, 1, 0, 2).reshape(1, 2, 1, 2), all=np.zeros((2, 1), np.float32))))

# ---- Memory that nobody has written ------------------------------------------------------------------

x = random(2, 3, 4)
bug("onnxruntime#23133, #23142, #23143 outputs that are parts of others", """
  g (float[A, B, C] x) => (float[D, E, F] y, float[A, B, C] z) {
    t = Transpose <perm: ints = [2, 0, 1]> (x)
    u, v = Split <axis: int = 0, num_outputs: int = 2> (t)
    y = Concat <axis: int = 0> (v, u, v)
    s = Sigmoid (t)
    z = Transpose <perm: ints = [1, 2, 0]> (s)
  }""", (dict(x=x), dict(y=np.concatenate([x.transpose(2, 0, 1)[2:], x.transpose(2, 0, 1)[:2], x.transpose(2, 0, 1)[2:]]),
                         z=(1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32))))


def with_sizes(case):
    """The same graph with the sizes of its first inputs in the place of symbols; none where they are of several sizes."""
    given = (case.wanted or case.errors)[0][0]
    head, body = case.text.split("=>", 1)
    text = re.sub(r"(\w+)\[[^\]]*\] (\w+)",
                  lambda m: f"{m[1]}[{', '.join(map(str, given[m[2]].shape))}] {m[2]}", head) + "=>" + body
    same = [run for run in case.wanted if all(np.shape(run[0][n]) == np.shape(given[n]) for n in given)]
    wrong = [run for run in case.errors if all(np.shape(run[0][n]) == np.shape(given[n]) for n in given)]
    return Case(case.name + ", fixed sizes", text, [], wrong, same, case.rtol)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only bugs whose name matches")
    options = harness.parse_arguments(parser)
    os.environ["MALLOC_PERTURB_"] = "1"
    tally = harness.Tally()
    for case in CASES:
        if re.search(options.filter, case.name):
            check(case, options, tally)
            check(with_sizes(case), options, tally)
    tally.finish()


if __name__ == "__main__":
    main()
