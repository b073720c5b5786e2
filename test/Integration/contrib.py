#!/usr/bin/env python3
"""Run the operators of com.microsoft that exporters and quantizers write, against onnxruntime.

usage: contrib.py [--build DIR] [--filter RE] [--jobs N] [-- FLAG...]

Each case is a model of one node. It is compiled as it is and, unless the case says that sizes must be known, with every
dimension of its inputs symbolic. Weights are constants of the model.
"""
import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "utils"))
import harness  # noqa: E402

RNG = np.random.default_rng(11)


@dataclasses.dataclass
class Case:
    """One node: its inputs (None: left out), which of them are weights, and how many outputs it has."""
    name: str
    op: str
    inputs: list
    weights: set
    outputs: int
    attributes: dict
    domain: str = "com.microsoft"
    dynamic: bool = True
    tolerance: float = 1e-5
    atol: float = 0.0
    sizes: tuple = ()  # attributes that say sizes: dimensions by (input, axis) that stay known
    unwanted: tuple = ()  # outputs that are left out
    want: object = None  # computes the expected outputs from the inputs where onnxruntime is no oracle


CASES = []


def case(name, op, inputs, outputs=1, weights=(), domain="com.microsoft", dynamic=True, tolerance=1e-5, atol=0.0,
         unwanted=(), want=None, sizes=(), **attributes):
    CASES.append(Case(name, op, inputs, set(weights), outputs, attributes, domain, dynamic, tolerance, atol, sizes,
                      unwanted, want))


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def whole(low, high, *shape, dtype=np.int32):
    return RNG.integers(low, high, shape).astype(dtype)


def f32(value):
    return np.array(value, np.float32)


def u8(value):
    return np.array(value, np.uint8)


def i32(*values):
    return np.array(values, np.int32)


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(np.float32)


def attend(q, k, v):
    """Attention of (batch, sequence, heads, size), where onnxruntime has no kernel for the CPU."""
    weights = softmax(np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]))
    return [np.einsum("bhqk,bkhd->bqhd", weights, v).reshape(*q.shape[:2], -1)]


# ---- Activations and normalization ----------------------------------------------------------------------

case("gelu", "Gelu", [normal(3, 5)])
case("bias-gelu", "BiasGelu", [normal(2, 3, 8), normal(8)], weights=[1])
case("fast-gelu", "FastGelu", [normal(2, 3, 8), normal(8)], weights=[1])
case("fast-gelu-no-bias", "FastGelu", [normal(2, 8)])
case("quick-gelu", "QuickGelu", [normal(2, 8)])
case("quick-gelu-alpha", "QuickGelu", [normal(2, 8)], alpha=0.7)
case("bias-softmax", "BiasSoftmax", [normal(2, 3, 4), normal(1, 3, 4)], axis=2, is_inner_broadcast=0,
     want=lambda x, bias: [softmax(x + bias)])
case("simplified-layer-norm", "SimplifiedLayerNormalization", [normal(2, 3, 16), normal(16)], weights=[1], domain="",
     epsilon=1e-6, axis=-1)
case("skip-layer-norm", "SkipLayerNormalization", [normal(2, 3, 16), normal(2, 3, 16), normal(16), normal(16),
                                                   normal(16)], weights=[2, 3, 4], epsilon=1e-5, sizes=((0, 2),))
case("skip-layer-norm-sum", "SkipLayerNormalization", [normal(2, 3, 16), normal(2, 3, 16), normal(16), normal(16)], 4,
     weights=[2, 3], unwanted=(1, 2))
case("skip-simplified", "SkipSimplifiedLayerNormalization",
     [normal(2, 3, 16), normal(2, 3, 16), normal(16), normal(16)], 4, weights=[2, 3], unwanted=(1, 2), epsilon=1e-6)
EMBEDDINGS = [normal(20, 8), normal(10, 8), normal(2, 8), normal(8), normal(8)]
case("embed-layer-norm", "EmbedLayerNormalization",
     [whole(0, 20, 2, 5), whole(0, 2, 2, 5), *EMBEDDINGS, i32(1, 1, 1, 0, 0, 1, 1, 1, 1, 1).reshape(2, 5)], 2,
     weights=[2, 3, 4, 5, 6])
case("embed-layer-norm-distil", "EmbedLayerNormalization",
     [whole(0, 20, 2, 5), None, EMBEDDINGS[0], EMBEDDINGS[1], None, EMBEDDINGS[3], EMBEDDINGS[4]], 3,
     weights=[2, 3, 5, 6], unwanted=(1,))

# ---- Products -------------------------------------------------------------------------------------------

case("fused-matmul", "FusedMatMul", [normal(2, 4, 3), normal(2, 5, 4)], transA=1, transB=1, alpha=0.25)
case("fused-matmul-batch", "FusedMatMul", [normal(4, 2, 3), normal(2, 3, 5)], transBatchA=1)
case("fused-conv", "FusedConv", [normal(1, 3, 6, 6), normal(4, 3, 3, 3), normal(4)], weights=[1, 2], activation="Relu",
     pads=[1, 1, 1, 1], kernel_shape=[3, 3])
case("fused-conv-leaky", "FusedConv", [normal(1, 3, 6, 6), normal(4, 3, 3, 3), normal(4)], weights=[1, 2],
     activation="LeakyRelu", activation_params=[0.1])
case("fused-conv-clip", "FusedConv", [normal(1, 3, 6, 6), normal(4, 3, 3, 3), normal(4)], weights=[1, 2],
     activation="Clip", activation_params=[-0.5, 0.5])
case("fused-gemm", "FusedGemm", [normal(3, 4), normal(5, 4), normal(5)], weights=[1, 2], transB=1,
     activation="LeakyRelu", activation_alpha=0.2)


def packed(rows, depth, block, bits):
    blocks = -(-depth // block)
    return whole(0, 256, rows, blocks, block * bits // 8, dtype=np.uint8), \
        (RNG.uniform(0.01, 0.1, (rows, blocks))).astype(np.float32), blocks


def multiply_two_bits(a, packed_numbers, scales):
    """MatMulNBits of two bits without zero points, in double precision."""
    numbers = packed_numbers[..., None] >> np.array([0, 2, 4, 6], np.uint8) & 3
    weights = (numbers.reshape(*scales.shape, -1).astype(np.float64) - 2) * scales[..., None]
    return [(a @ weights.reshape(len(weights), -1).T).astype(np.float32)]


for bits in (4, 8):
    numbers, scales, blocks = packed(6, 64, 32, bits)
    case(f"matmul-{bits}-bits", "MatMulNBits", [normal(3, 64), numbers, scales], weights=[1, 2], K=64, N=6, bits=bits,
         block_size=32, atol=1e-5)
numbers, scales, blocks = packed(6, 80, 32, 4)
points = whole(0, 256, 6, (blocks + 1) // 2, dtype=np.uint8)
case("matmul-4-bits-points", "MatMulNBits", [normal(2, 3, 80), numbers, scales, points, None, normal(6)],
     weights=[1, 2, 3, 5], K=80, N=6, bits=4, block_size=32, atol=1e-5)
case("matmul-4-bits-real-points", "MatMulNBits",
     [normal(3, 80), numbers, scales, RNG.uniform(4, 9, (6, blocks)).astype(np.float32)],
     weights=[1, 2, 3], K=80, N=6, bits=4, block_size=32, atol=1e-5)
# Few rows and many, whole tiles and not, reductions that are cut into stretches; rows 0.
for m, k, n, block in [(1, 64, 1, 16), (1, 1568, 10, 32), (4, 96, 77, 32), (5, 128, 130, 64), (37, 1024, 40, 128),
                       (200, 32, 96, 32), (180, 1056, 33, 32), (0, 64, 5, 32)]:
    numbers, scales, blocks = packed(n, k, block, 4)
    points = whole(0, 256, n, (blocks + 1) // 2, dtype=np.uint8)
    case(f"matmul-4-bits-{m}x{k}x{n}", "MatMulNBits", [normal(m, k), numbers, scales, points, None, normal(n)],
         weights=[1, 2, 3, 5], K=k, N=n, bits=4, block_size=block, atol=2e-4)
    case(f"matmul-2-bits-{m}x{k}x{n}", "MatMulNBits", [normal(m, k), packed(n, k, block, 2)[0], scales],
         weights=[1, 2], K=k, N=n, bits=2, block_size=block, atol=2e-4,
         want=multiply_two_bits)

# ---- Attention ------------------------------------------------------------------------------------------

HIDDEN, HEADS = 16, 2
ATTENTION = [normal(2, 5, HIDDEN), normal(HIDDEN, 3 * HIDDEN), normal(3 * HIDDEN)]
case("attention", "Attention", ATTENTION, weights=[1, 2], num_heads=HEADS)
case("attention-scale", "Attention", ATTENTION, weights=[1, 2], num_heads=HEADS, scale=0.1)
case("attention-lengths", "Attention", [*ATTENTION, i32(5, 3)], weights=[1, 2], num_heads=HEADS)
case("attention-ends-starts", "Attention", [*ATTENTION, i32(5, 4, 0, 1)], weights=[1, 2], num_heads=HEADS,
     dynamic=False)
case("attention-flags", "Attention", [*ATTENTION, i32(1, 1, 1, 1, 1, 1, 1, 0, 0, 0).reshape(2, 5)], weights=[1, 2],
     num_heads=HEADS)
case("attention-flags-3d", "Attention", [*ATTENTION, np.tril(np.ones((2, 5, 5), np.int32))], weights=[1, 2],
     num_heads=HEADS)
case("attention-causal", "Attention", ATTENTION, weights=[1, 2], num_heads=HEADS, unidirectional=1)
case("attention-past", "Attention", [*ATTENTION, None, normal(2, 2, HEADS, 3, 8)], 2, weights=[1, 2],
     num_heads=HEADS, unidirectional=1)
case("attention-past-flags", "Attention", [*ATTENTION, np.ones((2, 8), np.int32), normal(2, 2, HEADS, 3, 8)], 2,
     weights=[1, 2], num_heads=HEADS)
case("attention-bias", "Attention", [*ATTENTION, None, None, normal(2, HEADS, 5, 5)], weights=[1, 2], num_heads=HEADS)
case("attention-widths", "Attention", [normal(2, 5, HIDDEN), normal(HIDDEN, 40), normal(40)], weights=[1, 2],
     num_heads=HEADS, qkv_hidden_sizes=[16, 16, 8])

QKV = [normal(2, 4, HIDDEN), normal(2, 6, HIDDEN), normal(2, 6, HIDDEN)]
WIDTHS = ((0, 2), (1, 2), (2, 2))
case("mha", "MultiHeadAttention", QKV, num_heads=HEADS, sizes=WIDTHS)
case("mha-bias", "MultiHeadAttention", [*QKV, normal(3 * HIDDEN)], weights=[3], num_heads=HEADS, sizes=WIDTHS)
case("mha-padding", "MultiHeadAttention", [*QKV, None, i32(1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0).reshape(2, 6)],
     num_heads=HEADS, sizes=WIDTHS)
case("mha-lengths", "MultiHeadAttention", [*QKV, None, i32(6, 2)], num_heads=HEADS, sizes=WIDTHS)
case("mha-attention-bias", "MultiHeadAttention", [*QKV, None, None, normal(1, HEADS, 4, 6)], num_heads=HEADS,
     sizes=WIDTHS)
case("mha-causal", "MultiHeadAttention", [normal(2, 4, HIDDEN)] * 3, num_heads=HEADS, unidirectional=1, sizes=WIDTHS)
case("mha-packed", "MultiHeadAttention", [normal(2, 4, HEADS, 3, 8)], num_heads=HEADS, sizes=((0, 2), (0, 3), (0, 4)),
     want=lambda x: attend(x[:, :, :, 0], x[:, :, :, 1], x[:, :, :, 2]))
case("mha-packed-kv", "MultiHeadAttention", [normal(2, 4, HIDDEN), normal(2, 6, HEADS, 2, 8)], num_heads=HEADS,
     sizes=((0, 2), (1, 2), (1, 3), (1, 4)),
     want=lambda q, kv: attend(q.reshape(2, 4, HEADS, 8), kv[:, :, :, 0], kv[:, :, :, 1]))
case("mha-by-head", "MultiHeadAttention", [normal(2, 4, HIDDEN), normal(2, HEADS, 6, 8), normal(2, HEADS, 6, 8)],
     num_heads=HEADS, sizes=((0, 2), (1, 1), (1, 3), (2, 1), (2, 3)))
case("mha-past", "MultiHeadAttention", [normal(2, 1, HIDDEN), normal(2, 1, HIDDEN), normal(2, 1, HIDDEN), None, None,
                                        None, normal(2, HEADS, 3, 8), normal(2, HEADS, 3, 8)], 3, num_heads=HEADS,
     sizes=WIDTHS + ((6, 1), (6, 3), (7, 1), (7, 3)))

ANGLES = np.outer(np.arange(12), 1 / 100 ** (np.arange(8) / 8))
COS, SIN = np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)
case("rotary", "RotaryEmbedding", [normal(2, 3, HIDDEN), whole(0, 12, 2, 3, dtype=np.int64), COS[:, :4], SIN[:, :4]],
     weights=[2, 3], sizes=((0, 2),))
case("rotary-offset", "RotaryEmbedding", [normal(2, 3, HIDDEN), np.array([4]), COS[:, :4], SIN[:, :4]], weights=[2, 3],
     num_heads=0, interleaved=1, sizes=((0, 2), (1, 0)))
case("rotary-4d", "RotaryEmbedding", [normal(2, HEADS, 3, 8), np.array([2]), COS[:, :4], SIN[:, :4]], weights=[2, 3],
     sizes=((0, 1), (0, 3), (1, 0)))


def group_query(name, batch, length, buffer, lengths, total, packed=False, **attributes):
    size, kv = 16, 2
    q, k, v = normal(batch, length, 4 * size), normal(batch, length, kv * size), normal(batch, length, kv * size)
    past = [normal(batch, kv, buffer, size), normal(batch, kv, buffer, size)] if buffer is not None else [None, None]
    inputs = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
    inputs += [*past, i32(*lengths), np.array(total, np.int32)]
    if attributes.get("do_rotary"):
        inputs += [COS, SIN]
    known = ((0, 2), (1, 2), (2, 2), (3, 1), (3, 3), (4, 1), (4, 3))
    case(f"gqa-{name}", "GroupQueryAttention", inputs, 3, weights=[7, 8], num_heads=4, kv_num_heads=2, sizes=known,
         **attributes)


group_query("prompt", 2, 5, 0, (4, 4), 5)
group_query("prompt-rotary", 2, 5, 0, (4, 4), 5, do_rotary=1)
group_query("step", 2, 1, 6, (6, 6), 7)
group_query("step-packed", 1, 1, 6, (6,), 7, packed=True)
group_query("step-rotary", 2, 1, 6, (6, 6), 7, do_rotary=1, rotary_interleaved=1)
group_query("step-ragged", 2, 1, 6, (3, 6), 7)
group_query("window", 1, 6, 0, (5,), 6, local_window_size=3)
group_query("softcap", 1, 6, 0, (5,), 6, softcap=2.0, scale=0.5)

# ---- Quantized ------------------------------------------------------------------------------------------

A8, B8 = whole(0, 256, 3, 5, dtype=np.uint8), whole(0, 256, 3, 5, dtype=np.uint8)
PARAMETERS = {0: (f32(0.02), u8(120)), 1: (f32(0.03), u8(100)), 2: (f32(0.05), u8(128))}
for op in ("QLinearAdd", "QLinearMul"):
    case(op.lower(), op, [A8, *PARAMETERS[0], B8, *PARAMETERS[1], *PARAMETERS[2]], weights=[1, 2, 4, 5, 6, 7], atol=1)
case("qlinearsigmoid", "QLinearSigmoid", [A8, *PARAMETERS[0], f32(1 / 256), u8(0)], weights=[1, 2, 3, 4], atol=1)
case("qlinearleakyrelu", "QLinearLeakyRelu", [A8, *PARAMETERS[0], *PARAMETERS[1]], weights=[1, 2, 3, 4], alpha=0.1,
     atol=1)
case("qlinearsoftmax", "QLinearSoftmax", [A8, *PARAMETERS[0], f32(1 / 256), u8(0)], weights=[1, 2, 3, 4], axis=-1,
     opset=13, atol=1)
X8 = whole(0, 256, 1, 3, 6, 6, dtype=np.uint8)
case("qlinearaveragepool", "QLinearAveragePool", [X8, *PARAMETERS[0], *PARAMETERS[1]], weights=[1, 2, 3, 4],
     kernel_shape=[2, 2], strides=[2, 2], atol=1)
case("qlinearglobalaveragepool", "QLinearGlobalAveragePool", [X8, *PARAMETERS[0], *PARAMETERS[1]], weights=[1, 2, 3, 4],
     atol=1)
case("qlinearglobalaveragepool-last", "QLinearGlobalAveragePool", [X8, *PARAMETERS[0], *PARAMETERS[1]],
     weights=[1, 2, 3, 4], channels_last=1, atol=1)
case("qlinearconcat", "QLinearConcat", [*PARAMETERS[2], A8, *PARAMETERS[0], B8, *PARAMETERS[1]],
     weights=[0, 1, 3, 4, 6, 7], axis=1, atol=1)
case("qlinearwhere", "QLinearWhere", [RNG.random((3, 5)) > 0.5, A8, *PARAMETERS[0], B8, *PARAMETERS[1], *PARAMETERS[2]],
     weights=[2, 3, 5, 6, 7, 8], atol=1)
W8 = whole(-60, 60, 5, 4, dtype=np.int8)
case("matmulintegertofloat", "MatMulIntegerToFloat",
     [A8, W8, f32(0.02), np.abs(normal(4)), u8(120), np.zeros(4, np.int8), normal(4)], weights=[1, 3, 5, 6])
case("dynamicquantizematmul", "DynamicQuantizeMatMul", [normal(3, 5), W8, f32(0.01), np.array(3, np.int8), normal(4)],
     weights=[1, 2, 3, 4])
# onnxruntime rounds inputs and states to bytes on the way, which this only approximates.
for kind, shape in (("tensor", (2,)), ("column", (2, 16))):
    case(f"dynamicquantizelstm-{kind}", "DynamicQuantizeLSTM",
         [normal(5, 3, 6), whole(-60, 60, 2, 6, 16, dtype=np.int8), whole(-60, 60, 2, 4, 16, dtype=np.int8), 0.1 * normal(2, 32),
          None, normal(2, 3, 4), None, None, np.full(shape, 0.01, np.float32), np.zeros(shape, np.int8),
          np.full(shape, 0.008, np.float32), np.zeros(shape, np.int8)],
         outputs=3, weights=[1, 2, 3, 8, 9, 10, 11], atol=0.03, tolerance=0.03, hidden_size=4, direction="bidirectional")
case("qgemm", "QGemm", [A8, *PARAMETERS[0], W8, f32(0.01), np.array(0, np.int8), whole(-100, 100, 4), *PARAMETERS[1]],
     weights=[3, 4, 5, 6], atol=1)
case("qgemm-float", "QGemm", [A8, *PARAMETERS[0], W8.T.copy(), f32(0.01), np.array(0, np.int8)], weights=[3, 4, 5],
     transB=1, alpha=0.5)
case("qattention", "QAttention",
     [whole(0, 256, 2, 5, 16, dtype=np.uint8), whole(-60, 60, 16, 48, dtype=np.int8), normal(48), f32(0.01), f32(0.01),
      i32(1, 1, 1, 1, 1, 1, 1, 0, 0, 0).reshape(2, 5), u8(128), np.array(0, np.int8)],
     weights=[1, 2, 3, 4, 6, 7], num_heads=2)
case("dequantizelinear-16", "DequantizeLinear", [whole(0, 65536, 3, 5, dtype=np.uint16), f32(0.01), np.array(30000, np.uint16)])
case("quantizelinear-16", "QuantizeLinear", [normal(3, 5), f32(0.001), np.array(-5, np.int16)])

# ---- Small tools ----------------------------------------------------------------------------------------

case("trilu", "Trilu", [normal(4, 5)], upper=0)
case("pad", "Pad", [normal(3, 4), np.array([1, 0, 2, 1])], weights=[1], mode="constant")
case("gather-nd", "GatherND", [normal(3, 4), np.array([[0, 1], [2, 3]])], sizes=((1, 1),))
case("expand-dims", "ExpandDims", [normal(3, 4), np.array(1, np.int32)], weights=[1])
case("unique", "Unique", [f32([3, 1, 3, 2, 1, 7])], 3, dynamic=False)
case("cdist", "CDist", [normal(4, 6), normal(7, 6)], weights=[1], metric="euclidean")
case("cdist-squared", "CDist", [normal(4, 6), normal(7, 6)], weights=[1], metric="sqeuclidean")


# ---- Running --------------------------------------------------------------------------------------------


def build_model(item, dynamic):
    names = ["" if v is None else f"x{i}" for i, v in enumerate(item.inputs)]
    outputs = ["" if i in item.unwanted else f"y{i}" for i in range(item.outputs)]
    inputs, weights = [], []
    for index, (name, value) in enumerate(zip(names, item.inputs)):
        if value is None:
            continue
        if index in item.weights:
            weights.append(numpy_helper.from_array(value, name))
            continue
        shape = [f"{name}_{axis}" if dynamic and (index, axis) not in item.sizes else size
                 for axis, size in enumerate(value.shape)]
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    node = helper.make_node(item.op, names, outputs, name=item.name, domain=item.domain, **item.attributes)
    graph = helper.make_graph([node], "contrib", inputs,
                              [onnx.ValueInfoProto(name=name) for name in outputs if name], weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(item, dynamic, options, tally, work):
    title = f"{item.name}{' with sizes at run time' if dynamic else ''}"
    stem = work / f"{item.name}-{int(dynamic)}"
    model = build_model(item, dynamic)
    given = {f"x{i}": v for i, v in enumerate(item.inputs) if v is not None and i not in item.weights}
    if item.want:
        values = item.want(*item.inputs)
    else:
        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(build_model(item, False).SerializeToString(), settings,
                                                   ["CPUExecutionProvider"])
            values = session.run(None, given)
        except Exception as error:  # noqa: BLE001: its classes share no base of their own
            tally.check(title, f"onnxruntime: {error}")
            return
    want = dict(zip([f"y{i}" for i in range(item.outputs) if i not in item.unwanted], values))
    # onnxruntime gives the types that the graph's outputs leave open.
    for output in model.graph.output:
        element = helper.np_dtype_to_tensor_dtype(want[output.name].dtype)
        output.type.tensor_type.elem_type = element
    onnx.save(model, f"{stem}.onnx")
    np.savez(f"{stem}-in.npz", **{n: harness.savable(v) for n, v in given.items()})
    for command in ([harness.tool(options.build, "onnx-aot-compile"), f"{stem}.onnx", "-o", f"{stem}.so", *options.flags],
                    [harness.tool(options.build, "onnx-aot-run"), f"{stem}.so", "--inputs", f"{stem}-in.npz", "--outputs",
                     f"{stem}-out.npz"]):
        done = harness.run_limited(command, 120)
        if done.status != 0:
            tally.check(title, f"{pathlib.Path(command[0]).name}: {done.ending()}: {done.message()}")
            return
    with np.load(f"{stem}-out.npz") as file:
        got = {name: file[name] for name in file.files}
    for name, value in want.items():
        # One unit of a quantized number either way: onnxruntime rounds some of them twice.
        step = item.atol if value.dtype.kind in "iu" else max(item.atol, 1e-6) if item.atol < 1 else 1e-6
        found = harness.compare(got.get(name, np.zeros(0)), value, rtol=item.tolerance, atol=step)
        tally.check(f"{title}: {name}", found.problem, f"max abs {found.max_abs:.2g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", metavar="RE")
    parser.add_argument("--jobs", type=int, default=2)
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    chosen = [(item, dynamic) for item in CASES if re.search(options.filter, item.name)
              for dynamic in ((False, True) if item.dynamic else (False,))]
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda one: check(*one, options, tally, pathlib.Path(work)), chosen))
    tally.finish()


if __name__ == "__main__":
    main()
