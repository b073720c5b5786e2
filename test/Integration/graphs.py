#!/usr/bin/env python3
"""Run small graphs, most of them with shapes, lengths or branches that only the run knows, against onnx's reference evaluator.

usage: graphs.py [--build DIR] [--filter RE] [-- FLAG...]

Each graph is compiled once and run with several inputs. An entry of a sequence is an array of a list. Where a run has to
end with an error, the case says what the error tells.
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "utils"))
import harness  # noqa: E402


@dataclasses.dataclass
class Case:
    """A graph in onnx's text form, inputs to run it with, and inputs with the error that they must end in."""
    name: str
    text: str
    inputs: list
    errors: list = dataclasses.field(default_factory=list)
    wanted: list = dataclasses.field(default_factory=list)  # inputs with outputs, where the evaluator is wrong
    rtol: float = 1e-6


def f32(*shape, start=0):
    return np.arange(start, start + int(np.prod(shape)), dtype=np.float32).reshape(shape)


def i64(value):
    return np.array(value, np.int64)


def u8(*shape, start=0):
    return f32(*shape, start=start).astype(np.uint8)


def quantized_product(rows, by_row, results):
    """Inputs of a QLinearMatMul with so many scales by row for a and for y."""
    return dict(a=u8(rows, 4, start=3), sa=f32(by_row, start=1) / 8, za=u8(by_row, start=2),
                b=(f32(4, 3) - 5).astype(np.int8), sb=f32(3, start=1) / 16, zb=np.array([1, 0, 2], np.int8),
                sy=f32(results, start=1) / 4, zy=u8(results, start=100))


def numpy_product(given):
    """What QLinearMatMul makes of that: all numbers are exact in float32."""
    a, b, y = ((given[n].astype(np.float64) for n in names) for names in (("a", "sa", "za"), ("b", "sb", "zb"), ("sy", "zy")))
    (a, sa, za), (b, sb, zb), (sy, zy) = a, b, y
    real = ((a - za[:, None]) * sa[:, None]) @ ((b - zb) * sb)
    return np.clip(np.round(real / sy[:, None]) + zy[:, None], 0, 255).astype(np.uint8)


CASES = [
    # An output that is overwritten for another one, whole, in part, and within a long concatenation.
    Case("kept-output", """
        g (float[3] x, int64[3] i, float[3] u) => (float[3] b, float[3] a) {
            a = Relu(x)
            b = ScatterElements(a, i, u)
        }""", [dict(x=f32(3), i=i64([0, 2, 1]), u=f32(3, start=5))]),
    Case("kept-part", """
        g (float[N] x, int64[3] i, float[3] u) => (float[N] b, float[M] c, float[N] d) {
            a = Relu(x)
            b = ScatterElements<reduction = "mul">(a, i, u)
            start = Constant<value_ints: ints = [2]>()
            end = Constant<value_ints: ints = [9]>()
            c = Slice(a, start, end)
            d = ScatterElements<reduction = "add">(a, i, u)
        }""", [dict(x=f32(n), i=i64([0, 2, 1]), u=f32(3, start=5)) for n in (3, 7)]),
    Case("kept-slices", f"""
        g (float[3] x, int64[3] i, float[3] u) => (float[60] y, float[3] b, float t) {{
            {" ".join(f"k{n} = Constant<value_float: float = {n}.0>() p{n} = Mul(x, k{n})" for n in range(20))}
            y = Concat<axis = 0>({", ".join(f"p{n}" for n in range(20))})
            b = ScatterElements(p1, i, u)
            t = ReduceSum<keepdims = 0>(b)
        }}""", [dict(x=f32(3), i=i64([0, 2, 1]), u=f32(3, start=5))]),
    Case("sequence positions", """
      g (float[N, M] a, float[K, M] b, int64 at, int64 put, int64 gone) => (float[P, Q] y, int64 n) {
        s = SequenceConstruct (a, b, a)
        t = SequenceInsert (s, b, put)
        u = SequenceErase (t, gone)
        y = SequenceAt (u, at)
        n = SequenceLength (u)
      }""",
         [dict(a=f32(2, 3), b=f32(1, 3, start=50), at=i64(at), put=i64(put), gone=i64(gone))
          for at, put, gone in ((0, 0, 1), (2, 2, 0), (-1, -3, -4), (1, 1, 3))],
         [(dict(a=f32(2, 3), b=f32(1, 3), at=i64(3), put=i64(0), gone=i64(0)), "out of range"),
          (dict(a=f32(2, 3), b=f32(1, 3), at=i64(0), put=i64(4), gone=i64(0)), "out of range"),
          (dict(a=f32(2, 3), b=f32(1, 3), at=i64(0), put=i64(-4), gone=i64(0)), "out of range"),
          (dict(a=f32(2, 3), b=f32(1, 3), at=i64(0), put=i64(0), gone=i64(-5)), "out of range")],
         # The evaluator takes the end of a sequence for its beginning.
         [(dict(a=f32(2, 3), b=f32(1, 3, start=50), at=i64(2), put=i64(3), gone=i64(0)),
           dict(y=f32(1, 3, start=50), n=i64(3)))]),
    *[Case(f"split along {axis}", f"""
      g (float[A, B, C] x, int64[S] split) => (seq(float[D, E, F]) s, float[D, E, F] y) {{
        s = SplitToSequence <axis: int = {axis}> (x, split)
        y = ConcatFromSequence <axis: int = {axis}> (s)
      }}""",
           [dict(x=f32(4, 4, 4), split=i64(split)) for split in ([1, 3], [2, 2], [4, 0], [0, 3, 1], [4])],
           [(dict(x=f32(4, 4, 4), split=i64([1, 2])), "out of range"),
            (dict(x=f32(4, 4, 4), split=i64([5, -1])), "out of range")]) for axis in (0, 1, -1)],
    *[Case(f"split into equal parts along {axis}", f"""
      g (float[A, B] x, int64 size) => (seq(float[D, E]) s, int64 n) {{
        s = SplitToSequence <axis: int = {axis}> (x, size)
        n = SequenceLength (s)
      }}""", [dict(x=f32(4, 6), size=i64(size)) for size in (1, 2, 3, 4, 7)],
           [(dict(x=f32(4, 6), size=i64(0)), "out of range")]) for axis in (0, 1)],
    *[Case(f"stack along {axis}", f"""
      g (float[A, B] x) => (float[D, E, F] y) {{
        s = SplitToSequence <axis: int = 1, keepdims: int = {keep}> (x)
        y = ConcatFromSequence <axis: int = {axis}, new_axis: int = {keep ^ 1 if axis < 2 else 1}> (s)
      }}""".replace("float[D, E, F]", "float[D, E]" if not keep or axis < 2 and keep else "float[D, E, F]"),
           [dict(x=f32(3, 4)), dict(x=f32(1, 5))]) for axis, keep in ((0, 0), (1, 0), (1, 1), (2, 1))],
    Case("sequence through a loop", """
      g (seq(float[N]) s, float[M] x, int64 trips) => (seq(float[P]) t, int64 n) {
        yes = Constant <value = bool {1}> ()
        t = Loop (trips, yes, s) <body = body (int64 i, bool c, seq(float[Q]) before)
            => (bool going, seq(float[R]) after) {
          going = Identity (c)
          one = Constant <value = int64[1] {1}> ()
          end = Add (i, one)
          zero = Constant <value = int64[1] {0}> ()
          part = Slice (x, zero, end)
          after = SequenceInsert (before, part)
        }>
        n = SequenceLength (t)
      }""", [dict(s=[f32(3), f32(2)], x=f32(5), trips=i64(3)), dict(s=[], x=f32(5), trips=i64(2)),
             dict(s=[f32(0), f32(7)], x=f32(1), trips=i64(0))]),
    Case("sequence of a branch", """
      g (bool which, float[N] x, float[M, N] y) => (seq(float[P]) t, int64 n) {
        t = If (which) <then_branch = a () => (seq(float[Q]) u) { u = SequenceConstruct (x, x) },
                        else_branch = b () => (seq(float[Q]) u) { u = SplitToSequence <axis: int = 0, keepdims: int = 0> (y) }>
        n = SequenceLength (t)
      }""", [dict(which=np.array(which), x=f32(3), y=f32(4, 3)) for which in (True, False)]),
    Case("loop that changes its tensor's size", """
      g (float[N] x, int64 trips) => (float[M] y) {
        yes = Constant <value = bool {1}> ()
        y = Loop (trips, yes, x) <body = body (int64 i, bool c, float[P] before) => (bool going, float[Q] after) {
          going = Identity (c)
          double = Concat <axis: int = 0> (before, before)
          after = Sqrt (double)
        }>
      }""", [dict(x=f32(3), trips=i64(trips)) for trips in (0, 1, 4)]),
    Case("loop of unknown length that collects", """
      g (float[N] x, float limit) => (float[M] y, float[K, N] all) {
        yes = Constant <value = bool {1}> ()
        most = Constant <value = int64 {1000}> ()
        y, all = Loop (most, yes, x) <body = body (int64 i, bool c, float[P] before)
            => (bool going, float[P] after, float[P] seen) {
          one = Constant <value = float {1.0}> ()
          after = Add (before, one)
          seen = Identity (before)
          top = ReduceMax <keepdims: int = 0> (after)
          going = Less (top, limit)
        }>
      }""", [dict(x=f32(3), limit=np.float32(limit)) for limit in (0, 7.5, 40)]),
    Case("branches of different rank", """
      g (float[A, B, C] x, float[D, C] w) => (float[E, F] y) {
        axis = Constant <value = int64[1] {1}> ()
        shape = Shape <start: int = 1, end: int = 2> (x)
        one = Constant <value = int64[1] {1}> ()
        isOne = Equal (shape, one)
        z = If (isOne) <then_branch = a () => (float[G, H] t) { t = Squeeze (x, axis) },
                        else_branch = b () => (float[G, H, I] u) { u = Identity (x) }>
        y = Gemm <transB: int = 1> (z, w)
      }""", [dict(x=f32(2, 1, 3), w=f32(4, 3))], [(dict(x=f32(2, 2, 3), w=f32(4, 3)), "not 1")]),
    Case("image that a region names", """
      g (float[N, C, H, W] x, float[R, 4] rois, int64[R] at, float[S, 5] pooled) => (float[A, B, D, E] y, float[F, G, I, J] z) {
        y = RoiAlign <output_height: int = 2, output_width: int = 2> (x, rois, at)
        z = MaxRoiPool <pooled_shape: ints = [1, 1]> (x, pooled)
      }""", [],
         [(dict(x=f32(2, 1, 3, 3), rois=f32(2, 4), at=i64([0, at]), pooled=f32(1, 5)), "RoiAlign.*out of range")
          for at in (-1, 2, 2**40)] +
         [(dict(x=f32(2, 1, 3, 3), rois=f32(2, 4), at=i64([0, 1]), pooled=np.array([[at, 0, 0, 2, 2]], np.float32)),
           "MaxRoiPool.*out of range") for at in (-1, 2, np.nan, np.inf)],
         [(dict(x=np.repeat(f32(2, start=3), 9).reshape(2, 1, 3, 3), rois=np.array([[1, 1, 2, 2]] * 2, np.float32),
                at=i64([0, 1]), pooled=np.array([[1, 0, 0, 2, 2]], np.float32)),
           dict(y=np.repeat(f32(2, start=3), 4).reshape(2, 1, 2, 2), z=f32(1, 1, 1, 1, start=4)))]),
    Case("places of an unpooling", """
      g (float[N, C, H] x, int64[N, C, H] at) => (float[A, B, D] y) {
        y = MaxUnpool <kernel_shape: ints = [2], strides: ints = [2]> (x, at)
      }""", [], [(dict(x=f32(1, 1, 2), at=i64([[[0, at]]])), "out of range") for at in (-1, 4, 2**62)],
         [(dict(x=f32(1, 1, 2, start=5), at=i64([[[3, 0]]])), dict(y=np.array([[[6, 0, 0, 5]]], np.float32)))]),
    Case("lengths of sequences to reverse", """
      g (float[T, N] x, int64[M] lengths) => (float[A, B] y) {
        y = ReverseSequence <time_axis: int = 0, batch_axis: int = 1> (x, lengths)
      }""", [dict(x=f32(3, 2), lengths=i64([n, 3])) for n in (1, 2, 3)],
         [(dict(x=f32(3, 2), lengths=i64([1, n])), "sequence_lens is out of range") for n in (-1, 4, -2**63)] +
         [(dict(x=f32(3, 2), lengths=i64([1])), "do not fit")],
         [(dict(x=f32(3, 2), lengths=i64([0, 1])), dict(y=f32(3, 2))), (dict(x=f32(0, 1), lengths=i64([0])), dict(y=f32(0, 1)))]),
    *[Case(f"lengths of the sequences of {op}", f"""
      g (float[T, N, I] x, float[1, G, I] w, float[1, G, H] r, int32[M] lengths) => (float[A, B, D, E] y) {{
        y = {op} <hidden_size: int = 2> (x, w, r, , lengths)
      }}""", [], [(dict(x=f32(3, 2, 1), w=f32(1, 2 * gates, 1), r=f32(1, 2 * gates, 2), lengths=np.array(n, np.int32)), why)
                  for n, why in (([3, -1], "out of range"), ([4, 0], "out of range"), ([1], "do not fit"))],
           [(dict(x=f32(3, 2, 1), w=f32(1, 2 * gates, 1), r=f32(1, 2 * gates, 2), lengths=np.zeros(2, np.int32)),
             dict(y=np.zeros((3, 1, 2, 2), np.float32)))]) for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))],
    Case("lengths of keys", """
      g (float[B, H, Q, D] q, float[B, H, K, D] k, float[B, H, K, D] v, int64[B] lengths) => (float[E, F, G, I] y) {
        y = Attention (q, k, v, , , , lengths)
      }""", [],
         [(dict(q=f32(2, 1, 1, 2), k=f32(2, 1, 3, 2), v=f32(2, 1, 3, 2), lengths=i64([1, n])),
           "nonpad_kv_seqlen is out of range") for n in (-1, 4, 2**62)],
         [(dict(q=f32(2, 1, 1, 2), k=f32(2, 1, 3, 2), v=f32(2, 1, 3, 2), lengths=i64([1, 0])),
           dict(y=np.array([0, 1, 0, 0], np.float32).reshape(2, 1, 1, 2)))]),
    Case("lengths of transforms", """
      g (float[N, T, P] x, int64 n, float[N, T, P] signal, int64 frame) => (float[A, B, D] y, float[E, F, G, H] z) {
        y = DFT (x, n)
        one = Constant <value = int64 {1}> ()
        z = STFT (signal, one, , frame)
      }""", [],
         [(dict(x=f32(1, 4, 1), n=i64(n), signal=f32(1, 4, 1), frame=i64(frame)), why)
          for n, frame, why in ((0, 2, "dft_length"), (-3, 2, "dft_length"), (4, 0, "frame's length"),
                                (4, -1, "frame's length"), (4, 5, "longer than the signal"))],
         [(dict(x=f32(1, 2, 1), n=i64(3), signal=f32(1, 2, 1), frame=i64(1)),
           dict(y=np.array([[[1, 0], [-0.5, -3**0.5 / 2], [-0.5, 3**0.5 / 2]]], np.float32),
                z=np.array([[[[0, 0]], [[1, 0]]]], np.float32)))]),
    Case("no elements beside sizes that only the run knows", """
      g (float[A, 5, 0, B] x, float[1, 7] c) => (float[D, E, F, G] y) {
        first = Constant <value = int64[1] {9}> ()
        last = Constant <value = int64[1] {-1}> ()
        axis = Constant <value = int64[1] {0}> ()
        s = Slice (x, first, last, axis, last)
        m = Max (c, s)
        y = Softsign (m)
      }""", [dict(x=f32(2, 5, 0, 7), c=f32(1, 7)), dict(x=f32(12, 5, 0, 1), c=f32(1, 7))]),
    Case("pads of any number of axes", """
      g (float[A, B, C] x, int64[P] pads, int64[N] axes) => (float[D, E, F] y, float[G, H, I] z) {
        y = Pad (x, pads, , axes)
        z = Pad <mode = "reflect"> (x, pads, , axes)
      }""", [dict(x=f32(3, 3, 3), pads=i64(pads), axes=i64(axes)) for pads, axes in (
          ([1, 2], [1]), ([1, 0, 2, 1], [0, -1]), ([2, 1, 0, 1, 1, 0], [2, 1, 0]), ([], []))],
         [(dict(x=f32(3, 3, 3), pads=i64(pads), axes=i64(axes)), why) for pads, axes, why in (
             ([1, 2, 3], [1], "two numbers for each axis"), ([1, 2], [3], "axis is out of range"),
             ([1, 2], [-4], "axis is out of range"))]),
    Case("addresses of any length", """
      g (float[A, B] x, int64[N, D] at, float[N, B] u) => (float[A, B] y) { y = ScatterND (x, at, u) }""",
         [dict(x=f32(3, 2), at=i64([[2], [0]]), u=f32(2, 2, start=9))],
         [(dict(x=f32(3, 2), at=i64([[3], [0]]), u=f32(2, 2)), "out of range")]),
    Case("zero points of any length", """
      g (uint8[M, K] a, uint8[K, N] b, uint8[Z] za, uint8[U] zb) => (int32[P, Q] y) {
        y = MatMulInteger (a, b, za, zb)
      }""", [], [(dict(a=u8(2, 3), b=u8(3, 2), za=za, zb=zb), "zero point does not fit")
                 for za, zb in ((u8(3), u8(1)), (u8(1), u8(3)))],
         [(dict(a=u8(m, 3), b=u8(3, 2, start=5), za=za, zb=zb),
           dict(y=(u8(m, 3).astype(np.int32) - za.reshape(-1, 1)) @ (u8(3, 2, start=5).astype(np.int32) - zb)))
          for m, za, zb in ((2, u8(1, start=3), u8(1, start=4)), (2, u8(2, start=3), u8(2, start=4)), (1, u8(1, start=9), u8(2)))]),
    Case("scales of any length", """
      g (uint8[M, K] a, float[S] sa, uint8[Z] za, int8[K, N] b, float[T] sb, int8[U] zb, float[V] sy, uint8[W] zy)
          => (uint8[P, Q] y) { y = QLinearMatMul (a, sa, za, b, sb, zb, sy, zy) }""", [],
         [(quantized_product(1, 2, 1), "not fit|as many elements"), (quantized_product(1, 1, 3), "not fit|as many elements"),
          (quantized_product(2, 3, 2), "not fit|as many elements")],
         [(given, dict(y=numpy_product(given)))
          for given in (quantized_product(2, 1, 1), quantized_product(2, 2, 2), quantized_product(2, 1, 2),
                        quantized_product(1, 1, 1))]),
    Case("slice of any number of axes", """
      g (float[A, B, C] x, int64[N] starts, int64[N] ends, int64[N] axes, int64[N] steps) => (float[D, E, F] y) {
        y = Slice (x, starts, ends, axes, steps)
      }""",
         [dict(x=f32(4, 5, 6), starts=i64(s), ends=i64(e), axes=i64(a), steps=i64(t))
          for s, e, a, t in (([], [], [], []), ([1], [3], [1], [1]), ([-1, 0], [-9, 9], [2, -3], [-2, 3]),
                             ([4, 5, 1], [9, 0, 6], [0, 1, 2], [1, -1, 2]))],
         [(dict(x=f32(4, 5, 6), starts=i64([0]), ends=i64([1]), axes=i64([3]), steps=i64([1])), "out of range"),
          (dict(x=f32(4, 5, 6), starts=i64([0]), ends=i64([1]), axes=i64([0]), steps=i64([0])), "step is 0")]),
    Case("convolution whose channels are a symbol", """
      g (float[N, C, H, W] x) => (float[N, D, H, W] y) {
        w = Constant <value = float[2, 3, 1, 1] {1, 2, 3, 4, 5, 6}> ()
        y = Conv (x, w)
      }""", [dict(x=f32(2, 3, 4, 5))]),
    Case("axes of a declared rank", """
      g (float[A, B, C] x, int64[N] axes, int64[M] shape) => (float[D, E] sum, float[F, G] view) {
        sum = ReduceSum <keepdims: int = 0> (x, axes)
        view = Reshape (x, shape)
      }""", [dict(x=f32(2, 3, 4), axes=i64([axis]), shape=i64([-1, 4])) for axis in (0, 1, -1)]),
]


def values_of(given):
    """Spells lists as the arrays NAME[0], NAME[1], ..."""
    return {key: value for name, item in given.items()
            for key, value in ([(f"{name}[{i}]", v) for i, v in enumerate(item)] if isinstance(item, list)
                               else [(name, np.asarray(item))])}


def for_reference(given):
    """The evaluator has strings as objects."""
    return {name: item.astype(object) if isinstance(item, np.ndarray) and item.dtype.kind == "U" else item
            for name, item in given.items()}


def check(case, options, tally):
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        model = parser.parse_model('<ir_version: 10, opset_import: ["" : 20]>' + case.text)
        onnx.save(model, work / "model.onnx")
        done = harness.run_limited([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o",
                                    work / "model.so", *options.flags], 120)
        if not tally.check(f"{case.name}: compile", "" if done.status == 0 else f"{done.ending()}: {done.message()}"):
            return
        names = [o.name for o in model.graph.output]
        runs = [(i, None, None) for i in case.inputs] + [(i, e, None) for i, e in case.errors] + \
            [(i, None, w) for i, w in case.wanted]
        for number, (given, error, wanted) in enumerate(runs):
            np.savez(work / "in.npz", **values_of(given))
            (work / "out.npz").unlink(missing_ok=True)
            done = harness.run_limited([harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs",
                                        work / "in.npz", "--outputs", work / "out.npz"], 60)
            if error:
                told = done.status == 1 and re.search(error, done.err)
                tally.check(f"{case.name}: error {number}", "" if told else f"{done.ending()}: {done.message()}")
                continue
            if not tally.check(f"{case.name}: run {number}",
                               "" if done.status == 0 else f"{done.ending()}: {done.message()}"):
                continue
            expected = values_of(wanted or dict(zip(names, ReferenceEvaluator(model).run(None, for_reference(given)))))
            with np.load(work / "out.npz") as file:
                got = {name: file[name] for name in file.files}
            tally.check(f"{case.name}: values {number}", harness.compare_outputs(got, expected, rtol=case.rtol).problem)


def main():
    parser_ = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser_)
    parser_.add_argument("--filter", metavar="RE", help="only cases whose name matches")
    options = harness.parse_arguments(parser_)
    tally = harness.Tally()
    for case in CASES:
        if not options.filter or re.search(options.filter, case.name):
            check(case, options, tally)
    tally.finish()


if __name__ == "__main__":
    main()
