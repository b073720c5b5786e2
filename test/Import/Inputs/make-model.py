"""Write the ONNX model of a test file: make-model.py TEST MODEL.onnx

A test holds its model in ONNX's text form; the lines that begin with # are lit's. The parts that text has no form for
are Python, which edits `model`, after a line `--- python`.
"""
import sys

import numpy
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

test, path = sys.argv[1:]
lines = [line for line in open(test).read().splitlines() if not line.startswith("#")]
code = []
if "--- python" in lines:
    split = lines.index("--- python")
    lines, code = lines[:split], lines[split + 1:]
text = "\n".join(lines).strip()
model = onnx.parser.parse_model(text) if text else onnx.ModelProto()
graph = model.graph
exec(compile("\n".join(code), test, "exec"))
data = model if isinstance(model, bytes) else model.SerializeToString()
with open(path, "wb") as file:
    file.write(data)
