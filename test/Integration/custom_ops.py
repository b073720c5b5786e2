#!/usr/bin/env python3
"""Build the operators of docs/examples/custom-op.c with gcc and run models that have them.

usage: custom_ops.py [--build DIR] [-- FLAGS]

Sizes are static, symbolic or told by the shape function; the functions come from an object, an archive, a library given
when the module is compiled or when it is loaded, or from the program that a module's object is linked into.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "utils"))
import harness  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SWISH = "--custom-op=my.ops::Swish=my_swish"
KEEP = "--custom-op=my.ops::KeepPositive=my_keep,my_keep_shape"

# A function that looks at everything it is given, and fails where something is not as the test below has it.
LOOK = r"""
#include "onnx-aot/abi/CustomOp.h"
#include <string.h>
static const OnnxAotOpTensor *find(const OnnxAotOpCall *call, const char *name) {
  for (int i = 0; i < call->num_attributes; ++i)
    if (!strcmp(call->attributes[i].name, name))
      return &call->attributes[i].value;
  return 0;
}
static int is_string(const OnnxAotString *s, const char *text) {
  return s->size == strlen(text) && !memcmp(s->data, text, s->size);
}
int32_t look(const OnnxAotOpCall *call) {
  const OnnxAotOpTensor *in = call->inputs, *out = call->outputs, *a;
  if (call->num_inputs != 3 || call->num_outputs != 2 || call->num_attributes != 6) return 1;
  if (in[0].type != ONNX_AOT_FLOAT32 || in[0].rank != 2 || in[0].dims[0] != 2 || in[0].dims[1] != 3) return 2;
  if (in[1].type || in[1].rank || in[1].data) return 3;
  if (in[2].type != ONNX_AOT_BOOL || in[2].rank != 0) return 4;
  if (out[0].type != ONNX_AOT_INT64 || out[0].rank != 1 || out[0].dims[0] != 6) return 5;
  if (out[1].type != ONNX_AOT_BOOL || out[1].rank != 0) return 6;
  if (!(a = find(call, "i")) || a->type != ONNX_AOT_INT64 || a->rank || *(int64_t *)a->data != -7) return 7;
  if (!(a = find(call, "f")) || a->type != ONNX_AOT_FLOAT32 || a->rank || *(float *)a->data != 2.5f) return 8;
  if (!(a = find(call, "s")) || a->type != ONNX_AOT_STRING || a->rank || !is_string(a->data, "hello")) return 9;
  if (!(a = find(call, "is")) || a->rank != 1 || a->dims[0] != 3 || ((int64_t *)a->data)[2] != 30) return 10;
  if (!(a = find(call, "fs")) || a->rank != 1 || a->dims[0] != 2 || ((float *)a->data)[1] != -1.5f) return 11;
  if (!(a = find(call, "ss")) || a->rank != 1 || a->dims[0] != 2 || !is_string((OnnxAotString *)a->data + 1, "")) return 12;
  for (int i = 0; i < 6; ++i)
    ((int64_t *)out[0].data)[i] = (int64_t)((float *)in[0].data)[i] * 10;
  *(uint8_t *)out[1].data = !*(uint8_t *)in[2].data;
  return 0;
}
int32_t fail(const OnnxAotOpCall *call) { (void)call; return 1; }
int32_t short_shape(const OnnxAotOpCall *call) { (void)call; return 0; }
int32_t other_shape(const OnnxAotOpCall *call) { call->outputs[0].dims[0] = 5; call->outputs[0].dims[1] = 3; return 0; }
"""


def model(nodes, inputs, outputs, values=()):
    """Builds a model whose nodes are of the domain my.ops unless they say otherwise."""
    info = [[helper.make_tensor_value_info(*v) for v in values] for values in (inputs, outputs, values)]
    graph = helper.make_graph(nodes, "custom", info[0], info[1], value_info=info[2])
    return helper.make_model(graph, ir_version=9,
                             opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("my.ops", 1)])


def node(name, inputs, outputs, **attributes):
    return helper.make_node(name, inputs, outputs, domain="my.ops", name=f"the_{name}", **attributes)


def swish(x, beta=1.0):
    return (x / (1 + np.exp(-beta * x.astype(np.float64)))).astype(np.float32)


def chain(shape):
    """Swish between standard operators, its input a part of a larger tensor."""
    return model([helper.make_node("Concat", ["x", "x"], ["c"], axis=1),
                  helper.make_node("Split", ["c"], ["left", "right"], axis=1, num_outputs=2),
                  node("Swish", ["right"], ["s"], beta=0.5),
                  helper.make_node("Concat", ["s", "s"], ["y"], axis=1)],
                 [("x", FLOAT, shape)], [("y", FLOAT, None)], [("s", FLOAT, shape)])


def keep(shape):
    return model([node("KeepPositive", ["x"], ["k"]), helper.make_node("Add", ["k", "k"], ["y"])],
                 [("x", FLOAT, shape)], [("y", FLOAT, ["kept"])], [("k", FLOAT, ["kept"])])


def looped():
    """Swish in the body of a loop, three times over."""
    body = helper.make_graph(
        [node("Swish", ["v"], ["w"]), helper.make_node("Identity", ["c"], ["d"])], "body",
        [helper.make_tensor_value_info(*v) for v in (("i", INT64, []), ("c", BOOL, []), ("v", FLOAT, [4]))],
        [helper.make_tensor_value_info(*v) for v in (("d", BOOL, []), ("w", FLOAT, [4]))])
    three = helper.make_node("Constant", [], ["n"], value_int=3)
    return model([three, helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)], [("x", FLOAT, [4])],
                 [("y", FLOAT, [4])])


class Bench:
    """Compiles and runs models in a folder."""

    def __init__(self, options, work):
        self.options, self.work, self.count = options, work, 0
        self.compiler = harness.tool(options.build, "onnx-aot-compile")
        self.runner = harness.tool(options.build, "onnx-aot-run")

    def compile(self, proto, *flags, suffix=".so"):
        self.count += 1
        path = self.work / f"m{self.count}.onnx"
        onnx.save(proto, path)
        output = path.with_suffix(suffix)
        done = harness.run_limited([self.compiler, path, "-o", output, *self.options.flags, *flags])
        return output, done

    def run(self, module, inputs, *flags, expect=None):
        """Runs a module; returns what is wrong, empty for nothing."""
        np.savez(self.work / "in.npz", **inputs)
        np.savez(self.work / "want.npz", **(expect or {}))
        wanted = ["--expect", self.work / "want.npz", "--rtol", "1e-5"] if expect else []
        done = harness.run_limited([self.runner, module, "--inputs", self.work / "in.npz", *flags, *wanted])
        return "" if done.status == 0 else f"{done.message()} {done.out.strip()}"

    def check(self, tally, name, proto, inputs, expect, *flags):
        module, done = self.compile(proto, *flags)
        problem = done.message() if done.status else self.run(module, inputs, expect=expect)
        tally.check(name, problem)

    def refuse(self, tally, name, proto, text, *flags):
        output, done = self.compile(proto, *flags)
        tally.check(name, "" if done.status == 1 and text in done.err and not output.exists() else
                    f"{done.ending()}: {done.err.strip()[-300:]}")


def gcc(*command):
    done = subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-fPIC",
                           "-I", str(ROOT / "runtime/include"), *map(str, command)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if done.returncode == 0 else done.stdout


def values(tally, bench, library):
    """Results with sizes known, symbolic and told by the run."""
    random = np.random.default_rng(3)
    x = random.normal(size=(4, 6)).astype(np.float32)
    want = np.concatenate([swish(x, 0.5)] * 2, axis=1)
    flags = (SWISH, KEEP, f"--library={library}")
    bench.check(tally, "static sizes", chain([4, 6]), {"x": x}, {"y": want}, *flags)
    bench.check(tally, "symbolic sizes", chain(["rows", "columns"]), {"x": x}, {"y": want}, *flags)
    bench.check(tally, "a symbol made a number", chain(["rows", "columns"]), {"x": x}, {"y": want}, "--dim=rows=4", *flags)
    bench.check(tally, "without optimization", chain(["rows", 6]), {"x": x}, {"y": want}, "-O0", *flags)
    empty = np.zeros((0, 6), np.float32)
    bench.check(tally, "no elements", chain(["rows", 6]), {"x": empty}, {"y": np.zeros((0, 12), np.float32)}, *flags)
    bench.check(tally, "a size that values tell", keep([4, 6]), {"x": x}, {"y": 2 * x[x > 0]}, *flags)
    bench.check(tally, "nothing is kept", keep(["a", "b"]), {"x": -abs(x)}, {"y": np.zeros(0, np.float32)}, *flags)
    line = x[0, :4]
    bench.check(tally, "in a loop", looped(), {"x": line}, {"y": swish(swish(swish(line)))}, *flags)


def contract(tally, bench, work):
    """What a function is given, and what happens when it says no."""
    (work / "look.c").write_text(LOOK)
    problem = gcc("-shared", work / "look.c", "-o", work / "look.so")
    if not tally.check("look.c: build", problem):
        return
    proto = model([node("Look", ["x", "", "b"], ["y", "z"], i=-7, f=2.5, s="hello", **{
        "is": [10, 20, 30], "fs": [1.0, -1.5], "ss": ["a", ""]})],
        [("x", FLOAT, [2, 3]), ("b", BOOL, [])], [("y", INT64, [6]), ("z", BOOL, [])])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = {"x": x, "b": np.array(True)}
    library = f"--library={work / 'look.so'}"
    bench.check(tally, "inputs, outputs and attributes", proto, given,
                {"y": 10 * np.arange(6), "z": np.array(False)}, "--custom-op=my.ops::Look=look", library)
    plain = model([node("F", ["x"], ["y"])], [("x", FLOAT, [2, 3])], [("y", FLOAT, [2, 3])])
    open_ = model([node("F", ["x"], ["y"])], [("x", FLOAT, [2, 3])], [("y", FLOAT, ["n", 3])])
    for name, proto, functions, text in (
            ("the function fails", plain, "fail", "the_F: the function 'fail' returned an error"),
            ("the shape function fails", open_, "look,fail", "the function 'fail' returned an error"),
            ("a size is not told", open_, "look,short_shape", "has not told a size"),
            ("another size is told", plain, "look,other_shape", "another size than the model declares")):
        module, done = bench.compile(proto, f"--custom-op=my.ops::F={functions}", library)
        said = done.message() if done.status else bench.run(module, {"x": x})
        tally.check(name, "" if text in said else f"it says {said!r}")


def sources(tally, bench, work):
    """Where the functions may come from."""
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(2, 6)
    want = {"y": np.concatenate([swish(x, 0.5)] * 2, axis=1)}
    gcc("-c", ROOT / "docs/examples/custom-op.c", "-o", work / "custom-op.o")
    subprocess.run(["ar", "rc", work / "custom-op.a", work / "custom-op.o"], check=True)
    for suffix in (".o", ".a"):
        module, done = bench.compile(chain([2, 6]), SWISH, f"--library={work / ('custom-op' + suffix)}")
        problem = done.message() if done.status else bench.run(module, {"x": x}, expect=want)
        tally.check(f"the function in an {suffix} file", problem)
        exported = subprocess.run(["nm", "-D", "--defined-only", module], capture_output=True, text=True).stdout
        tally.check(f"with an {suffix} file the module exports its descriptor only",
                    "" if exported.split()[2::3] == ["onnx_aot_module"] else exported)
    module, done = bench.compile(chain([2, 6]), SWISH)
    problem = done.message() if done.status else bench.run(
        module, {"x": x}, "--library", work / "custom-op.so", expect=want)
    tally.check("a library given when the module is loaded", problem)
    said = bench.run(module, {"x": x})
    tally.check("no library: the module does not load", "" if "my_swish" in said else f"it says {said!r}")
    if bench.options.device != "cpu":
        return  # the program below lends no device
    module, done = bench.compile(chain([2, 6]), SWISH, "--prefix=net", suffix=".o")
    (work / "main.c").write_text(f"""#include "{module.stem}.h"
#include <stdio.h>
static float x[12], y[24];
static _Alignas(64) char arena[1 << 16];
int main(void) {{
  const void *in[] = {{x}};
  void *out[] = {{y}};
  x[0] = 1;
  if (net_module.arena_bytes > sizeof arena || net_module.run(0, net_module.weights, 0, in, out, arena)) return 1;
  return printf("%.4f %.4f\\n", y[0], y[1]) < 0;
}}
""")
    problem = done.message() if done.status else gcc("-std=c11", "-I", work, work / "main.c", module, work / "custom-op.o",
                                                     "-lm", "-o", work / "main")
    said = "" if problem else subprocess.run([work / "main"], capture_output=True, text=True).stdout
    tally.check("an object in a program that defines the function",
                problem or ("" if said.split() == ["0.6225", "0.0000"] else f"it says {said!r}"))


def refusals(tally, bench):
    """What the compiler does not take, by name."""
    bench.refuse(tally, "an operator that is not declared", chain([2, 6]), "my.ops::Swish")
    undeclared = model([node("Swish", ["x"], ["s"]), helper.make_node("Relu", ["s"], ["y"])], [("x", FLOAT, [2])],
                       [("y", FLOAT, [2])])
    bench.refuse(tally, "an output without a type", undeclared, "does not declare", SWISH)
    bench.refuse(tally, "a size that nobody tells", keep([4]), "a shape function must tell it",
                 "--custom-op=my.ops::KeepPositive=my_keep")
    tensor = model([node("Swish", ["x"], ["y"], t=helper.make_tensor("t", FLOAT, [1], [1.0]))], [("x", FLOAT, [2])],
                   [("y", FLOAT, [2])])
    bench.refuse(tally, "a tensor as an attribute", tensor, "'t'", SWISH)
    bench.refuse(tally, "a name that C cannot have", chain([2, 6]), "not a C identifier", "--custom-op=my.ops::Swish=a-b")
    bench.refuse(tally, "a name that the module uses", chain([2, 6]), "uses that name itself",
                 "--custom-op=my.ops::Swish=main")
    bench.refuse(tally, "a malformed flag", chain([2, 6]), "not of the form", "--custom-op=Swish")
    bench.refuse(tally, "a library that is not there", chain([2, 6]), "nothing.so", SWISH, "--library=nothing.so")
    sneaky = model([helper.make_node("custom.Call", ["x"], ["y"], op="x", callee="system", shape_callee="", present=[1])],
                   [("x", FLOAT, [2])], [("y", FLOAT, [2])])
    bench.refuse(tally, "a model that names the dialect's op", sneaky, "cannot contain a dot")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    harness.add_device_argument(parser)
    options = harness.parse_arguments(parser)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        bench = Bench(options, work)
        library = work / "custom-op.so"
        problem = gcc("-shared", ROOT / "docs/examples/custom-op.c", "-lm", "-o", library)
        if tally.check("docs/examples/custom-op.c: build", problem):
            values(tally, bench, library)
            contract(tally, bench, work)
            sources(tally, bench, work)
            refusals(tally, bench)
    tally.finish()


if __name__ == "__main__":
    main()
