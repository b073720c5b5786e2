"""Branches and loops, whose bodies use values of the graph around them."""
import numpy as np
from onnx import TensorProto, helper

from cases import case, i64, normal


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=op, **attributes)


def value(name, shape=None, kind=TensorProto.DOUBLE):
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, [o if hasattr(o, "name") else value(o) for o in outputs])


# ---- If ------------------------------------------------------------------------------------------------

for condition in (True, False):
    for shapes in (((), ()), ((3,), (3,)), ((2, 3), (3,)), ((0, 2), (2,)), ((5, 1), (1, 7))):
        yes = graph([node("Mul", ["x1", "x2"], ["p"]), node("Tanh", ["p"], ["t"])], [], ["t"])
        no = graph([node("Add", ["x1", "x2"], ["q"]), node("Exp", ["q"], ["e"])], [], ["e"])
        case("If", [np.array(condition), normal(*shapes[0]), normal(*shapes[1], seed=1)], runtime=(0,),
             nodes=[node("If", ["x0"], ["y0"], then_branch=yes, else_branch=no)])
yes = graph([node("Identity", ["x1"], ["t"])], [], ["t"])
no = graph([node("Neg", ["x2"], ["e"])], [], ["e"])
case("If", [np.array(True), normal(4), normal(4, seed=1)], runtime=(0,), why="one branch does not use x2",
     nodes=[node("If", ["x0"], ["y0"], then_branch=yes, else_branch=no)])

# ---- Scan ----------------------------------------------------------------------------------------------

for directions in ([0], [1]):
    for length, width in ((1, 1), (4, 3), (3, 1), (5, 7)):
        # s' = tanh(s * w + x), output s' * s
        body = graph([node("Mul", ["s", "x2"], ["m"]), node("Add", ["m", "x"], ["a"]), node("Tanh", ["a"], ["n"]),
                      node("Mul", ["n", "s"], ["o"])], [value("s", [width]), value("x", [width])], ["n", "o"])

        def forward(s, xs, w, reverse=directions[0]):
            outputs = []
            for x in (xs[::-1] if reverse else xs):
                n = np.tanh(s * w + x)
                outputs.append(n * s)
                s = n
            return s, np.stack(outputs[::-1] if reverse else outputs)

        case("Scan", [normal(width), normal(length, width), normal(width, seed=1)], outputs=2, forward=forward,
             nodes=[node("Scan", ["x0", "x1"], ["y0", "y1"], num_scan_inputs=1, body=body, scan_input_directions=directions,
                         scan_output_directions=directions)], why="the reference lacks directions", dynamic=False)
body = graph([node("Exp", ["x"], ["e"]), node("Mul", ["e", "x1"], ["o"])], [value("x", [2])], ["o"])
case("Scan", [normal(2, 3), normal(2, seed=1)], forward=lambda x, w: np.exp(x) * w[:, None], dynamic=False,
     nodes=[node("Scan", ["x0"], ["y0"], num_scan_inputs=1, body=body, scan_input_axes=[1], scan_output_axes=[1])],
     why="the reference lacks axes")

# ---- Loop ----------------------------------------------------------------------------------------------


def loop_body(width, condition):
    """v' = sin(v * w) + i, output v * v'; `condition` computes whether to go on from n."""
    return graph([node("Mul", ["v", "x2"], ["m"]), node("Sin", ["m"], ["s"]), node("Cast", ["i"], ["f"], to=TensorProto.DOUBLE),
                  node("Add", ["s", "f"], ["n"]), node("Mul", ["v", "n"], ["o"]), *condition],
                 [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", [width])],
                 [value("c2", [], TensorProto.BOOL), "n", "o"])


def run_loop(count, v, w, goes_on):
    outputs, i = [], 0
    while i < count:
        n = np.sin(v * w) + i
        outputs.append(v * n)
        v, i = n, i + 1
        if not goes_on(i):
            break
    return v, np.stack(outputs)


for count, width in ((1, 1), (3, 4), (5, 1), (2, 7)):
    counted = [node("Identity", ["c"], ["c2"])]
    case("Loop", [i64(count).reshape(()), normal(width), normal(width, seed=1)], outputs=2, runtime=(), dynamic=False,
         nodes=[node("Loop", ["x0", "", "x1"], ["y0", "y1"], body=loop_body(width, counted))],
         forward=lambda m, v, w: run_loop(int(m), v, w, lambda i: True), why="")
    case("Loop", [i64(count).reshape(()), normal(width), normal(width, seed=1)], outputs=2, runtime=(0,), dynamic=False,
         nodes=[node("Loop", ["x0", "", "x1"], ["y0", "y1"], body=loop_body(width, counted))],
         forward=lambda m, v, w: run_loop(int(m), v, w, lambda i: True), why="the run tells how often")
    ended = [node("Less", ["i", "x3"], ["c2"])]
    case("Loop", [i64(9).reshape(()), normal(width), normal(width, seed=1), i64(count).reshape(())], outputs=2, runtime=(3,),
         dynamic=False, nodes=[node("Loop", ["x0", "", "x1"], ["y0", "y1"], body=loop_body(width, ended))],
         forward=lambda m, v, w, k: run_loop(int(m), v, w, lambda i: i - 1 < int(k)), why="a condition ends it")
