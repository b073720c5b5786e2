"""Several operators together: values used twice, outputs that nobody uses, sizes that only the run knows, integers between,
branches and loops that share parameters with the graph around them; and ties and kinks, by the stated convention."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from cases import apart, case, i64, normal


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=op, **attributes)


def constant(name, value):
    return node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value)))


def value(name, shape=None, kind=TensorProto.DOUBLE):
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, [o if hasattr(o, "name") else value(o) for o in outputs])


# ---- One value, several users --------------------------------------------------------------------------

case("MatMul", [normal(3, 3)], nodes=[node("MatMul", ["x0", "x0"], ["a"]), node("Add", ["a", "x0"], ["b"]), node("Mul", ["b", "x0"], ["y0"])])
case("Split", [normal(6, 2)], why="one part is not used",
     nodes=[node("Split", ["x0"], ["a", "b", "c"], axis=0, num_outputs=3), node("Mul", ["a", "c"], ["y0"])])
case("LSTM", [normal(3, 2, 2), normal(1, 8, 2), normal(1, 8, 2)], fixed=(1, 2), why="only the cell is used",
     nodes=[node("LSTM", ["x0", "x1", "x2"], ["", "", "cell"], hidden_size=2), node("Mul", ["cell", "cell"], ["y0"])], dynamic=False,
     forward=lambda x, w, r: cell(x, w, r) ** 2)


def cell(x, w, r):
    h = c = np.zeros((x.shape[1], 2))
    for row in x:
        i, o, f, g = np.split(row @ w[0].T + h @ r[0].T, 4, axis=1)
        i, o, f = (1 / (1 + np.exp(-v)) for v in (i, o, f))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
    return c[None]


for yes_is in (True, False):
    yes = graph([node("Mul", ["x1", "x1"], ["t"])], [], ["t"])
    no = graph([node("Exp", ["x1"], ["e"])], [], ["e"])
    case("If", [np.array(yes_is), normal(3)], runtime=(0,), why="x1 is used inside and outside",
         nodes=[node("If", ["x0"], ["i"], then_branch=yes, else_branch=no), node("Mul", ["i", "x1"], ["a"]), node("Add", ["a", "x1"], ["y0"])])
    yes = graph([node("Identity", ["x1"], ["t"]), node("Neg", ["x1"], ["t2"])], [], ["t", "t2"])
    no = graph([node("Exp", ["x1"], ["e"]), node("Identity", ["x1"], ["e2"])], [], ["e", "e2"])
    case("If", [np.array(yes_is), normal(3)], runtime=(0,), why="only the second output is used",
         nodes=[node("If", ["x0"], ["i", "j"], then_branch=yes, else_branch=no), node("Mul", ["j", "x1"], ["y0"])])
    inner = [graph([node(op, ["x1"], [op])], [], [op]) for op in ("Sin", "Cos")]
    yes = graph([node("If", ["x0"], ["q"], then_branch=inner[0], else_branch=inner[1]), node("Mul", ["q", "x1"], ["t"])], [], ["t"])
    case("If", [np.array(yes_is), normal(3)], runtime=(0,), why="a branch in a branch",
         nodes=[node("If", ["x0"], ["y0"], then_branch=yes, else_branch=graph([node("Exp", ["x1"], ["e"])], [], ["e"]))])
for count in (1, 3):
    body = graph([node("Identity", ["cond"], ["c"]), node("Mul", ["v", "x1"], ["m"]), node("Sin", ["m"], ["w"]), constant("one", np.int64(1)),
                  node("Add", ["k", "one"], ["k2"]), node("Cast", ["k"], ["kf"], to=TensorProto.DOUBLE), node("Mul", ["w", "kf"], ["o1"]),
                  node("Add", ["w", "v"], ["o2"])],
                 [value("i", [], TensorProto.INT64), value("cond", [], TensorProto.BOOL), value("v", [3]), value("k", [], TensorProto.INT64)],
                 [value("c", [], TensorProto.BOOL), value("w", [3]), value("k2", [], TensorProto.INT64), value("o1", [3]), value("o2", [3])])
    case("Loop", [normal(3), normal(3, seed=1), np.array(count)], runtime=(2,), dynamic=False,
         why="carries an integer, one scan output is used, x1 is used inside and outside",
         nodes=[constant("t", np.array(True)), constant("zero", np.int64(0)),
                node("Loop", ["x2", "t", "x0", "zero"], ["fin", "kk", "s1", "s2"], body=body), constant("ax", i64(0)),
                node("ReduceSum", ["s2", "ax"], ["r"], keepdims=0), node("Mul", ["r", "x1"], ["a"]), node("Add", ["a", "fin"], ["y0"])])

# ---- Sizes that only the run knows, integers between ---------------------------------------------------

case("Gather", [apart(6)], nodes=[constant("z", 0.0), node("Greater", ["x0", "z"], ["m"]), node("NonZero", ["m"], ["n"]), constant("ax", i64(0)),
                                  node("Squeeze", ["n", "ax"], ["k"]), node("Gather", ["x0", "k"], ["g"]), node("Mul", ["g", "g"], ["y0"])])
case("Gather", [normal(5), i64(3, 1, 3, 0, 1)], runtime=(1,),
     nodes=[node("Unique", ["x1"], ["u", "", "", ""]), node("Gather", ["x0", "u"], ["g"]), node("Mul", ["g", "g"], ["y0"])])
case("TopK", [apart(3, 5), i64(2)], runtime=(1,), nodes=[node("TopK", ["x0", "x1"], ["v", "i"]), node("GatherElements", ["x0", "i"], ["g"], axis=1),
                                                          node("Mul", ["v", "g"], ["y0"])])
case("Cast", [normal(4, scale=3.0)], step=1e-5, why="the integer counts as constant",
     nodes=[node("Cast", ["x0"], ["i"], to=TensorProto.INT64), node("Cast", ["i"], ["f"], to=TensorProto.DOUBLE), node("Mul", ["f", "x0"], ["y0"])])
case("Div", [normal(3, 4)], nodes=[node("Shape", ["x0"], ["s"]), node("Cast", ["s"], ["f"], to=TensorProto.DOUBLE),
                                   node("ReduceProd", ["f"], ["p"], keepdims=0), node("Div", ["x0", "p"], ["y0"])])

# ---- Ties and kinks ------------------------------------------------------------------------------------

case("Max", [np.array([1.0, 2, 3]), np.array([1.0, 2, 0])], expect=lambda i, d: [d[0] * [.5, .5, 1], d[0] * [.5, .5, 0]], why="ties share")
case("ReduceMax", [np.array([[1.0, 1, 0], [2, 2, 2]]), i64(1)], keepdims=0, why="ties share",
     expect=lambda i, d: [d[0][:, None] * [[.5, .5, 0], [1 / 3, 1 / 3, 1 / 3]]])
case("MaxPool", [np.array([[[1.0, 1, 0, 2]]])], kernel_shape=[2], strides=[2], why="the first of equal ones",
     expect=lambda i, d: [np.array([[[d[0][0, 0, 0], 0, 0, d[0][0, 0, 1]]]])])
case("MaxRoiPool", [np.array([[[[1.0, 1], [0, 1]]]]), np.array([[0.0, 0, 0, 1, 1]])], pooled_shape=[1, 1], wrt=(0,), why="ties share",
     forward=lambda x, r: x.max(axis=(2, 3), keepdims=True), expect=lambda i, d: [d[0] * np.array([[[[1.0, 1], [0, 1]]]]) / 3])
for op, at in (("Relu", [0, 0, 1, 0]), ("Abs", [0, 0, 1, -1])):
    case(op, [np.array([0.0, -0.0, 1, -1])], expect=lambda i, d, at=at: [d[0] * at], why="kinks")
case("Clip", [np.array([0.0, 1, 2]), np.array(0.0), np.array(1.0)], why="bounds",
     expect=lambda i, d: [d[0] * [1, 1, 0], np.array(0.0), np.array(d[0][2])])
case("ReduceL2", [np.zeros((2, 2)), i64(1)], keepdims=0, expect=lambda i, d: [np.zeros((2, 2))], why="0 where the norm is 0")
case("Where", [np.array([-1.0, 2, 0.5]), normal(3)], second=False, why="what is not chosen is not a number",
     nodes=[constant("z", 0.0), node("Greater", ["x0", "z"], ["m"]), node("Log", ["x0"], ["l"]), node("Where", ["m", "l", "x1"], ["y0"])])

# ---- Equations -----------------------------------------------------------------------------------------

for equation, *shapes in (("ij,ij->", (2, 3), (2, 3)), ("i,j,k->", (2,), (3,), (4,)), ("b...,b...->...", (2, 3, 4), (2, 3, 4)),
                          ("...ij->...ji", (2, 3, 4)), ("ii,ii->i", (3, 3), (3, 3)), ("ab,bc,cd,de->ae", (2, 3), (3, 2), (2, 4), (4, 2)),
                          ("...a,...b->...ab", (3, 2), (3,)), ("a,b->", (0,), (3,)), ("iij,ki->jk", (2, 2, 3), (4, 2))):
    case("Einsum", [normal(*s, seed=i) for i, s in enumerate(shapes)], equation=equation)
for equation, *shapes in (("ij,j->i", (2, 1), (3,)), ("ij,jk->ik", (2, 3), (1, 4)), ("...,...->...", (1, 3), (2, 1))):
    case("Einsum", [normal(*s, seed=i) for i, s in enumerate(shapes)], equation=equation, dynamic=False, why="a size of 1 is broadcast")
