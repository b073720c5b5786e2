"""Random valid graphs, one operator after the other, for utils/fuzz-graphs.py."""
import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_)
UNARY = ("Relu Neg Abs Exp Sigmoid Tanh Sqrt Floor Ceil Erf Softplus Sign Reciprocal LeakyRelu Elu Selu HardSigmoid "
         "HardSwish Softsign Round Sin Cos Atan Gelu Mish Identity Celu ThresholdedRelu").split()
BINARY = "Add Sub Mul Div Max Min Pow PRelu".split()
COMPARE = "Less Greater Equal LessOrEqual GreaterOrEqual".split()
REDUCE = ("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp "
          "ReduceLogSum").split()


class Graph:
    """A graph while it is built. Values are (name, dtype, shape); every operator adds to them or returns False."""

    def __init__(self, generator):
        self.random = generator
        self.nodes, self.initializers, self.inputs, self.values = [], [], [], []
        for _ in range(generator.randint(1, 3)):
            shape = [generator.choice((1, 2, 3, 4, 5, 7, 8, 17)) for _ in range(generator.randint(0, 4))]
            if generator.random() < 0.3 and shape:  # several vectors or tiles and a rest
                shape[generator.randrange(len(shape))] = generator.choice((31, 64, 67, 130))
            if generator.random() < 0.04 and shape:
                shape[generator.randrange(len(shape))] = 0
            value = (f"x{len(self.inputs)}", FLOAT, tuple(shape))
            self.inputs.append(value)
            self.values.append(value)

    def pick(self, dtype=FLOAT, rank=None):
        """Chooses a value, mostly a recent one; None when there is none such."""
        fitting = [v for v in self.values if v[1] == dtype and (rank is None or len(v[2]) in rank)]
        if not fitting:
            return None
        return fitting[max(self.random.randrange(len(fitting)), self.random.randrange(len(fitting)))]

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape):
        generator = np.random.default_rng(self.random.randrange(2**32))
        return self.constant((generator.standard_normal(shape) * 0.5).astype(np.float32))

    def add(self, op, operands, shape, dtype=FLOAT, **attributes):
        """Adds a node; dtype is a tuple when it has several results, whose shapes are then shape's, or all shape."""
        dtypes = dtype if isinstance(dtype, tuple) else (dtype,)
        names = [f"v{len(self.nodes)}" + f"_{i}" * (len(dtypes) > 1) for i in range(len(dtypes))]
        self.nodes.append(helper.make_node(op, operands, names, name=f"n{len(self.nodes)}", **attributes))
        for i, result in enumerate(zip(names, dtypes)):
            each = shape[i] if len(dtypes) > 1 and isinstance(shape[0], list) else shape
            self.values.append((*result, tuple(each)))
        return True

    def grow(self):
        """Adds one operator if the draw fits."""
        makers = [self.unary, self.binary, self.compare, self.reduce, self.matmul, self.gemm, self.conv, self.pool,
                  self.transpose, self.reshape, self.concat, self.slice, self.softmax, self.normalize, self.gather,
                  self.pad, self.where, self.unsqueeze, self.expand, self.cast, self.clip, self.cumsum, self.integer,
                  self.top, self.split, self.tile, self.resize, self.conv_transpose, self.channels, self.triangle,
                  self.indexed, self.einsum, self.variadic, self.squeeze, self.shaped, self.rounded, self.recurrent,
                  self.branch]
        return self.random.choice(makers)()

    def axes_of(self, shape):
        count = self.random.randint(1, max(1, len(shape)))
        axes = sorted(self.random.sample(range(len(shape)), min(count, len(shape))))
        return [a - len(shape) if self.random.random() < 0.3 else a for a in axes]

    def unary(self):
        name, _, shape = self.pick()
        return self.add(self.random.choice(UNARY), [name], shape)

    def partner(self, shape):
        """A value or constant that broadcasts against a shape; returns (name, resulting shape)."""
        other = self.pick()
        try:
            return other[0], np.broadcast_shapes(shape, other[2])
        except ValueError:
            own = [1 if self.random.random() < 0.4 else s for s in shape[self.random.randint(0, len(shape)):]]
            return self.weight(*own), shape

    def binary(self):
        name, _, shape = self.pick()
        op = self.random.choice(BINARY)
        other, result = self.partner(shape)
        if op == "PRelu":
            other, result = self.weight(*shape[-1:]), shape
        pair = [other, name] if self.random.random() < 0.5 and op != "PRelu" else [name, other]
        return self.add(op, pair, result)

    def compare(self):
        name, _, shape = self.pick()
        other, result = self.partner(shape)
        return self.add(self.random.choice(COMPARE), [name, other], result, BOOL)

    def where(self):
        condition, value = self.pick(BOOL), self.pick()
        if not condition:
            return False
        other, shape = self.partner(value[2])
        try:
            shape = np.broadcast_shapes(condition[2], shape)
        except ValueError:
            return False
        return self.add("Where", [condition[0], value[0], other], shape)

    def cast(self):
        value = self.pick(BOOL)
        return bool(value) and self.add("Cast", [value[0]], value[2], to=TensorProto.FLOAT)

    def clip(self):
        name, _, shape = self.pick()
        return self.add("Clip", [name, self.constant(np.float32(-0.5)), self.constant(np.float32(0.75))], shape)

    def reduce(self):
        name, _, shape = self.pick(rank=range(1, 5)) or (None, None, None)
        if name is None:
            return False
        axes, keep = self.axes_of(shape), self.random.randint(0, 1)
        positive = {a % len(shape) for a in axes}
        result = [1 if i in positive else s for i, s in enumerate(shape) if keep or i not in positive]
        return self.add(self.random.choice(REDUCE), [name, self.constant(np.array(axes, np.int64))], result,
                        keepdims=keep)

    def cumsum(self):
        value = self.pick(rank=range(1, 5))
        return bool(value) and self.add(
            "CumSum", [value[0], self.constant(np.int64(self.random.randrange(len(value[2]))))], value[2],
            exclusive=self.random.randint(0, 1), reverse=self.random.randint(0, 1))

    def matmul(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        columns = self.random.choice((1, 3, 8, 16, 19, 50, 97))
        return self.add("MatMul", [value[0], self.weight(value[2][-1], columns)], (*value[2][:-1], columns))

    def gemm(self):
        value = self.pick(rank=[2])
        if not value:
            return False
        rows, inner, columns = *value[2], self.random.choice((1, 4, 9, 16, 35, 70))
        transposed = self.random.randint(0, 1)
        weight = self.weight(*((columns, inner) if transposed else (inner, columns)))
        bias = self.weight(*self.random.choice(((columns,), (1,), (rows, columns), (rows, 1))))
        return self.add("Gemm", [value[0], weight, bias], (rows, columns), transB=transposed,
                        alpha=self.random.choice((1.0, 0.5)), beta=self.random.choice((1.0, 2.0)))

    def conv(self):
        value = self.pick(rank=[3, 4])
        if not value or 0 in value[2]:
            return False
        (_, channels, *sizes), spatial = value[2], len(value[2]) - 2
        group = channels if self.random.random() < 0.3 else 1
        kernel = [self.random.choice((1, 2, 3)) for _ in range(spatial)]
        strides = [self.random.randint(1, 2) for _ in range(spatial)]
        dilations = [self.random.randint(1, 2) for _ in range(spatial)]
        pads = [self.random.randint(0, 1) for _ in range(2 * spatial)]
        out = [(s + pads[i] + pads[i + spatial] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
               for i, s in enumerate(sizes)]
        if min(out) < 1:
            return False
        filters = group * self.random.randint(1, 3)
        weight = self.weight(filters, channels // group, *kernel)
        return self.add("Conv", [value[0], weight, self.weight(filters)], (value[2][0], filters, *out), group=group,
                        kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads)

    def pool(self):
        value = self.pick(rank=[3, 4])
        if not value or 0 in value[2]:
            return False
        spatial = len(value[2]) - 2
        kernel = [min(self.random.randint(1, 3), s) for s in value[2][2:]]
        strides = [self.random.randint(1, 2) for _ in range(spatial)]
        out = [(s - k) // t + 1 for s, k, t in zip(value[2][2:], kernel, strides)]
        return self.add(self.random.choice(("MaxPool", "AveragePool")), [value[0]], (*value[2][:2], *out),
                        kernel_shape=kernel, strides=strides)

    def transpose(self):
        value = self.pick(rank=range(1, 6))
        if not value:
            return False
        name, _, shape = value
        order = list(range(len(shape)))
        self.random.shuffle(order)
        return self.add("Transpose", [name], [shape[i] for i in order], perm=order)

    def reshape(self):
        name, _, shape = self.pick()
        count = int(np.prod(shape))
        if not count:
            return False
        divisor = self.random.choice([d for d in range(1, count + 1) if count % d == 0])
        target = self.random.choice(([-1], [divisor, -1], [divisor, count // divisor], [1, -1, divisor]))
        result = [count // abs(int(np.prod(target))) if t == -1 else t for t in target]
        return self.add("Reshape", [name, self.constant(np.array(target, np.int64))], result)

    def unsqueeze(self):
        name, _, shape = self.pick(rank=range(0, 4)) or (None, None, None)
        if name is None:
            return False
        axis = self.random.randint(0, len(shape))
        return self.add("Unsqueeze", [name, self.constant(np.array([axis], np.int64))],
                        (*shape[:axis], 1, *shape[axis:]))

    def expand(self):
        name, _, shape = self.pick(rank=range(0, 4)) or (None, None, None)
        if name is None:
            return False
        target = (self.random.randint(1, 3), *[s if s != 1 else self.random.randint(1, 3) for s in shape])
        return self.add("Expand", [name, self.constant(np.array(target, np.int64))], target)

    def concat(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        axis = self.random.randrange(len(value[2]))
        fits = [v for v in self.values if v[1] == FLOAT and len(v[2]) == len(value[2])
                and all(a == b for i, (a, b) in enumerate(zip(v[2], value[2])) if i != axis)]
        parts = [self.random.choice(fits) for _ in range(self.random.randint(1, 3))]
        size = sum(p[2][axis] for p in parts)
        return self.add("Concat", [p[0] for p in parts], (*value[2][:axis], size, *value[2][axis + 1:]), axis=axis)

    def slice(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        axis = self.random.randrange(len(value[2]))
        size = value[2][axis]
        start, end = self.random.randint(-size - 1, size), self.random.choice((size, 2**62, -1, size // 2))
        step = self.random.choice((1, 1, 2, -1, -2))
        if step < 0:
            start, end = end, start
        result = len(range(size)[slice(start, end, step)])
        parameters = [self.constant(np.array([n], np.int64)) for n in (start, end, axis, step)]
        return self.add("Slice", [value[0], *parameters], (*value[2][:axis], result, *value[2][axis + 1:]))

    def pad(self):
        value = self.pick(rank=range(1, 5))
        if not value or 0 in value[2]:
            return False
        mode = self.random.choice(("constant", "edge", "reflect"))
        pads = [self.random.randint(0, 2 if mode != "reflect" else min(2, s - 1)) for s in value[2] * 2]
        rank = len(value[2])
        result = [s + pads[i] + pads[i + rank] for i, s in enumerate(value[2])]
        return self.add("Pad", [value[0], self.constant(np.array(pads, np.int64))], result, mode=mode)

    def gather(self):
        value = self.pick(rank=range(1, 4))
        if not value or 0 in value[2]:
            return False
        axis = self.random.randrange(len(value[2]))
        size = value[2][axis]
        shape = self.random.choice(((), (3,), (2, 2)))
        indices = np.array([self.random.randint(-size, size - 1) for _ in range(int(np.prod(shape)))], np.int64)
        return self.add("Gather", [value[0], self.constant(indices.reshape(shape))],
                        (*value[2][:axis], *shape, *value[2][axis + 1:]), axis=axis)

    def softmax(self):
        value = self.pick(rank=range(1, 5))
        return bool(value) and self.add(self.random.choice(("Softmax", "LogSoftmax")), [value[0]], value[2],
                                        axis=self.random.randint(-len(value[2]), len(value[2]) - 1))

    def normalize(self):
        value = self.pick(rank=range(2, 5))
        if not value or 0 in value[2]:
            return False
        name, _, shape = value
        if self.random.random() < 0.5:
            return self.add("LayerNormalization", [name, self.weight(shape[-1]), self.weight(shape[-1])], shape)
        channels = shape[1]
        variance = self.constant(np.full(channels, 0.5 + self.random.random(), np.float32))
        return self.add("BatchNormalization",
                        [name, self.weight(channels), self.weight(channels), self.weight(channels), variance], shape)

    def positive_axis(self, shape):
        """An axis of a shape, as (written, meant): a third of them is written from the end."""
        axis = self.random.randrange(len(shape))
        return (axis - len(shape) if self.random.random() < 0.3 else axis), axis

    def integer(self):
        """An operator on whole numbers."""
        value = self.pick(INT64)
        if not value:
            return False
        op = self.random.choice(("Add", "Sub", "Mul", "Div", "Mod", "Neg", "Abs", "Max", "Min", "Cast", "Less"))
        if op in ("Neg", "Abs"):
            return self.add(op, [value[0]], value[2], INT64)
        if op == "Cast":
            return self.add(op, [value[0]], value[2], to=TensorProto.FLOAT)
        other = self.constant(np.int64(self.random.choice((-3, -1, 1, 2, 5))))
        return self.add(op, [value[0], other], value[2], BOOL if op == "Less" else INT64)

    def top(self):
        value = self.pick(rank=range(1, 5))
        if not value or 0 in value[2]:
            return False
        written, axis = self.positive_axis(value[2])
        if self.random.random() < 0.5:
            keep = self.random.randint(0, 1)
            shape = [1 if i == axis else s for i, s in enumerate(value[2]) if keep or i != axis]
            return self.add(self.random.choice(("ArgMax", "ArgMin")), [value[0]], shape, INT64, axis=written, keepdims=keep,
                            select_last_index=self.random.randint(0, 1))
        count = self.random.randint(1, value[2][axis])
        shape = [count if i == axis else s for i, s in enumerate(value[2])]
        return self.add("TopK", [value[0], self.constant(np.array([count], np.int64))], shape, (FLOAT, INT64), axis=written,
                        largest=self.random.randint(0, 1))

    def split(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        written, axis = self.positive_axis(value[2])
        first = self.random.randint(0, value[2][axis])
        sizes = [first, value[2][axis] - first]
        shapes = [[n if i == axis else s for i, s in enumerate(value[2])] for n in sizes]
        return self.add("Split", [value[0], self.constant(np.array(sizes, np.int64))], shapes, (FLOAT, FLOAT), axis=written)

    def tile(self):
        value = self.pick(rank=range(1, 4))
        if not value:
            return False
        repeats = [self.random.choice((1, 1, 2, 3)) for _ in value[2]]
        return self.add("Tile", [value[0], self.constant(np.array(repeats, np.int64))],
                        [s * r for s, r in zip(value[2], repeats)])

    def resize(self):
        value = self.pick(rank=[3, 4])
        if not value or 0 in value[2]:
            return False
        sizes = [*value[2][:2], *(self.random.randint(1, 2 * s) for s in value[2][2:])]
        mode = self.random.choice(("nearest", "linear", "cubic") if len(sizes) == 4 else ("nearest", "linear"))
        where = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
        more = {"nearest_mode": self.random.choice(("floor", "ceil", "round_prefer_floor"))} if mode == "nearest" else {}
        return self.add("Resize", [value[0], "", "", self.constant(np.array(sizes, np.int64))], sizes, mode=mode,
                        coordinate_transformation_mode=self.random.choice(where), **more)

    def conv_transpose(self):
        value = self.pick(rank=[3, 4])
        if not value or 0 in value[2]:
            return False
        (_, channels, *sizes), spatial = value[2], len(value[2]) - 2
        group = channels if self.random.random() < 0.3 else 1
        kernel = [self.random.choice((1, 2, 3)) for _ in range(spatial)]
        strides = [self.random.randint(1, 3) for _ in range(spatial)]
        dilations = [self.random.randint(1, 2) for _ in range(spatial)]
        pads = [self.random.randint(0, 1) for _ in range(2 * spatial)]
        out = [strides[i] * (s - 1) + dilations[i] * (kernel[i] - 1) + 1 - pads[i] - pads[i + spatial]
               for i, s in enumerate(sizes)]
        if min(out) < 1 or math.prod(out) > 20000:
            return False
        filters = self.random.randint(1, 3)
        return self.add("ConvTranspose", [value[0], self.weight(channels, filters, *kernel), self.weight(group * filters)],
                        (value[2][0], group * filters, *out), group=group, kernel_shape=kernel, strides=strides,
                        dilations=dilations, pads=pads)

    def channels(self):
        """An operator that goes by channels or by whole planes."""
        value = self.pick(rank=[3, 4])
        if not value or 0 in value[2]:
            return False
        name, _, shape = value
        op = self.random.choice(("GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "GroupNormalization", "LRN",
                                 "LpNormalization", "DepthToSpace", "SpaceToDepth"))
        if op.startswith("Global"):
            return self.add(op, [name], (*shape[:2], *[1] * (len(shape) - 2)))
        if op == "InstanceNormalization":
            return self.add(op, [name, self.weight(shape[1]), self.weight(shape[1])], shape)
        if op == "GroupNormalization":
            groups = self.random.choice([g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
            return self.add(op, [name, self.weight(groups), self.weight(groups)], shape, num_groups=groups)
        if op == "LRN":
            return len(shape) == 4 and self.add(op, [name], shape, size=self.random.choice((1, 3, 5)))
        if op == "LpNormalization":
            return self.add(op, [name], shape, axis=self.positive_axis(shape)[0], p=self.random.randint(1, 2))
        if len(shape) != 4:
            return False
        batch, depth, height, width = shape
        if op == "DepthToSpace":
            return depth % 4 == 0 and self.add(op, [name], (batch, depth // 4, 2 * height, 2 * width), blocksize=2,
                                               mode=self.random.choice(("DCR", "CRD")))
        return not (height % 2 or width % 2) and self.add(op, [name], (batch, 4 * depth, height // 2, width // 2), blocksize=2)

    def triangle(self):
        value = self.pick(rank=range(2, 5))
        return bool(value) and self.add("Trilu", [value[0], self.constant(np.int64(self.random.randint(-3, 3)))], value[2],
                                        upper=self.random.randint(0, 1))

    def indexed(self):
        """GatherElements, GatherND, ScatterElements or ScatterND with constant indices."""
        value = self.pick(rank=range(1, 4))
        if not value or 0 in value[2]:
            return False
        name, _, shape = value
        written, axis = self.positive_axis(shape)
        op = self.random.choice(("GatherElements", "GatherND", "ScatterElements", "ScatterND"))
        generator = np.random.default_rng(self.random.randrange(2**32))
        if op.endswith("ND"):
            depth, count = self.random.randint(1, len(shape)), self.random.randint(1, 4)
            if op == "ScatterND":  # no index twice: what then stays is not said
                places = generator.permutation(math.prod(shape[:depth]))[:count]
                indices = np.stack(np.unravel_index(places, shape[:depth]), -1)
                return self.add(op, [name, self.constant(indices.astype(np.int64)), self.weight(len(places), *shape[depth:])],
                                shape, reduction=self.random.choice(("none", "add", "mul", "max", "min")))
            indices = np.stack([generator.integers(-s, s, count) for s in shape[:depth]], -1)
            return self.add(op, [name, self.constant(indices.astype(np.int64))], (count, *shape[depth:]))
        few = [self.random.randint(1, s) for s in shape]
        if op == "GatherElements":
            few[axis] = self.random.randint(1, 5)
            indices = generator.integers(-shape[axis], shape[axis], few)
            return self.add(op, [name, self.constant(indices.astype(np.int64))], few, axis=written)
        indices = np.argsort(generator.random([shape[axis] if i == axis else n for i, n in enumerate(few)]), axis)
        indices = np.take(indices, range(few[axis]), axis)
        return self.add(op, [name, self.constant(indices.astype(np.int64)), self.weight(*few)], shape, axis=written,
                        reduction=self.random.choice(("none", "add", "mul", "max", "min")))

    def einsum(self):
        value = self.pick(rank=[2, 3])
        if not value:
            return False
        shape, columns = value[2], self.random.choice((1, 3, 8))
        if len(shape) == 2:
            equation, other, result = self.random.choice((
                ("ij,jk->ik", (shape[1], columns), (shape[0], columns)), ("ij,kj->ki", (columns, shape[1]), (columns, shape[0])),
                ("ij,i->j", shape[:1], shape[1:]), ("ij,ij->i", shape, shape[:1]), ("ij,k->ikj", (columns,), (shape[0], columns, shape[1]))))
        else:
            equation, other, result = self.random.choice((
                ("bij,bjk->bik", (shape[0], shape[2], columns), (*shape[:2], columns)),
                ("bij,jk->kbi", (shape[2], columns), (columns, *shape[:2])), ("bij,bij->bj", shape, (shape[0], shape[2])),
                ("...i,i->...", shape[2:], shape[:2])))
        return self.add("Einsum", [value[0], self.weight(*other)], result, equation=equation)

    def variadic(self):
        name, _, shape = self.pick()
        other, result = self.partner(shape)
        return self.add(self.random.choice(("Sum", "Mean", "Max", "Min")), [name, other, name], result)

    def squeeze(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        ones = [i for i, s in enumerate(value[2]) if s == 1]
        if not ones or self.random.random() < 0.5:
            axis = self.random.randint(0, len(value[2]))
            return self.add("Flatten", [value[0]], (math.prod(value[2][:axis]), math.prod(value[2][axis:])), axis=axis)
        axis = self.random.choice(ones)
        return self.add("Squeeze", [value[0], self.constant(np.array([axis], np.int64))],
                        [s for i, s in enumerate(value[2]) if i != axis])

    def shaped(self):
        """A Reshape whose target is computed from sizes, as exporters write it for free dimensions."""
        value = self.pick(rank=range(1, 5))
        if not value or 0 in value[2]:
            return False
        name, _, shape = value
        keep = self.random.randint(1, len(shape))
        self.add("Shape", [name], (keep,), INT64, end=keep)
        target = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node("Concat", [self.values.pop()[0], self.constant(np.array([-1], np.int64))], [target],
                                           name=f"n{len(self.nodes)}", axis=0))
        return self.add("Reshape", [name, target], (*shape[:keep], math.prod(shape[keep:])))

    def rounded(self):
        """A round trip through a narrow type."""
        name, _, shape = self.pick()
        if self.random.random() < 0.5:
            half = f"v{len(self.nodes)}"
            self.nodes.append(helper.make_node("Cast", [name], [half], name=f"n{len(self.nodes)}", to=TensorProto.FLOAT16))
            return self.add("Cast", [half], shape, to=TensorProto.FLOAT)
        kind = self.random.choice((np.uint8, np.int8))
        parameters = [self.constant(np.float32(self.random.choice((0.0625, 0.25)))),
                      self.constant(kind(self.random.choice((0, 3, 100))))]
        narrow = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node("QuantizeLinear", [name, *parameters], [narrow], name=f"n{len(self.nodes)}"))
        return self.add("DequantizeLinear", [narrow, *parameters], shape)

    def recurrent(self):
        value = self.pick(rank=[3])
        if not value or 0 in value[2]:
            return False
        (steps, batch, width), hidden = value[2], self.random.choice((1, 3, 8))
        op, gates = self.random.choice((("RNN", 1), ("GRU", 3), ("LSTM", 4)))
        direction = self.random.choice(("forward", "reverse", "bidirectional"))
        ways = 2 if direction == "bidirectional" else 1
        operands = [value[0], self.weight(ways, gates * hidden, width), self.weight(ways, gates * hidden, hidden),
                    self.weight(ways, 2 * gates * hidden)]
        more = {"linear_before_reset": self.random.randint(0, 1)} if op == "GRU" else {}
        return self.add(op, operands, (steps, ways, batch, hidden), hidden_size=hidden, direction=direction, **more)

    def branch(self):
        """An If whose condition only the run knows."""
        name, _, shape = self.pick()
        total = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node("ReduceSum", [name], [total], name=f"n{len(self.nodes)}", keepdims=0))
        self.add("Greater", [total, self.constant(np.float32(0))], (), BOOL)
        condition = self.values.pop()[0]
        bodies = [helper.make_graph([helper.make_node(op, [name], [f"{condition}_{op}"])], op, [], [
            helper.make_tensor_value_info(f"{condition}_{op}", TensorProto.FLOAT, None)]) for op in ("Neg", "Tanh")]
        return self.add("If", [condition], shape, then_branch=bodies[0], else_branch=bodies[1])

    def model(self, dynamic):
        """Returns the model; its outputs are the values that nobody uses."""
        used = {i for n in self.nodes for i in n.input}
        kinds = {FLOAT: TensorProto.FLOAT, INT64: TensorProto.INT64, BOOL: TensorProto.BOOL}
        inputs = [helper.make_tensor_value_info(
            name, kinds[dtype], [f"{name}_{i}" if dynamic and self.random.random() < 0.7 else s
                                 for i, s in enumerate(shape)]) for name, dtype, shape in self.inputs]
        outputs = [helper.make_tensor_value_info(n, kinds[t], None) for n, t, _ in self.values if n not in used]
        outputs = [o for o in outputs if o.name.startswith("v")]
        graph = helper.make_graph(self.nodes, "fuzz", inputs, outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
