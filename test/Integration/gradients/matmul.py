"""Matrix products."""
import numpy as np

from cases import case, normal


def other(*shape):
    return normal(*shape, seed=1)


for a, b in (((4,), (4,)), ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
             ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((1, 3, 4), (2, 4, 5)),
             ((0, 4), (4, 5)), ((3, 0), (0, 2)), ((2, 0, 3), (3, 2)), ((1, 1), (1, 1)), ((7, 13), (13, 9))):
    case("MatMul", [normal(*a), other(*b)])

for trans_a in (0, 1):
    for trans_b in (0, 1):
        a, b = (4, 3) if trans_a else (3, 4), (5, 4) if trans_b else (4, 5)
        for c in (None, (5,), (3, 1), (), (3, 5)):
            case("Gemm", [normal(*a), other(*b), None if c is None else normal(*c, seed=2)], transA=trans_a, transB=trans_b,
                 alpha=0.5, beta=2.0)
        for batch_a, batch_b in (((), ()), ((2,), (2,)), ((2, 1), (3,)), ((1,), (2,)), ((0,), (1,))):
            def forward(x, y, trans_a=trans_a, trans_b=trans_b):
                x = np.swapaxes(x, -1, -2) if trans_a else x
                y = np.swapaxes(y, -1, -2) if trans_b else y
                return 0.5 * (x @ y)
            case("FusedMatMul", [normal(*batch_a, *a), other(*batch_b, *b)], domain="com.microsoft", forward=forward,
                 transA=trans_a, transB=trans_b, alpha=0.5, why="not in the reference")
case("Gemm", [np.zeros((0, 3)), normal(3, 2)])

for equation, *shapes in (("ij,jk->ik", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
                          ("ij->", (2, 3)), ("...ij,...jk->...ik", (2, 2, 3), (1, 3, 4)), ("i,j->ij", (2,), (3,)),
                          ("bij,bjk,bkl->bil", (2, 2, 3), (2, 3, 2), (2, 2, 2)), ("bij->bj", (2, 3, 4)), ("i,i", (4,), (4,)),
                          ("ij,kj->k", (2, 3), (4, 3)), ("iij->j", (2, 2, 3)), ("...->...", (2, 3)), ("ij,jk", (0, 3), (3, 2)),
                          ("aba,b->b", (2, 3, 2), (3,)), ("...i->...", (2, 3, 4))):
    case("Einsum", [normal(*s, seed=i) for i, s in enumerate(shapes)], equation=equation)

for shape in ((1, 1), (2, 2), (3, 3), (2, 4, 4), (2, 1, 3, 3), (0, 2, 2)):
    case("Det", [normal(*shape)], dynamic=False, why="")
case("Det", [np.array([[1.0, 2.0], [2.0, 4.0]])], dynamic=False)
case("Det", [np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])], dynamic=False)
