"""Pointwise arithmetic, functions and selections."""
import functools
import math

import numpy as np

from cases import apart, case, i64, normal, uniform

# ---- Two operands that broadcast -----------------------------------------------------------------------

SHAPES = (((), ()), ((3,), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((5, 7), ()), ((1, 1), (3, 5)), ((1,), (2, 3, 1)))


def binary(op, make_a, make_b, **keywords):
    for a, b in SHAPES:
        case(op, [make_a(*a), make_b(*b)], **keywords)


def other(*shape):
    return normal(*shape, seed=1)


def positive(*shape):
    return uniform(0.2, 3.0, *shape)


def off_zero(*shape):
    return apart(*shape, away=(0.0,))


binary("Add", normal, other)
binary("Sub", normal, other)
binary("Mul", normal, other)
binary("Div", normal, positive)
binary("Pow", positive, other)
# Quotients stay away from the integers, where Mod jumps.
for fmod, remainder in ((0, np.mod), (1, np.fmod)):
    for a, b in ((np.array([[5.3, -4.6, 0.7], [9.1, -7.7, 3.2]]), np.array([1.5, 2.0, -2.6])), (np.array(5.3), np.array(2.0)),
                 (np.array([[5.3], [-4.6]]), np.array([[2.0, -1.3]])), (np.zeros((0, 2)), np.array([1.0, 2.0]))):
        case("Mod", [a, b], fmod=fmod, forward=remainder, second=False, why="the reference takes fmod = 0 for 1")
case("Mod", [np.array([7.25]), np.array([3.0, 2.0, -4.0])], fmod=1)
# An integer exponent, a negative base, zeros.
case("Pow", [normal(2, 3), i64(2, 3, 1)])
case("Pow", [normal(5), np.array(2.0)], wrt=(0,))
case("Pow", [np.array([-1.5, 2.0]), np.array([3.0, -2.0])], wrt=(0,))
case("Pow", [np.array([0.0, 0.0, 0.0, 2.0]), np.array([2.0, 1.0, 0.0, 0.0])], second=False,
     expect=lambda x, w: [w[0] * np.array([0.0, 1.0, 0.0, 0.0]), w[0] * np.array([0.0, 0.0, 0.0, np.log(2.0)])],
     why="0 ^ 0 = 1 is constant in the base; 0 ^ y is constant where y >= 0")

# ---- Any number of operands ----------------------------------------------------------------------------


def parts(*shapes):
    """Values of which no two are equal, for operands that broadcast against each other."""
    all_values = apart(sum(int(np.prod(s)) for s in shapes))
    cuts = np.cumsum([int(np.prod(s)) for s in shapes])[:-1]
    return [v.reshape(s) for v, s in zip(np.split(all_values, cuts), shapes)]


def max_of(*x):
    return functools.reduce(np.maximum, x)


def min_of(*x):
    return functools.reduce(np.minimum, x)


def sum_of(*x):
    return functools.reduce(np.add, x)


def mean_of(*x):
    return sum_of(*x) / len(x)


for op in ("Max", "Min", "Sum", "Mean"):
    case(op, parts((3,)))
    case(op, parts((), ()))
    case(op, parts((2, 3), (3,)))
    case(op, parts((2, 1), (1, 4), ()), forward={"Max": max_of, "Min": min_of, "Sum": sum_of, "Mean": mean_of}[op],
         why="the reference does not broadcast all together")
    case(op, parts((0, 2), (2,), (1, 1)))
    case(op, parts((5, 7), (1,), (7,)))
for op in ("Max", "Min"):
    x, y, z = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 3.0]), np.array(3.0)
    extremum = {"Max": np.maximum, "Min": np.minimum}[op]

    def share(inputs, w, extremum=extremum):
        best = extremum(extremum(inputs[0], inputs[1]), inputs[2])
        masks = [np.broadcast_to(v == best, best.shape) for v in inputs]
        pieces = [w[0] * m / sum(m.astype(float) for m in masks) for m in masks]
        return [pieces[0], pieces[1], pieces[2].sum()]

    case(op, [x, y, z], expect=share, why="ties share evenly")

# ---- Clip ----------------------------------------------------------------------------------------------

LOW, HIGH = np.array(-0.55), np.array(0.85)
for shape in ((), (7,), (3, 5), (0, 2), (2, 1, 3)):
    case("Clip", [apart(*shape, away=(-0.55, 0.85)), LOW, HIGH])
case("Clip", [apart(6, away=(-0.55,)), LOW, None])
case("Clip", [apart(6, away=(0.85,)), None, HIGH])
case("Clip", [apart(6), None, None])
case("Clip", [apart(5, away=(-0.55, 0.85)), HIGH, LOW], why="max wins where min > max")
case("Clip", [np.array([-0.5, 0.0, 0.5]), np.array(-0.5), np.array(0.5)],
     expect=lambda x, w: [w[0], np.array(0.0), np.array(0.0)], why="at a bound the gradient is that of x")

# ---- One operand ---------------------------------------------------------------------------------------

UNARY_SHAPES = ((), (3,), (2, 3), (0, 4), (1, 1, 5), (3, 1, 2, 3))


def unary(op, make, **keywords):
    for shape in UNARY_SHAPES:
        case(op, [make(*shape)], **keywords)


def inside(*shape):
    return uniform(-0.9, 0.9, *shape)


unary("Neg", normal)
unary("Abs", off_zero)
case("Abs", [np.array([0.0, 1.0, -1.0])], expect=lambda x, w: [w[0] * np.sign(x[0])], why="0 at the kink")
unary("Reciprocal", positive)
unary("Sqrt", positive)
unary("Exp", normal)
unary("Log", positive)
unary("Erf", normal, forward=np.vectorize(math.erf, otypes=[float]), why="the reference is in single precision")
unary("Sin", normal)
unary("Cos", normal)
unary("Tan", inside)
unary("Asin", inside)
unary("Acos", inside)
unary("Atan", normal)
unary("Sinh", normal)
unary("Cosh", normal)
unary("Tanh", normal)
unary("Asinh", normal)
unary("Acosh", lambda *shape: uniform(1.2, 4.0, *shape))
unary("Atanh", inside)
unary("Identity", normal)
for op in ("Round", "Sign"):
    unary(op, off_zero, expect=lambda x, w: [w[0]], why="straight through")
for op in ("Floor", "Ceil"):
    unary(op, off_zero, wrt=(0,), nodes=None, expect=lambda x, w: [np.zeros_like(x[0])], why="constant between its jumps")

# ---- Types ---------------------------------------------------------------------------------------------

for shape in UNARY_SHAPES:
    case("Cast", [normal(*shape)], to=11)
    case("CastLike", [normal(*shape), normal(1, seed=3)], wrt=(0,))

# ---- Where ---------------------------------------------------------------------------------------------

for c, a, b in (((), (), ()), ((3,), (3,), (3,)), ((2, 1), (1, 3), ()), ((0, 2), (2,), (1,)), ((4,), (), (3, 1)),
                ((5, 7), (7,), (5, 1))):
    condition = np.asarray(uniform(0, 1, *c) > 0.5)
    case("Where", [condition, normal(*a), other(*b)])
    case("Where", [condition, normal(*a), other(*b)], runtime=(0,))
