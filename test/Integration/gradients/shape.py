"""Shapes, layout and tensors made of others."""
import numpy as np

from cases import case, i64, normal, uniform


def other(*shape):
    return normal(*shape, seed=1)


for shape, target in (((), (1, 1)), ((6,), (2, 3)), ((2, 3, 4), (-1,)), ((2, 3, 4), (0, 12)), ((0, 3), (3, 0)), ((5, 1, 3), (3, 5))):
    case("Reshape", [normal(*shape), i64(*target)], allowzero=int(0 in shape))
for axis in (0, 1, 2, -1):
    case("Flatten", [normal(2, 3, 4)], axis=axis)
case("Flatten", [normal(5)])
case("Flatten", [normal(0, 3, 1)], forward=lambda x: x.reshape(0, 3), why="the reference cannot")
for shape, axes in (((1, 3, 1), [0]), ((1, 3, 1), [0, -1]), ((1, 1), [1]), ((2, 1, 0), [1]), ((1, 5, 1, 7), [2])):
    case("Squeeze", [normal(*shape), i64(*axes)])
case("Squeeze", [normal(1, 3, 1), None], dynamic=False)
for shape, axes in (((), [0]), ((3,), [0, 2]), ((2, 3), [-1]), ((0, 3), [1]), ((5, 7), [0, 1, 4])):
    case("Unsqueeze", [normal(*shape), i64(*axes)])
for shape, perm in (((), None), ((3,), None), ((2, 3), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), None), ((0, 3, 1), [1, 2, 0]),
                    ((1, 5, 1, 7), [3, 1, 0, 2])):
    case("Transpose", [normal(*shape)], **({"perm": perm} if perm is not None else {}))
for shape, target in (((), [3]), ((3,), [2, 3]), ((2, 1, 3), [1, 4, 1]), ((1,), [0]), ((3, 1), [3, 5]), ((1, 1), [2, 3, 1])):
    case("Expand", [normal(*shape), i64(*target)])
    case("Expand", [normal(*shape), i64(*target)], runtime=(1,), dynamic=False)

for shapes, axis in ((((3,),), 0), (((2, 3), (4, 3)), 0), (((2, 3), (2, 1), (2, 5)), -1), (((0, 2), (3, 2)), 0),
                     (((1, 2, 3), (1, 5, 3)), 1)):
    case("Concat", [normal(*s, seed=i) for i, s in enumerate(shapes)], axis=axis)
for shape, split, axis in (((5,), [2, 3], 0), ((2, 6), [1, 2, 3], 1), ((4, 3), [0, 4], 0), ((3, 1), [3], 0), ((2, 3, 4), [3, 1], -1)):
    case("Split", [normal(*shape), i64(*split)], outputs=len(split), axis=axis)
case("Split", [normal(7, 2), None], outputs=3, num_outputs=3, axis=0)
case("Split", [normal(6, 2), i64(1, 2, 3)], outputs=3, used=(1,), axis=0)

for shape, starts, ends, axes, steps in (
        ((5,), [1], [4], None, None), ((5,), [-3], [100], [0], [1]), ((4, 6), [1, 0], [3, 6], [0, 1], [1, 2]),
        ((4, 6), [5], [0], [1], [-2]), ((7,), [-1], [-100], [0], [-1]), ((2, 3, 4), [0], [2], [-1], [1]), ((0, 3), [0], [2], [1], [1]),
        ((5,), [3], [3], [0], [1]), ((5,), [4], [1], [0], [1]), ((9,), [1], [9], [0], [3]), ((9,), [7], [0], [0], [-3]),
        ((5,), [0], [5], [0], [7]), ((5,), [4], [-6], [0], [-9]), ((3, 5), [0, 1], [3, 5], None, [2, 3])):
    case("Slice", [normal(*shape), i64(*starts), i64(*ends), None if axes is None else i64(*axes),
                   None if steps is None else i64(*steps)])
for start, end in ((1, 4), (-2, 100), (3, 3), (0, 5)):
    case("Slice", [normal(5, 2), i64(start), i64(end), i64(0)], runtime=(1, 2), dynamic=False)

for mode in ("constant", "edge", "reflect", "wrap"):
    for shape, pads, axes in (((4,), [1, 2], None), ((3, 4), [1, 0, 2, 3], None), ((3, 4), [2, 1], [1]), ((5,), [0, 0], None),
                              ((3, 4, 2), [1, 1, 0, 2], [0, 1]), ((4, 5), [-1, 1, 2, -2], None), ((3, 4), [1, 1], [-2])):
        numpy_mode = {"constant": None, "edge": "edge", "reflect": "reflect", "wrap": "wrap"}[mode]

        def forward(x, pads, value=None, axes=None, mode=numpy_mode):
            axes = range(x.ndim) if axes is None else [int(a) % x.ndim for a in axes]
            begins, ends = [0] * x.ndim, [0] * x.ndim
            for i, a in enumerate(axes):
                begins[a], ends[a] = int(pads[i]), int(pads[i + len(pads) // 2])
            x = x[tuple(slice(max(0, -b), x.shape[a] - max(0, -e)) for a, (b, e) in enumerate(zip(begins, ends)))]
            amount = [(max(0, b), max(0, e)) for b, e in zip(begins, ends)]
            return np.pad(x, amount, mode=mode) if mode else np.pad(x, amount, constant_values=0.0 if value is None else value)

        inputs = [normal(*shape), i64(*pads), np.array(0.7) if mode == "constant" else None, None if axes is None else i64(*axes)]
        case("Pad", inputs, mode=mode, forward=forward, why="the reference does not take negative pads")
case("Pad", [np.zeros((0, 2)), i64(1, 0, 1, 1), np.array(1.5)])
case("Pad", [normal(3, 2), i64(1, 0, 1, 1)], runtime=(1,), dynamic=False)

for shape, repeats in (((), []), ((3,), [2]), ((3, 2), [0, 2]), ((2, 3), [1, 3]), ((2, 1, 3), [2, 2, 1]), ((1, 5), [2, 2])):
    case("Tile", [normal(*shape), i64(*repeats)])
    case("Tile", [normal(*shape), i64(*repeats)], runtime=(1,), dynamic=False)

for upper in (0, 1):
    for shape, k in (((3, 3), None), ((2, 3, 4), 1), ((4, 2), -1), ((0, 3), 0), ((1, 5), 2)):
        case("Trilu", [normal(*shape), None if k is None else np.array(k, np.int64)], upper=upper)

for mode in ("DCR", "CRD"):
    for shape in ((1, 4, 1, 1), (2, 8, 3, 2), (1, 12, 1, 5), (0, 4, 2, 2)):
        case("DepthToSpace", [normal(*shape)], blocksize=2, mode=mode)
case("DepthToSpace", [normal(1, 9, 2, 1)], blocksize=3)
for shape in ((1, 1, 2, 2), (2, 2, 4, 6), (1, 3, 2, 4), (0, 1, 2, 2), (1, 2, 6, 2)):
    case("SpaceToDepth", [normal(*shape)], blocksize=2)

for shape, lengths, batch, time in (((4, 3), [1, 4, 2], 1, 0), ((3, 4), [2, 1, 3], 0, 1), ((1, 1), [1], 1, 0), ((3, 2, 5), [3, 1], 1, 0),
                                    ((5, 1, 2), [4], 1, 0)):
    case("ReverseSequence", [normal(*shape), i64(*lengths)], batch_axis=batch, time_axis=time)

for shape, target, axes in (((5,), [3], None), ((4,), [7], None), ((5, 4), [2, 7], None), ((5, 4), [9], [1]), ((1, 1), [2, 3], None),
                            ((6, 5, 2), [3, 4], [0, 1])):
    case("CenterCropPad", [normal(*shape), i64(*target)], **({"axes": axes} if axes else {}))

for start, limit, delta in ((0.5, 3.2, 0.75), (1.0, -2.1, -0.5), (0.0, 0.9, 1.0), (2.0, 1.0, 1.0), (-1.3, 5.55, 2.0)):
    case("Range", [np.array(start), np.array(limit), np.array(delta)], step=1e-4)
for shape in ((3, 3), (2, 4), (1, 1), (5, 2), (4, 1)):
    case("EyeLike", [normal(*shape)], dynamic=False, expect=lambda x, w: [np.zeros_like(x[0])], why="only the shape matters")
