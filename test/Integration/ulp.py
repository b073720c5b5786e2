#!/usr/bin/env python3
"""Elementary functions on 32-bit floats against 64-bit ones: is each error within the stated bound?

usage: ulp.py [--build DIR] [--filter RE] [--full] [-- FLAG of onnx-aot-compile...]

Ordinarily every 4099th float is tried, with --full each of the 2^32 (for functions of one number; an exponent of pow is
drawn for each base). Results that are infinite or no number must be exactly that. docs/Numerics.md states the bounds.
"""
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

FUNCTIONS = {"exp": "Exp", "log": "Log", "tanh": "Tanh", "erf": "Erf", "sin": "Sin", "cos": "Cos", "pow": "Pow",
             "sigmoid": "Sigmoid", "gelu": "Gelu"}
BOUND = 1  # units in the last place


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only functions whose name matches")
    parser.add_argument("--full", action="store_true", help="all floats: about a minute for each function")
    options = harness.parse_arguments(parser)
    tally = harness.Tally()
    for name, op in FUNCTIONS.items():
        if not re.search(options.filter, name):
            continue
        inputs = ["x", "y"] if name == "pow" else ["x"]
        graph = helper.make_graph([helper.make_node(op, inputs, ["z"])], name,
                                  [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in inputs],
                                  [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N"])])
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            path = pathlib.Path(work) / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
            module = path.with_suffix(".so")
            program = harness.tool(options.build, "onnx-aot-ulp")
            for command in ([harness.tool(options.build, "onnx-aot-compile"), path, "-o", module, *options.flags],
                            [program, name, module, 1 if options.full else 4099, len(os.sched_getaffinity(0))]):
                done = harness.run_limited(command, 7200)
                if done.status != 0:
                    tally.check(name, f"{done.ending()}: {done.message()}")
                    break
            else:
                found = json.loads(done.out)
                error, where = float(found["ulp"]), [float.fromhex(found[k]) for k in ("x", "y", "got")]
                text = f"{error:.4f} ulp" + (f" at {where[0]!r}" + (f", {where[1]!r}" if name == "pow" else "")
                                             + f", which gives {where[2]!r}")
                tally.check(f"{name}: {found['values']} values, at most {text}", "" if error <= BOUND else f"above {BOUND}")
    tally.finish()


if __name__ == "__main__":
    main()
