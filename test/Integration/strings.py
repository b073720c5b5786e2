#!/usr/bin/env python3
"""Run operators on strings against onnx's reference evaluator and onnxruntime: moves, comparisons, encoders, texts.

usage: strings.py [--build DIR] [--filter RE] [-- FLAG...]
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from graphs import Case, check, f32, harness, i64  # noqa: E402

WORDS = np.array([["ape", "", "größe"], ["été", "ape", "a b"]])
LIST = np.array(["b", "", "ape", "\u65e5\u672c", "b"])
CASES, MODELS = [], {}


def words(*values):
    return np.array(values, dtype=np.str_)


def case(name, text, *inputs, errors=(), wanted=()):
    CASES.append(Case(name, text, list(inputs), list(errors), list(wanted)))


case("moves of strings", """
  g (string[A, B] x, int64[C] rows, string[D] v) => (string[E, F] t, string[G, B] r, string[H] flat, string[I, B] c,
      string[A, J] part, string[A, B, K] u, int64[L] shape, string[A, B] same) {
    t = Transpose (x)
    r = Gather (x, rows)
    minus = Constant <value = int64[1] {-1}> ()
    f = Reshape (x, minus)
    flat = Concat <axis: int = 0> (f, v)
    c = Concat <axis: int = 0> (x, x)
    one = Constant <value = int64[1] {1}> ()
    two = Constant <value = int64[1] {2}> ()
    part = Slice (x, one, two, one)
    u = Unsqueeze (x, two)
    shape = Shape (x)
    same = Identity (x)
  }""", dict(x=WORDS, rows=i64([1, 0, -1]), v=LIST), dict(x=WORDS[:, :1], rows=i64([0]), v=words()), errors=[(dict(x=WORDS, rows=i64([2]), v=LIST), "out of range")])
case("chosen strings", """
  g (bool[A, B] c, string[A, B] x, string[B] y, string[N] data, int64[M] at, string[M] v, bool[N] keep)
      => (string[A, B] w, string[N] s, string[K] k, string[A, B, Q] e) {
    w = Where (c, x, y)
    s = ScatterElements (data, at, v)
    k = Compress <axis: int = 0> (data, keep)
    u = Constant <value = int64[1] {2}> ()
    ux = Unsqueeze (x, u)
    n = Constant <value = int64[3] {1, 1, 2}> ()
    e = Expand (ux, n)
  }""", wanted=[(
         dict(c=np.array([[True, False, True], [False, True, False]]), x=WORDS, y=words("p", "q", "r"), data=LIST,
              at=i64([1, 4]), v=words("x", "yy"), keep=np.array([True, False, True, True, False])),
         dict(w=words(["ape", "q", "größe"], ["p", "ape", "r"]), s=words("b", "x", "ape", "\u65e5\u672c", "yy"),
              k=words("b", "ape", "\u65e5\u672c"), e=np.stack([WORDS, WORDS], 2)))])
case("equal strings", """
  g (string[A, B] x, string[B] y, string z) => (bool[A, B] e, bool[A, B] f, bool[A, B] g, bool[A, B] n) {
    e = Equal (x, y)
    f = Equal (x, z)
    k = Constant <value_strings = ["ape"]> ()
    g = Equal (k, x)
    n = Not (e)
  }""", wanted=[(dict(x=x, y=y, z=np.array(z)), dict(e=x == y, f=x == z, g=x == "ape", n=x != y)) for x, y, z in (
    (WORDS, words("ape", "", "a b"), "été"), (WORDS[:0], words("", "", ""), ""),
    (words(["a", "ab", "abc"], ["abc", "", "ab"]), words("ab", "ab", "ab"), ""))])
case("constant strings", """
  g (int64[N] at) => (string[N] y, string[2, 2] z) {
    k = Constant <value_strings = ["zero", "", "two", "größe"]> ()
    y = Gather (k, at)
    s = Constant <value = int64[2] {2, 2}> ()
    z = Reshape (k, s)
  }""", dict(at=i64([3, 0, 1])),
     wanted=[(dict(at=i64([])), dict(y=words(), z=words(["zero", ""], ["two", "größe"])))])
case("strings in branches and loops", """
  g (bool c, string[N] x, int64 trips) => (string[M] y, string[P] z) {
    y = If (c) <then_branch = a () => (string[Q] u) { u = Identity (x) },
                else_branch = b () => (string[R] u) { u = Concat <axis: int = 0> (x, x) }>
    yes = Constant <value = bool {1}> ()
    z = Loop (trips, yes, x) <body = body (int64 i, bool g, string[S] before) => (bool going, string[T] after) {
      going = Identity (g)
      after = Concat <axis: int = 0> (before, before)
    }>
  }""", *[dict(c=np.array(c), x=LIST, trips=i64(n)) for c, n in ((True, 0), (False, 2))])
case("StringConcat", """
  g (string[A, B] x, string[B] y, string z) => (string[A, B] s, string[A, B] t) {
    s = StringConcat (x, y)
    t = StringConcat (z, s)
  }""", dict(x=WORDS, y=words("1", "", "é"), z=np.array("<")), dict(x=WORDS[:0], y=words("", "", ""), z=np.array("")))
for delimiter, limit in (("", None), (" ", None), (", ", 1), (None, 1), ("ab", 0)):
    named = "" if delimiter is None else f'delimiter: string = "{delimiter}"'
    counted = "" if limit is None else f"maxsplit: int = {limit}"
    both = ", ".join(a for a in (named, counted) if a)
    case(f"StringSplit {delimiter!r} {limit}", f"""
      g (string[A, B] x) => (string[A, B, C] y, int64[A, B] z) {{ y, z = StringSplit {f"<{both}>" if both else ""} (x) }}""",
         dict(x=words(["a, b, c", " a  b\u3000c ", ""], ["abab", "x,y", "\tq"])), dict(x=words(["", "", ""])),
         dict(x=words(["a"])))
case("a row of unknown sizes", """
  g (string[A, B] x) => (string[C, D] y) {
    y = StringNormalizer <case_change_action: string = "UPPER", is_case_sensitive: int = 1, stopwords: strings = ["monday"]> (x)
  }""", dict(x=words(["monday", "b", "ape"])), errors=[(dict(x=words(["a"], ["b"])), "one row"), (dict(x=np.zeros((0, 2), "U1")), "one row")])
case("sequences of strings", """
  g (seq(string[N]) s, string[M] x) => (seq(string[N]) t, string[K] y, seq(string[N]) u, int64 n) {
    t = SequenceInsert (s, x)
    zero = Constant <value = int64 {0}> ()
    y = SequenceAt (t, zero)
    z = SequenceConstruct (x, y)
    u = SequenceErase (z, zero)
    n = SequenceLength (s)
  }""", dict(s=[words("a", "bcd"), words("")], x=words("größe", "q")), dict(s=[], x=words("z")))
case("StringNormalizer", """
  g (string[N] x) => (string[A] y, string[B] z, string[C] w) {
    y = StringNormalizer <case_change_action: string = "UPPER", is_case_sensitive: int = 1, stopwords: strings = ["monday"]> (x)
    z = StringNormalizer <case_change_action: string = "LOWER", is_case_sensitive: int = 0, stopwords: strings = ["ÉTÉ", "Monday"]> (x)
    w = StringNormalizer <case_change_action: string = "NONE", is_case_sensitive: int = 1, stopwords: strings = ["a"]> (x)
  }""", dict(x=words("monday", "monday")), dict(x=words("Tuesday", "a", "MONDAY")),
     # The evaluator drops accents, which ONNX does not say.
     wanted=[(dict(x=words("monday", "Monday", "été", "Über")),
              dict(y=words("MONDAY", "ÉTÉ", "ÜBER"), z=words("über"), w=words("monday", "Monday", "été", "Über")))])
case("strings from numbers and back", """
  g (float[N] x, int64[N] i, double[N] d) => (float[N] a, int64[N] b, double[N] c, string[N] s) {
    t = Cast <to: int = 8> (x)
    a = Cast <to: int = 1> (t)
    s = Cast <to: int = 8> (i)
    b = Cast <to: int = 7> (s)
    u = Cast <to: int = 8> (d)
    c = Cast <to: int = 11> (u)
  }""", dict(x=np.float32([0.1, -1e-30, 3, np.inf, -np.inf, np.nan, 16777216]), i=i64([0, -1, 2**63 - 1, -2**63, 5, 6, 7]),
             d=np.array([0.1, 1e300, -0.0, np.inf, 1e-5, np.nan, 12345678.9])))
case("numbers of texts", """
  g (string[N] x) => (float[N] a, int64[N] b) {
    a = Cast <to: int = 1> (x)
    b = Cast <to: int = 7> (x)
  }""", errors=[(dict(x=words("1", "two")), "is no number")],
     wanted=[(dict(x=words("1", "+2.5", "-3e2", "1e30")), dict(a=np.float32([1, 2.5, -300, 1e30]),
                                                               b=i64([1, 2, -300, 2**63 - 1]))),
             (dict(x=words("inf", "-INF", "NaN", " 7 ")), dict(a=np.float32([np.inf, -np.inf, np.nan, 7]),
                                                              b=i64([2**63 - 1, -2**63, 0, 7])))])

# ---- Encoders of ai.onnx.ml, and n-grams of strings: against onnxruntime -----------------------------------------


def single(name, op, x, out_type, inputs, domain="ai.onnx.ml", **attributes):
    kind = {"U": TensorProto.STRING, "i": TensorProto.INT64, "f": TensorProto.FLOAT}[x.dtype.kind]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], name="the_op", domain=domain, **attributes)], name,
                              [helper.make_tensor_value_info("x", kind, ["N"] + list(x.shape[1:]))],
                              [helper.make_tensor_value_info("y", out_type, None)])
    MODELS[name] = (helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]), inputs)


STRING, INT64, FLOAT = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT
single("LabelEncoder to numbers", "LabelEncoder", LIST, INT64, [LIST, words("none", "b")], keys_strings=["ape", "b", ""],
       values_int64s=[7, 8, 9], default_int64=-5)
single("LabelEncoder to strings", "LabelEncoder", i64([1]), STRING, [i64([2, 1, 5])], keys_int64s=[1, 2],
       values_strings=["one", "two"], default_string="other")
single("LabelEncoder between strings", "LabelEncoder", LIST, STRING, [LIST], keys_strings=["b", "ape"],
       values_strings=["B", "APE"])
single("LabelEncoder to floats", "LabelEncoder", LIST, FLOAT, [LIST], keys_strings=["b"], values_floats=[0.5])
single("OneHotEncoder", "OneHotEncoder", LIST, FLOAT, [LIST], cats_strings=["ape", "b", "c"], zeros=1)
single("OneHotEncoder of a column", "OneHotEncoder", LIST[:, None], FLOAT, [LIST[:, None]], cats_strings=["ape", "b", "c"], zeros=1)
single("CategoryMapper to numbers", "CategoryMapper", LIST, INT64, [LIST], cats_strings=["ape", "b"], cats_int64s=[4, 5])
single("CategoryMapper to strings", "CategoryMapper", i64([1]), STRING, [i64([4, 9, 5])], cats_strings=["ape", "b"],
       cats_int64s=[4, 5], default_string="?")
single("TfIdfVectorizer", "TfIdfVectorizer", LIST, FLOAT, [words("a", "b", "a", "c", "b"), words("c", "c", "c")], domain="",
       min_gram_length=1, max_gram_length=2, max_skip_count=1, mode="TF", ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4],
       pool_strings=["a", "b", "c", "a", "b", "b", "a"])


def check_model(name, proto, inputs, options, tally):
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        onnx.save(proto, work / "model.onnx")
        done = harness.run_limited([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o",
                                    work / "model.so", *options.flags], 120)
        if not tally.check(f"{name}: compile", "" if done.status == 0 else f"{done.ending()}: {done.message()}"):
            return
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        for number, x in enumerate(inputs):
            np.savez(work / "in.npz", x=x)
            done = harness.run_limited([harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs",
                                        work / "in.npz", "--outputs", work / "out.npz"], 60)
            problem = "" if done.status == 0 else f"{done.ending()}: {done.message()}"
            if not problem:
                wanted = session.run(None, {"x": x.astype(object) if x.dtype.kind == "U" else x})[0]
                with np.load(work / "out.npz") as file:
                    problem = harness.compare(file["y"], harness.savable(wanted), rtol=1e-6).problem
            tally.check(f"{name}: values {number}", problem)


def check_zipmap(options, tally):
    """scikit-learn's classifiers as they are exported unless asked otherwise: string labels, probabilities as maps."""
    labels = ["cat", "dog", "été"]
    kind = helper.make_map_type_proto(STRING, helper.make_tensor_type_proto(FLOAT, []))
    nodes = [helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", classlabels_strings=labels,
                              coefficients=[1.0, -1.0, 0.5, 2.0, -0.5, 0.25], intercepts=[0.1, 0.2, 0.3],
                              post_transform="SOFTMAX"),
             helper.make_node("ZipMap", ["scores"], ["maps"], name="the_zipmap", domain="ai.onnx.ml", classlabels_strings=labels)]
    graph = helper.make_graph(nodes, "zipmap", [helper.make_tensor_value_info("x", FLOAT, ["N", 2])],
                              [helper.make_tensor_value_info("label", STRING, ["N"]),
                               helper.make_value_info("maps", helper.make_sequence_type_proto(kind))])
    proto = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                  helper.make_opsetid("ai.onnx.ml", 3)])
    x = f32(4, 2, start=-3)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted_labels, maps = session.run(None, {"x": x})
    wanted = {"label": harness.savable(wanted_labels),
              "maps": np.array([[row[label] for label in labels] for row in maps], np.float32)}
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        onnx.save(proto, work / "model.onnx")
        np.savez(work / "in.npz", x=x)
        done = harness.run_limited([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o",
                                    work / "model.so", *options.flags], 120)
        tally.check("ZipMap: a warning names the columns", "" if re.search("the_zipmap.*cat, dog, été", done.err) else done.err)
        done = harness.run_limited([harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs",
                                    work / "in.npz", "--outputs", work / "out.npz"], 60)
        problem = "" if done.status == 0 else f"{done.ending()}: {done.message()}"
        if not problem:
            with np.load(work / "out.npz") as file:
                problem = harness.compare_outputs({n: file[n] for n in file.files}, wanted, rtol=1e-5).problem
        tally.check("ZipMap: values", problem)


def check_device(options, tally):
    """A device has no strings."""
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        onnx.save(onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 20]> g (string[N] x) => (string[N] y) { y = Identity (x) }'),
            work / "model.onnx")
        done = harness.run_limited([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o",
                                    work / "model.so", "--device=cuda", "--gpu-arch=emu"], 120)
        tally.check("strings on a device are refused", "" if done.status == 1 and "tensors of strings" in done.err else
                    f"{done.ending()}: {done.message()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only cases whose name matches")
    options = harness.parse_arguments(parser)
    os.environ["MALLOC_PERTURB_"] = "1"
    tally = harness.Tally()
    for item in CASES:
        if re.search(options.filter, item.name):
            check(item, options, tally)
    for name, (proto, inputs) in MODELS.items():
        if re.search(options.filter, name):
            check_model(name, proto, inputs, options, tally)
    if re.search(options.filter, "ZipMap"):
        check_zipmap(options, tally)
    if re.search(options.filter, "device"):
        check_device(options, tally)
    tally.finish()


if __name__ == "__main__":
    main()
