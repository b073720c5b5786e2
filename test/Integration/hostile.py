#!/usr/bin/env python3
"""Give the compiler models that are malformed on purpose: each is refused, with an error that names the place.

usage: hostile.py [--build DIR] [--filter RE]

A case is a function below that returns (model, pattern): the error on stderr must match the pattern. Refused means
exit status 1, an error, no output file; within a minute and 4 GiB of address space beyond what the libraries map.
Most cases replay a published bug of another importer.
"""
import argparse
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
SECRET = b"\x00\x00\x80\x3f" * 4  # four ones, outside the model's folder
CASES = []


def case(function):
    CASES.append(function)
    return function


def model_of(nodes, initializers=(), inputs=(("x", FLOAT, [2, 3]),), outputs=(("y", FLOAT, None),), opset=18,
             functions=(), imports=()):
    """Builds a model without checking it."""
    graph = helper.make_graph(list(nodes), "hostile", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs], list(initializers))
    return helper.make_model(graph, functions=list(functions),
                             opset_imports=[helper.make_opsetid("", opset), *imports], ir_version=9)


def add_weight(weight):
    """A model that adds an initializer `w` to its input."""
    return model_of([helper.make_node("Add", ["x", "w"], ["y"], name="the_add")], [weight])


def external(location, **more):
    """A weight of four floats in an external file."""
    weight = TensorProto(name="w", data_type=FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        weight.external_data.add(key=key, value=str(value))
    return model_of([helper.make_node("Add", ["x", "w"], ["y"])], [weight], inputs=(("x", FLOAT, [4]),))


# ---- External data -----------------------------------------------------------------------------------


@case
def external_parent_folder(folder):
    return external("../secret.bin"), r"\bw\b"


@case
def external_parent_in_the_middle(folder):
    (folder / "sub").mkdir()
    return external("sub/../../secret.bin"), r"\bw\b"


@case
def external_absolute(folder):
    return external(str(folder.parent / "secret.bin")), r"\bw\b"


@case
def external_symlink(folder):
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    return external("link.bin"), r"\bw\b"


@case
def external_symlinked_folder(folder):
    (folder / "sub").symlink_to(folder.parent)
    return external("sub/secret.bin"), r"\bw\b"


@case
def external_folder_instead_of_file(folder):
    (folder / "sub").mkdir()
    return external("sub"), r"\bw\b"


@case
def external_in_the_output(folder):
    (folder / "model.so").write_bytes(SECRET)
    return external("model.so"), "tensor 'w' lies in 'model.so', which the output .*model.so' would overwrite"


@case
def external_device(folder):
    (folder / "zero").symlink_to("/dev/zero")
    return external("zero"), r"\bw\b"


@case
def external_missing_file(folder):
    return external("missing.bin"), "missing.bin"


@case
def external_without_location(folder):
    return external(""), r"\bw\b"


def with_data(folder, **more):
    (folder / "data.bin").write_bytes(SECRET)
    return external("data.bin", **more)


@case
def external_length_beyond_the_file(folder):
    return with_data(folder, offset=8, length=16), r"\bw\b"


@case
def external_offset_beyond_the_file(folder):
    return with_data(folder, offset=4096, length=16), r"\bw\b"


@case
def external_offset_and_length_wrap(folder):
    return with_data(folder, offset=2**64 - 8, length=16), r"\bw\b"


@case
def external_negative_offset(folder):
    return with_data(folder, offset=-4, length=16), r"\bw\b"


@case
def external_offset_no_number(folder):
    return with_data(folder, offset="4x", length=16), r"\bw\b"


@case
def external_petabytes(folder):
    return with_data(folder, offset=0, length=2**50), r"\bw\b"


@case
def external_length_is_not_that_of_the_shape(folder):
    return with_data(folder, offset=0, length=8), r"\bw\b"


# ---- Tensors -----------------------------------------------------------------------------------------


def raw(dims, data, data_type=FLOAT):
    return TensorProto(name="w", data_type=data_type, dims=dims, raw_data=data)


@case
def tensor_with_too_much_raw_data(folder):
    return add_weight(raw([1], bytes(4096))), r"\bw\b"


@case
def tensor_with_too_little_raw_data(folder):
    return add_weight(raw([2, 3], bytes(8))), r"\bw\b"


@case
def tensor_with_negative_dim(folder):
    return add_weight(raw([-1, 3], bytes(12))), r"\bw\b"


@case
def tensor_whose_size_overflows(folder):
    return add_weight(raw([2**32, 2**32, 4], bytes(16))), r"\bw\b"


@case
def tensor_with_too_few_floats(folder):
    return add_weight(TensorProto(name="w", data_type=FLOAT, dims=[6], float_data=[1, 2])), r"\bw\b"


@case
def tensor_of_no_known_type(folder):
    return add_weight(raw([3], bytes(12), data_type=99)), r"\bw\b"


@case
def tensor_of_undefined_type(folder):
    return add_weight(raw([3], bytes(12), data_type=0)), r"\bw\b"


@case
def tensor_with_data_of_another_type(folder):
    return add_weight(TensorProto(name="w", data_type=FLOAT, dims=[3], int64_data=[1, 2, 3])), r"\bw\b"


@case
def two_initializers_of_one_name(folder):
    weight = numpy_helper.from_array(np.ones(3, np.float32), "w")
    return model_of([helper.make_node("Add", ["x", "w"], ["y"])], [weight, weight]), r"\bw\b"


@case
def sparse_initializer_out_of_range(folder):
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])])
    sparse = model.graph.sparse_initializer.add(dims=[3])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([10**12], np.int64), "w_indices"))
    return model, r"\bw\b|sparse"


# ---- Graphs ------------------------------------------------------------------------------------------


def relu(source="x", result="y", **more):
    return helper.make_node("Relu", [source], [result], **more)


@case
def value_that_nobody_makes(folder):
    return model_of([relu("nowhere")]), "nowhere"


@case
def value_used_before_it_is_made(folder):
    return model_of([relu("later"), relu("x", "later")]), "later"


@case
def cycle(folder):
    return model_of([relu("b", "a"), relu("a", "b"), relu("b")]), r"\bb\b"


@case
def value_made_twice(folder):
    return model_of([relu(), relu()]), r"\by\b"


@case
def output_that_nobody_makes(folder):
    return model_of([relu("x", "z")]), r"\by\b"


@case
def operator_that_does_not_exist(folder):
    return model_of([helper.make_node("Frobnicate", ["x"], ["y"], name="the_node")]), "the_node.*|Frobnicate"


@case
def operator_of_a_foreign_domain(folder):
    node = helper.make_node("Magic", ["x"], ["y"], name="the_node", domain="com.example")
    return model_of([node], imports=[helper.make_opsetid("com.example", 1)]), "Magic"


@case
def domain_that_is_not_imported(folder):
    return model_of([helper.make_node("Magic", ["x"], ["y"], domain="com.example")]), "Magic|com.example"


@case
def all_reasons_at_once(folder):
    nodes = [helper.make_node("First", ["x"], ["a"]), helper.make_node("Second", ["a"], ["y"])]
    return model_of(nodes), "(?s)First.*Second"


@case
def opset_of_the_far_future(folder):
    return model_of([relu()], opset=999), "999"


@case
def opset_of_the_far_past(folder):
    """It may be compiled as well: then by what that opset says."""
    return model_of([relu()], opset=3), None


@case
def no_opset(folder):
    model = model_of([relu()])
    del model.opset_import[:]
    return model, "opset"


@case
def no_graph(folder):
    model = model_of([relu()])
    model.ClearField("graph")
    return model, "."


@case
def no_outputs(folder):
    return model_of([relu()], outputs=()), "output"


@case
def missing_operand(folder):
    return model_of([helper.make_node("Add", ["x"], ["y"])]), "Add"


@case
def too_many_operands(folder):
    return model_of([helper.make_node("Relu", ["x", "x", "x"], ["y"])]), "Relu"


@case
def required_operand_left_out(folder):
    return model_of([helper.make_node("Add", ["", "x"], ["y"])]), "Add"


@case
def too_many_results(folder):
    return model_of([helper.make_node("Relu", ["x"], ["y", "z"])]), "Relu"


@case
def attribute_of_a_wrong_type(folder):
    return model_of([helper.make_node("Softmax", ["x"], ["y"], axis="last")]), "axis"


@case
def attribute_that_is_unknown(folder):
    return model_of([relu(volume=11)]), "volume"


@case
def attribute_that_is_missing(folder):
    return model_of([helper.make_node("Concat", ["x", "x"], ["y"])]), "axis|Concat"


# ---- Shapes that contradict --------------------------------------------------------------------------


@case
def axis_out_of_range(folder):
    return model_of([helper.make_node("Softmax", ["x"], ["y"], axis=7, name="the_node")]), "axis|the_node"


@case
def convolution_weight_of_too_high_rank(folder):
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3, 3), np.float32), "w")
    return model_of([helper.make_node("Conv", ["x", "w"], ["y"], name="the_conv")], [weight],
                    inputs=(("x", FLOAT, [1, 3, 8, 8]),)), "the_conv|Conv"


@case
def convolution_of_zero_groups(folder):
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    return model_of([helper.make_node("Conv", ["x", "w"], ["y"], group=0)], [weight],
                    inputs=(("x", FLOAT, [1, 3, 8, 8]),)), "group|Conv"


@case
def convolution_with_zero_stride(folder):
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    return model_of([helper.make_node("Conv", ["x", "w"], ["y"], strides=[0, 0])], [weight],
                    inputs=(("x", FLOAT, [1, 3, 8, 8]),)), "stride|Conv"


@case
def pooling_with_huge_kernel(folder):
    return model_of([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2**62, 2**62])],
                    inputs=(("x", FLOAT, [1, 3, 8, 8]),)), "MaxPool|kernel"


@case
def matmul_that_does_not_fit(folder):
    return model_of([helper.make_node("MatMul", ["x", "x"], ["y"], name="the_node")]), "the_node|MatMul"


@case
def add_that_does_not_broadcast(folder):
    weight = numpy_helper.from_array(np.ones(5, np.float32), "w")
    return add_weight(weight), "the_add|Add"


@case
def reshape_to_another_count(folder):
    shape = numpy_helper.from_array(np.array([7], np.int64), "shape")
    return model_of([helper.make_node("Reshape", ["x", "shape"], ["y"])], [shape]), "Reshape"


@case
def reshape_with_two_unknowns(folder):
    shape = numpy_helper.from_array(np.array([-1, -1], np.int64), "shape")
    return model_of([helper.make_node("Reshape", ["x", "shape"], ["y"])], [shape]), "Reshape"


@case
def transpose_that_is_no_permutation(folder):
    return model_of([helper.make_node("Transpose", ["x"], ["y"], perm=[0, 0])]), "perm|Transpose"


@case
def element_types_that_differ(folder):
    return model_of([helper.make_node("Add", ["x", "k"], ["y"], name="the_node")],
                    inputs=(("x", FLOAT, [2, 3]), ("k", INT64, [2, 3]))), "the_node|Add"


@case
def gather_index_out_of_range(folder):
    index = numpy_helper.from_array(np.array([99], np.int64), "i")
    return model_of([helper.make_node("Gather", ["w", "i"], ["y"])],
                    [numpy_helper.from_array(np.ones((3, 2), np.float32), "w"), index], inputs=()), "Gather|index"


# ---- Functions and subgraphs -------------------------------------------------------------------------


def function(name, calls):
    return helper.make_function("local", name, ["a"], ["b"], [helper.make_node(calls, ["a"], ["b"], domain="local")],
                                [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)])


def calling(name, functions):
    return model_of([helper.make_node(name, ["x"], ["y"], domain="local")], functions=functions,
                    imports=[helper.make_opsetid("local", 1)])


@case
def function_that_calls_itself(folder):
    return calling("F", [function("F", "F")]), "F"


@case
def functions_that_call_each_other(folder):
    return calling("F", [function("F", "G"), function("G", "F")]), "F|G"


@case
def function_that_calls_itself_in_a_branch(folder):
    branch = helper.make_graph([helper.make_node("F", ["a"], ["c"], domain="local")], "then", [],
                               [helper.make_tensor_value_info("c", FLOAT, None)])
    condition = helper.make_node("Constant", [], ["t"], value=numpy_helper.from_array(np.array(True), "t"))
    body = helper.make_function("local", "F", ["a"], ["b"], [
        condition, helper.make_node("If", ["t"], ["b"], then_branch=branch, else_branch=branch)],
        [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)])
    return calling("F", [body]), "F"


@case
def functions_that_double(folder):
    """Each function calls the next one twice: 2^60 nodes when all are inlined."""
    functions = []
    for i in range(60):
        target, domain = (f"F{i + 1}", "local") if i < 59 else ("Relu", "")
        functions.append(helper.make_function(
            "local", f"F{i}", ["a"], ["b"], [helper.make_node(target, ["a"], ["m"], domain=domain),
                                             helper.make_node(target, ["m"], ["b"], domain=domain)],
            [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]))
    return calling("F0", functions), "."


def field(number, data):
    """A length-delimited field of protobuf's wire format."""
    size, length = len(data), b""
    while size > 127:
        size, length = size >> 7, length + bytes([size & 127 | 128])
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


@case
def subgraphs_nested_too_deep(folder):
    """Built from bytes: Python's protobuf refuses to nest that deep."""
    leaf = helper.make_graph([relu("x", "r")], "leaf", [], [helper.make_tensor_value_info("r", FLOAT, None)])
    result = onnx.GraphProto(name="g", output=[helper.make_tensor_value_info("r", FLOAT, None)]).SerializeToString()
    short = field(5, helper.make_attribute("else_branch", leaf).SerializeToString())
    graph = leaf.SerializeToString()
    for _ in range(200):
        branch = onnx.AttributeProto(name="then_branch", type=onnx.AttributeProto.GRAPH).SerializeToString()
        node = onnx.NodeProto(op_type="If", input=["c"], output=["r"]).SerializeToString()
        graph = result + field(1, node + short + field(5, branch + field(6, graph)))
    model = model_of([], inputs=())
    model.ClearField("graph")
    inputs = [helper.make_tensor_value_info("x", FLOAT, [2]), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    return model.SerializeToString() + field(7, graph + onnx.GraphProto(input=inputs).SerializeToString()), "."


@case
def branch_that_is_missing(folder):
    graph = helper.make_graph([relu("x", "r")], "then", [], [helper.make_tensor_value_info("r", FLOAT, None)])
    return model_of([helper.make_node("If", ["c"], ["y"], then_branch=graph)],
                    inputs=(("x", FLOAT, [2]), ("c", TensorProto.BOOL, []))), "else_branch|If"


# ---- Bombs -------------------------------------------------------------------------------------------


def constants(**values):
    return [numpy_helper.from_array(np.asarray(v, np.int64), n) for n, v in values.items()]


@case
def constant_of_a_huge_shape(folder):
    return model_of([helper.make_node("ConstantOfShape", ["s"], ["y"])], constants(s=[2**40]), inputs=()), None


@case
def expand_to_a_huge_shape(folder):
    return model_of([helper.make_node("Expand", ["one", "s"], ["y"])],
                    constants(one=[1], s=[2**20, 2**20, 2**20]), inputs=(), outputs=(("y", INT64, None),)), None


@case
def tiles_that_double(folder):
    nodes = [helper.make_node("Tile", [f"t{i}" if i else "one", "two"], [f"t{i + 1}" if i < 49 else "y"])
             for i in range(50)]
    return model_of(nodes, constants(one=[1], two=[2]), inputs=(), outputs=(("y", INT64, None),)), None


@case
def range_without_end(folder):
    return model_of([helper.make_node("Range", ["a", "b", "c"], ["y"])], constants(a=0, b=2**60, c=1), inputs=(),
                    outputs=(("y", INT64, None),)), None


# ---- Files -------------------------------------------------------------------------------------------


@case
def empty_file(folder):
    return b"", "."


@case
def text_file(folder):
    return b"this is no model\n" * 100, "."


@case
def bytes_of_protobuf_nesting(folder):
    """Groups nested a hundred thousand deep."""
    return b"\x3b" * 100000, "."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", metavar="RE")
    harness.add_build_argument(parser)
    options = parser.parse_args()
    compiler = harness.tool(options.build, "onnx-aot-compile")
    tally = harness.Tally()
    for make in CASES:
        if not re.search(options.filter, make.__name__):
            continue
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            (pathlib.Path(work) / "secret.bin").write_bytes(SECRET)
            folder = pathlib.Path(work) / "model"
            folder.mkdir()
            model, pattern = make(folder)
            data = model if isinstance(model, bytes) else model.SerializeToString()
            (folder / "model.onnx").write_bytes(data)
            output = folder / "model.so"
            before = output.exists() and output.read_bytes()
            done = harness.run_limited([compiler, folder / "model.onnx", "-o", output], seconds=60)
            left = (output.exists() and output.read_bytes()) != before
        name = make.__name__.replace("_", " ")
        if pattern is None and done.status == 0:
            tally.check(name, "", "compiled within the limits")
        elif done.status != 1 or left:
            tally.check(name, f"{done.ending()}{', left a file' if left else ''}: {done.err.strip()[-200:]}")
        elif "error:" not in done.err or not re.search(pattern or ".", done.err):
            tally.check(name, f"the error does not match {pattern!r}: {done.err.strip()[:300]}")
        else:
            tally.check(name, "", done.message()[:160])
    for what, path in (("file that is not there", "missing.onnx"), ("folder instead of a file", "/")):
        done = harness.run_limited([compiler, path, "-o", "/dev/null"], seconds=60)
        clear = done.status == 1 and "error:" in done.err
        tally.check(what, "" if clear else f"{done.ending()}: {done.err[:200]}", done.message())
    tally.finish()


if __name__ == "__main__":
    main()
