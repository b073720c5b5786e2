"""Dropout. Its mask is its own; what is differentiated is x / (1 - ratio) whatever the mask: the dropped elements get their
value elsewhere, so that a gradient which passes where the mask does not hold is counted twice."""
import numpy as np
from onnx import TensorProto, helper

from cases import case, normal


def training(shape, ratio, **attributes):
    def constant(name, kind, value):
        return helper.make_node("Constant", [], [name], value=helper.make_tensor(name, kind, [], [value]))

    nodes = [constant("ratio", TensorProto.DOUBLE, ratio), constant("on", TensorProto.BOOL, True),
             constant("kept", TensorProto.DOUBLE, 1 - ratio),
             helper.make_node("Dropout", ["x0", "ratio", "on"], ["dropped", "mask"], **attributes),
             helper.make_node("Div", ["x0", "kept"], ["whole"]),
             constant("one", TensorProto.DOUBLE, 1.0),
             helper.make_node("Cast", ["mask"], ["holds"], to=TensorProto.DOUBLE),
             helper.make_node("Sub", ["one", "holds"], ["fails"]),
             helper.make_node("Mul", ["whole", "fails"], ["rest"]),
             helper.make_node("Add", ["dropped", "rest"], ["y0"])]
    case("Dropout", [normal(*shape)], nodes=nodes, forward=lambda x: x / (1 - ratio), second=False, why="random")


training((40,), 0.5)
training((6, 7), 0.25, seed=3)
training((2, 3, 4, 5), 0.9)
training((0, 3), 0.5)
training((), 0.1)
for inputs in ([normal(3, 4)], [normal(3, 4), None, np.array(False)]):
    case("Dropout", inputs, forward=lambda x, *more: x, wrt=(0,))

# What random numbers are like has no influence on them but by its shape.
for op in ("RandomNormalLike", "RandomUniformLike"):
    for shape in ((2, 3), (4,), (), (0, 2), (3, 1, 2)):
        nodes = [helper.make_node(op, ["x0"], ["noise"]), helper.make_node("Sub", ["noise", "noise"], ["none"]),
                 helper.make_node("Add", ["x0", "none"], ["y0"])]
        case(op, [normal(*shape)], nodes=nodes, forward=lambda x: x, why="random")
