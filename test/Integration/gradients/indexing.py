"""Elements chosen by indices."""
import numpy as np

from cases import apart, case, i64, normal, rng


def indices(shape, limit, negative=True, seed=0):
    return rng("indices", shape, limit, seed).integers(-limit if negative else 0, limit, size=shape).astype(np.int64)


def distinct(rows, limit, seed=0):
    """Rows of different indices below limit."""
    return np.stack([rng("distinct", r, limit, seed).permutation(limit)[:rows[1]] for r in range(rows[0])]).astype(np.int64)


# ---- Gather --------------------------------------------------------------------------------------------

for shape, places, axis in (((5, 3), (4,), 0), ((4, 3, 2), (2, 3), 1), ((3, 4), (), 1), ((6,), (2, 2), 0), ((2, 3, 5), (3,), -1),
                            ((4, 0), (2,), 0), ((3, 4), (0,), 1), ((4, 2), (), 0)):
    rank = len(shape)
    case("Gather", [normal(*shape), indices(places, shape[axis])], axis=axis, runtime=(1,))

for shape, places, axis in (((3, 4), (2, 4), 0), ((3, 4), (3, 6), 1), ((2, 3, 4), (2, 3, 2), -1), ((5,), (8,), 0), ((2, 3), (0, 3), 0), ((2, 2, 3), (2, 2, 5), 2)):
    case("GatherElements", [normal(*shape), indices(places, shape[axis])], axis=axis, runtime=(1,),
         forward=lambda x, i, a=axis: np.take_along_axis(x, i, axis=a))


def addresses(lead, sizes, seed=0):
    return np.stack([indices(lead, s, seed=(seed, i)) for i, s in enumerate(sizes)], axis=-1)


for shape, lead, depth, batch in (((4, 3), (5,), 2, 0), ((4, 3, 2), (2, 3), 1, 0), ((2, 4, 3), (2, 5), 1, 1), ((2, 3, 4, 2), (2, 3, 2), 2, 1),
                                  ((2, 2, 5), (2, 2), 1, 2), ((5,), (1,), 1, 0)):
    case("GatherND", [normal(*shape), addresses(lead, shape[batch:batch + depth])], batch_dims=batch, runtime=(1,), dynamic=False)

# ---- Scatter -------------------------------------------------------------------------------------------

for shape, places, axis in (((5, 3), (2, 3), 0), ((3, 4), (3, 2), 1), ((6,), (4,), 0), ((2, 3, 4), (2, 3, 2), -1), ((1, 4), (1, 4), 1)):
    length = shape[axis]
    moved = tuple(s for i, s in enumerate(places) if i != axis % len(shape))
    rows = distinct((int(np.prod(moved)), places[axis]), length)
    at = np.moveaxis(rows.reshape(*moved, places[axis]), -1, axis)
    case("ScatterElements", [normal(*shape), at, normal(*places, seed=1)], axis=axis, runtime=(1,))
    for reduction in ("add", "mul", "max", "min"):
        case("ScatterElements", [apart(*shape, away=(0.0,)), indices(places, length), apart(*places, low=-1.95, gap=0.17, away=(0.0,))],
             axis=axis, reduction=reduction, runtime=(1,), step=1e-4 if reduction in ("max", "min") else 1e-3)
case("ScatterElements", [np.array([0.0, 2.0, 0.0]), i64(0, 0, 2, 1), np.array([3.0, 0.5, 0.0, 4.0])], reduction="mul", runtime=(1,))

def scatter_nd(x, at, updates, reduction):
    y = x.copy()
    for place in np.ndindex(at.shape[:-1]):
        combine = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction]
        y[tuple(at[place])] = combine(y[tuple(at[place])], updates[place])
    return y


for shape, lead, depth in (((5, 3), (4,), 1), ((4, 3), (6,), 2), ((2, 3, 4), (2, 2), 2), ((7,), (3,), 1), ((2, 2, 2, 2), (3,), 3)):
    total = int(np.prod(shape[:depth]))
    count = min(int(np.prod(lead)), total)
    if count == int(np.prod(lead)):
        flat = rng("nd", shape).permutation(total)[:count]
        at = np.stack(np.unravel_index(flat, shape[:depth]), axis=-1).reshape(*lead, depth).astype(np.int64)
        case("ScatterND", [normal(*shape), at, normal(*lead, *shape[depth:], seed=1)], runtime=(1,), dynamic=False)
    for reduction in ("add", "mul", "max", "min"):
        case("ScatterND", [apart(*shape, away=(0.0,)), addresses(lead, shape[:depth]),
                           apart(*lead, *shape[depth:], low=-1.95, gap=0.17, away=(0.0,))], reduction=reduction, runtime=(1,),
             forward=lambda x, i, u, r=reduction: scatter_nd(x, i, u, r), why="the reference combines whole slices wrongly", dynamic=False,
             step=1e-4 if reduction in ("max", "min") else 1e-3)


def tensor_scatter(past, update, write=None, axis=-2, mode="linear"):
    result = past.copy()
    for b in range(past.shape[0]):
        first = 0 if write is None else write[b]
        length = past.shape[axis]
        at = (first + np.arange(update.shape[axis])) % length
        np.moveaxis(result[b], axis if axis < 0 else axis - 1, 0)[at] = np.moveaxis(update[b], axis if axis < 0 else axis - 1, 0)
    return result


for past, update, write, axis, mode in (((2, 5, 3), (2, 2, 3), [1, 3], -2, "linear"), ((2, 1, 4, 2), (2, 1, 3, 2), [3, 1], -2, "circular"),
                                        ((1, 4, 2), (1, 4, 2), None, -2, "linear"), ((3, 2, 6), (3, 2, 1), [0, 5, 2], 2, "linear"),
                                        ((2, 3, 2, 4), (2, 2, 2, 4), [2, 0], 1, "circular")):
    inputs = [normal(*past), normal(*update, seed=1)] + ([] if write is None else [i64(*write)])
    case("TensorScatter", inputs, axis=axis, mode=mode, runtime=(2,) if write else (),
         forward=lambda p, u, w=None, a=axis, m=mode: tensor_scatter(p, u, w, a, m))

# ---- Search --------------------------------------------------------------------------------------------

for shape, k, axis, largest in (((3, 5), 2, -1, 1), ((4, 3), 3, 0, 0), ((6,), 6, 0, 1), ((2, 3, 4), 1, 1, 1), ((0, 4), 2, 1, 1)):
    case("TopK", [apart(*shape), i64(k)], axis=axis, largest=largest, outputs=2)

for shape, condition, axis in (((4, 3), [1, 0, 1, 1], 0), ((2, 5), [0, 1, 1], 1), ((3, 2), [1, 0, 0, 1, 1], None), ((5,), [0, 0, 0, 0, 0], 0),
                               ((2, 3, 2), [1, 1], -1)):
    case("Compress", [normal(*shape), np.array(condition, bool)], runtime=(1,), **({} if axis is None else {"axis": axis}))

for places, depth, axis in (((4,), 3, -1), ((2, 3), 4, 1), ((2, 2), 3, 0), ((1,), 1, 0), ((0,), 3, -1)):
    case("OneHot", [indices(places, depth), np.array(depth, np.int64), normal(2)], axis=axis, runtime=(0,))
