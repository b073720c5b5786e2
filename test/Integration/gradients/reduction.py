"""Reductions and scans."""
import numpy as np

from cases import apart, case, i64, normal, uniform


def positive(*shape):
    return uniform(0.3, 2.0, *shape)


CONFIGURATIONS = (
    ((), None, {}),
    ((5,), [0], {}),
    ((2, 3, 4), [1], {"keepdims": 0}),
    ((2, 3, 4), [0, -1], {"keepdims": 1}),
    ((2, 3, 4), None, {"keepdims": 0}),
    ((3, 1, 2), [2, 0], {"keepdims": 0}),
    ((2, 0, 3), [0], {"keepdims": 0}),
    ((2, 3), None, {"noop_with_empty_axes": 1}),
    ((2, 3), [], {"noop_with_empty_axes": 1, "keepdims": 0}),
    ((7, 5), [1], {}),
)

for op, make in (("ReduceSum", normal), ("ReduceMean", normal), ("ReduceMax", apart), ("ReduceMin", apart),
                 ("ReduceProd", normal), ("ReduceL1", lambda *s: apart(*s, away=(0.0,))), ("ReduceL2", normal),
                 ("ReduceLogSum", positive), ("ReduceLogSumExp", normal), ("ReduceSumSquare", normal)):
    for shape, axes, attributes in CONFIGURATIONS:
        empty_axes = axes == [] or (axes is None and attributes.get("noop_with_empty_axes"))
        forward = None
        if empty_axes:  # the reference takes it for "all"
            forward = {"ReduceL1": np.abs, "ReduceL2": np.abs, "ReduceLogSum": np.log,
                       "ReduceSumSquare": np.square}.get(op, lambda x: x)
            forward = (lambda f: lambda x, axes=None: f(x))(forward)
        if shape == () and op == "ReduceLogSumExp":
            forward = lambda x, axes=None: x  # noqa: E731  the reference cannot
        case(op, [make(*shape), None if axes is None else i64(*axes)], forward=forward, why="", **attributes)
    if op != "ReduceProd":
        for keepdims in (0, 1):
            case(op, [make(2, 3, 4), i64(1)], runtime=(1,), dynamic=False, keepdims=keepdims)

# Zeros, ties.
for x in (np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]]), np.zeros((2, 2))):
    case("ReduceProd", [x, i64(1)], keepdims=0)
case("ReduceProd", [np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 5.0]]), None])
for op, best in (("ReduceMax", 3.0), ("ReduceMin", 1.0)):
    case(op, [np.array([[3.0, 1.0, 3.0, 1.0, 1.0], [1.0, 1.0, 1.0, 3.0, 3.0]]), i64(1)], keepdims=0,
         expect=lambda x, w, best=best: [np.where(x[0] == best, w[0][:, None] / (x[0] == best).sum(1, keepdims=True), 0.0)],
         why="ties share evenly")
case("ReduceL2", [np.array([[0.0, 0.0], [3.0, 4.0]]), i64(1)], keepdims=0, why="0 where the norm is 0",
     expect=lambda x, w: [np.array([[0.0, 0.0], [0.6, 0.8]]) * w[0][:, None]])
case("ReduceL1", [np.array([0.0, -2.0, 3.0]), None], keepdims=0, why="0 at the kink",
     expect=lambda x, w: [np.sign(x[0]) * w[0]])
case("ReduceLogSumExp", [np.array([1000.0, 1000.0, -1000.0]), None], keepdims=0, why="no overflow",
     expect=lambda x, w: [np.array([0.5, 0.5, 0.0]) * w[0]])

for exclusive in (0, 1):
    for reverse in (0, 1):
        for op in ("CumSum", "CumProd"):
            for shape, axis in (((4,), 0), ((2, 3, 5), -2), ((3, 1), 1), ((0, 2), 0), ((2, 4), -1)):
                def forward(x, axis, op=op, exclusive=exclusive, reverse=reverse):
                    x = np.flip(x, axis) if reverse else x
                    y = (np.cumsum if op == "CumSum" else np.cumprod)(x, axis)
                    if exclusive and x.shape[axis]:
                        first = np.full_like(np.take(y, [0], axis), 0.0 if op == "CumSum" else 1.0)
                        y = np.concatenate([first, np.delete(y, -1, axis)], axis)
                    return np.flip(y, axis) if reverse else y
                case(op, [normal(*shape), np.array(axis, np.int64)], exclusive=exclusive, reverse=reverse, forward=forward, opset=26,
                     why="the reference lacks CumProd")
case("CumProd", [np.array([2.0, 0.0, 3.0, 0.0, 5.0]), np.array(0, np.int64)], forward=lambda x, a: np.cumprod(x), opset=26,
     why="exact at zeros")
