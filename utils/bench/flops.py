"""Counts the multiplications and additions of a model's contractions: the bound that the FMA peak sets."""
import math

import numpy as np
import onnx
from onnx import shape_inference


def dims_of(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


def shapes_of(path, inputs):
    """Returns the model and the shape of each value as far as shape inference finds it."""
    model = onnx.load(path)
    for value in model.graph.input:
        if value.name in inputs:
            del value.type.tensor_type.shape.dim[:]
            for size in inputs[value.name]:
                value.type.tensor_type.shape.dim.add().dim_value = size
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    inferred = shape_inference.infer_shapes(model, data_prop=True)
    shapes = {v.name: dims_of(v) for v in [*inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output]}
    shapes.update({t.name: list(t.dims) for t in inferred.graph.initializer})
    for node in inferred.graph.node:
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            shapes[node.output[0]] = list(node.attribute[0].t.dims)
    return inferred, shapes


def count(path, inputs):
    """Returns 2 x multiply-adds of Conv, ConvTranspose, MatMul, Gemm and LSTM nodes; unknown shapes count 0."""
    try:
        model, shapes = shapes_of(path, inputs)
    except Exception:  # a bound only: without shapes there is none
        return 0
    total = 0
    for node in model.graph.node:
        operands = [shapes.get(n, []) for n in node.input]
        result = shapes.get(node.output[0], []) if node.output else []
        if node.op_type == "Conv":
            total += 2 * math.prod(result) * math.prod(operands[1][1:])
        elif node.op_type == "ConvTranspose":
            total += 2 * math.prod(operands[0]) * math.prod(operands[1][1:])
        elif node.op_type in ("MatMul", "Gemm", "FusedMatMul", "MatMulInteger") and operands[0] and result:
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            total += 2 * math.prod(result) * operands[0][0 if transposed else -1]
        elif node.op_type == "LSTM" and len(operands[0]) == 3:
            total += 2 * operands[0][0] * operands[0][1] * (math.prod(operands[1]) + math.prod(operands[2]))
    return int(np.maximum(total, 0))
