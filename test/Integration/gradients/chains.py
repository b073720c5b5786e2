"""Several nodes whose gradients meet: published failures of other systems."""
import numpy as np
from onnx import helper

from cases import case, normal


def upsample(n, mode):
    """The matrix of Resize from n elements to 2n."""
    at = np.clip((np.arange(2 * n) + 0.5) / 2 - 0.5, 0, n - 1)
    low = np.floor(at).astype(int) if mode == "linear" else np.arange(2 * n) // 2
    part = at - low if mode == "linear" else np.zeros(2 * n)
    matrix = np.zeros((2 * n, n))
    for row, (first, weight) in enumerate(zip(low, part)):
        matrix[row, first] += 1 - weight
        matrix[row, min(first + 1, n - 1)] += weight
    return matrix


def convolve_and_resize(mode):
    def forward(x, w, scales):
        rows, columns = x.shape[2] - 1, x.shape[3] - 1
        y = sum(np.einsum("nchw,kc->nkhw", x[:, :, i:i + rows, j:j + columns], w[:, :, i, j])
                for i in range(2) for j in range(2))
        return np.einsum("ah,nkhw,bw->nkab", upsample(rows, mode), y, upsample(columns, mode))
    return forward


# pytorch#100794: the gradient of a convolution in front of an interpolation.
for mode in ("nearest", "linear"):
    case("Conv", [normal(2, 3, 4, 5), normal(4, 3, 2, 2), np.array([1, 1, 2, 2], np.float32)],
         nodes=[helper.make_node("Conv", ["x0", "x1"], ["c"], name="conv", kernel_shape=[2, 2]),
                helper.make_node("Resize", ["c", "", "x2"], ["y0"], name="resize", mode=mode)],
         forward=convolve_and_resize(mode), second=False, why="Resize of the reference is single precision")

# onnxruntime#9375: a function, inlined before anything is differentiated.
case("HardSwish", [normal(3, 4, scale=5.0, shift=0.3)],
     nodes=[helper.make_node("HardSwish", ["x0"], ["t"], name="swish"), helper.make_node("Mul", ["t", "x0"], ["y0"], name="mul")],
     forward=lambda x: x * x * np.clip(x / 6 + 0.5, 0, 1), second=False, why="single precision", rtol=1e-6)
