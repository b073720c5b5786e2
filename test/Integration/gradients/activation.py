"""Activations, away from their kinks and on them."""
import math

import numpy as np
from onnx import helper

from cases import apart, case, normal, uniform

SHAPES = ((), (3,), (4, 5), (0, 4), (1, 1, 7), (3, 1, 2, 3))


def kinks(*places):
    """Values on all pieces of an activation, off the places where they meet."""
    return lambda *shape: apart(*shape, low=-4.0, gap=0.13 if np.prod(shape) > 12 else 1.1, away=places)


def activation(op, make, at=(), **attributes):
    """`at`: pairs of a kink and the derivative there."""
    for shape in SHAPES:
        case(op, [make(*shape)], **attributes)
    if at:
        x, slope = np.array([a[0] for a in at]), np.array([a[1] for a in at])
        case(op, [x], expect=lambda inputs, w: [w[0] * slope], why="on the kink", **attributes)


activation("Relu", kinks(0.0), [(0.0, 0.0)])
activation("LeakyRelu", kinks(0.0), [(0.0, 1.0)])
activation("LeakyRelu", kinks(0.0), alpha=0.25)
activation("ThresholdedRelu", kinks(1.0), [(1.0, 0.0)])
activation("ThresholdedRelu", kinks(-0.5), alpha=-0.5)
activation("Elu", kinks(0.0), [(0.0, 1.0)])
activation("Elu", kinks(0.0), [(0.0, 2.0)], alpha=2.0)
for shape in SHAPES:  # ONNX has Celu in single precision only
    case("Celu", [kinks(0.0)(*shape)], rtol=1e-5, forward=lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0.0) / 0.5)),
         nodes=[helper.make_node("Cast", ["x0"], ["single"], to=1), helper.make_node("Celu", ["single"], ["y"], name="Celu", alpha=0.5),
                helper.make_node("Cast", ["y"], ["y0"], to=11)])
activation("Selu", kinks(0.0))
activation("Selu", kinks(0.0), alpha=1.5, gamma=0.75)
activation("HardSigmoid", kinks(-2.5, 2.5), [(-2.5, 0.0), (2.5, 0.0)])
activation("HardSigmoid", kinks(-1.5, 0.5), alpha=0.5, beta=0.75)
activation("HardSwish", kinks(-3.0, 3.0), [(-3.0, 0.0), (3.0, 1.0)])
activation("Shrink", kinks(-0.5, 0.5), [(0.5, 0.0), (-0.5, 0.0)])
activation("Shrink", kinks(-1.5, 1.5), lambd=1.5, bias=0.5)
activation("Sigmoid", normal)
def gelu(x):
    return 0.5 * x * (1.0 + np.vectorize(math.erf, otypes=[float])(x * math.sqrt(0.5)))


for shape in SHAPES:
    case("Gelu", [normal(*shape)], forward=gelu, why="the reference is in single precision")
activation("Gelu", normal, approximate="tanh")
activation("Swish", normal)
activation("Swish", normal, alpha=0.5)
activation("Mish", normal)
activation("Softplus", normal)
for shape in SHAPES:
    case("Softsign", [kinks(0.0)(*shape)], forward=lambda x: x / (1.0 + np.abs(x)), why="the reference takes no scalar")
for op, far in (("Sigmoid", 0.0), ("Softplus", 1.0), ("Swish", 1.0), ("Mish", 1.0)):
    case(op, [np.array([-40.0, 40.0, 700.0, -700.0])], expect=lambda x, w, far=far: [w[0] * np.array([0.0, far, far, 0.0])],
         why="far out the derivative is 0 or 1, never NaN")

for x, slope in (((), ()), ((3,), (3,)), ((2, 3, 4), (3, 1)), ((0, 2), (2,)), ((5, 7), (1,)), ((2, 3), ())):
    case("PRelu", [kinks(0.0)(*x), uniform(0.1, 0.9, *slope)])
