"""Images sampled at other positions."""
import itertools

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import op_grid_sample

from cases import apart, case, i64, normal, rng, uniform

# ---- Resize --------------------------------------------------------------------------------------------


def reference(attributes, *inputs):
    """The reference computes in single precision; the operator is linear, so that large steps do."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = [(n, x.astype(np.float32) if i == 0 else x) for i, (n, x) in enumerate(zip(names, inputs)) if n]
    graph = helper.make_graph([helper.make_node("Resize", names, ["y"], **attributes)], "resize",
                              [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given],
                              [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
    return ReferenceEvaluator(model).run(None, dict(given))[0].astype(np.float64)


def resize(shape, scales=None, sizes=None, roi=None, **attributes):
    # The reference takes scales of single precision.
    inputs = [normal(*shape), roi, None if scales is None else np.array(scales, np.float32),
              None if sizes is None else i64(*sizes)]
    while inputs[-1] is None:
        inputs.pop()
    own = {k: v for k, v in attributes.items() if k != "wrt"}
    case("Resize", inputs, forward=lambda *v: reference(own, *v), step=2.0, rtol=1e-5, why="single precision", wrt=(0,),
         second=False, **own)


resize((1, 2, 3, 4), scales=[1, 1, 2, 2])
resize((1, 1, 4, 5), sizes=[1, 1, 7, 3], mode="linear")
resize((1, 2, 5, 4), scales=[1, 1, 0.5, 1.5], mode="cubic")
resize((2, 1, 4), sizes=[2, 1, 7], mode="linear", coordinate_transformation_mode="align_corners")
resize((1, 1, 6, 6), sizes=[1, 1, 3, 4], mode="linear", antialias=1)
resize((3, 5), sizes=[8], axes=[1], mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1)
resize((1, 1, 4, 4), scales=[1, 1, 2, 3], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
resize((1, 1, 4, 4), sizes=[1, 1, 3, 3], mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
       roi=np.array([0, 0, 0.2, -0.1, 1, 1, 0.7, 1.2]), extrapolation_value=0.5)



def affine_grid(theta, size, align):
    axes = [np.linspace(-1, 1, n) if align else (2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
    places = np.meshgrid(*axes, indexing="ij")
    return np.stack([*places[::-1], np.ones_like(places[0])], axis=-1) @ np.expand_dims(theta.swapaxes(1, 2), tuple(range(1, len(size) - 2)))


# ---- Grids ---------------------------------------------------------------------------------------------

for shape, size, align in (((2, 2, 3), (2, 3, 4, 5), 0), ((1, 2, 3), (1, 1, 3, 2), 1), ((1, 3, 4), (1, 2, 2, 3, 4), 0),
                           ((2, 3, 4), (2, 1, 3, 2, 2), 1), ((3, 2, 3), (3, 2, 1, 4), 0)):
    case("AffineGrid", [normal(*shape), i64(*size)], align_corners=align, dynamic=size[0] > 1,
         forward=lambda theta, size, align=align: affine_grid(theta, size, align), why="the reference is single precision")


def grid_positions(shape, low=-1.3, high=1.3, seed=0):
    """Positions that lie on no element and on no border: there is a kink."""
    return uniform(low, high, *shape, seed=seed)


def denormalize(self, n, dims, align_corners):
    """The reference's own rounds positions to single precision."""
    return np.array([self._gs_denormalize(v, dim, align_corners) for v, dim in zip(n, dims)])


op_grid_sample.GridSample._gs_denormalize_coordinates = denormalize

for shape, out, mode, padding, align in (((1, 2, 4, 5), (3, 2), "linear", "zeros", 0), ((2, 1, 3, 4), (2, 2), "linear", "border", 1),
                                         ((1, 1, 5, 4), (3, 3), "linear", "reflection", 0), ((1, 2, 4, 4), (2, 3), "nearest", "zeros", 0),
                                         ((1, 1, 5, 5), (2, 3), "cubic", "zeros", 0), ((1, 1, 4, 5), (2, 2), "cubic", "border", 0),
                                         ((1, 2, 3, 3, 4), (2, 1, 2), "linear", "zeros", 1), ((1, 1, 4, 4), (2, 2), "linear", "reflection", 1)):
    # Beyond the outer edges the reference moves a cubic's position, too (docs/Semantics.md).
    reach = 0.97 if mode == "cubic" and padding == "border" else 1.3
    grid = grid_positions((shape[0], *out, len(shape) - 2), -reach, reach, seed=len(shape))
    # Sixteen elements for each position make much code where only the run knows sizes.
    case("GridSample", [normal(*shape), grid], dynamic=mode == "linear" and padding != "reflection", mode=mode, padding_mode=padding, align_corners=align, step=1e-4, rtol=1e-5,
         why="kinks are near: small steps")

def max_roi_pool(x, regions, bins, scale):
    """After the definition; ONNX's reference has none."""
    y = np.zeros((len(regions), x.shape[1], *bins))

    def span(first, last, bins, at, size):
        first, last = (int(np.floor(v * scale + 0.5)) for v in (first, last))
        width = max(last - first + 1, 1) / bins
        begin, end = first + int(np.floor(at * width)), first + int(np.ceil((at + 1) * width))
        return slice(min(max(begin, 0), size), min(max(end, 0), size))

    for r, (image, x1, y1, x2, y2) in enumerate(regions):
        for i, j in itertools.product(range(bins[0]), range(bins[1])):
            part = x[int(image)][:, span(y1, y2, bins[0], i, x.shape[2]), span(x1, x2, bins[1], j, x.shape[3])]
            y[r, :, i, j] = part.max(axis=(1, 2)) if part.size else 0
    return y


# ---- Regions -------------------------------------------------------------------------------------------

for shape, rois, bins, ratio, transform, mode in (
        ((2, 2, 6, 7), 3, (2, 3), 2, "half_pixel", "avg"), ((1, 1, 5, 5), 1, (1, 1), 1, "half_pixel", "avg"),
        ((1, 3, 4, 8), 2, (3, 2), 2, "output_half_pixel", "avg"), ((2, 1, 6, 6), 2, (2, 2), 3, "half_pixel", "max"),
        ((1, 2, 5, 6), 4, (1, 3), 0, "output_half_pixel", "avg"), ((1, 2, 6, 6), 1, (2, 1), 0, "half_pixel", "max")):
    corner = uniform(0.3, 2.2, rois, 2)
    regions = np.concatenate([corner, corner + uniform(1.7, 3.1, rois, 2)], axis=1)
    batch = rng("batch", rois, shape).integers(0, shape[0], rois).astype(np.int64)
    case("RoiAlign", [normal(*shape), regions, batch], output_height=bins[0], output_width=bins[1], sampling_ratio=ratio,
         coordinate_transformation_mode=transform, spatial_scale=0.75, wrt=(0,), runtime=(2,), mode=mode, dynamic=rois > 1)

# Regions are (image, x1, y1, x2, y2); some bins are empty, some end outside the image.
for shape, regions, bins, scale in (((1, 2, 5, 6), [[0, 0, 0, 4, 3]], (2, 2), 1.0), ((2, 1, 6, 5), [[1, 1, 1, 3, 5], [0, 2, 0, 4, 2]], (3, 2), 1.0),
                                    ((1, 1, 4, 4), [[0, 3, 3, 9, 9]], (2, 2), 1.0), ((1, 3, 8, 8), [[0, 1, 3, 13, 15]], (2, 3), 0.5),
                                    ((2, 2, 3, 3), [[0, 0, 0, 2, 2], [1, 1, 1, 1, 1], [1, 7, 7, 8, 8]], (1, 2), 1.0)):
    case("MaxRoiPool", [apart(*shape), np.array(regions, np.float64)], pooled_shape=list(bins), spatial_scale=scale, wrt=(0,),
         forward=lambda x, r, bins=bins, scale=scale: max_roi_pool(x, r, bins, scale))

# ---- Deformable convolution ----------------------------------------------------------------------------


def deform(x, w, offset, b=None, mask=None, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group=1, offset_group=1):
    n, channels = x.shape[:2]
    rows, columns = w.shape[2:]
    oh, ow = offset.shape[2:]
    y = np.zeros((n, w.shape[0], oh, ow))

    def read(image, r, c):
        r0, c0 = int(np.floor(r)), int(np.floor(c))
        total = 0.0
        for i, j in itertools.product((0, 1), (0, 1)):
            if 0 <= r0 + i < image.shape[0] and 0 <= c0 + j < image.shape[1]:
                total += image[r0 + i, c0 + j] * (r - r0 if i else 1 - r + r0) * (c - c0 if j else 1 - c + c0)
        return total

    per, filters = channels // group, w.shape[0] // group
    for i, m, o, p in itertools.product(range(n), range(w.shape[0]), range(oh), range(ow)):
        for c, k, l in itertools.product(range(per), range(rows), range(columns)):
            channel = m // filters * per + c
            place = channel // (channels // offset_group) * rows * columns + k * columns + l
            r = o * strides[0] - pads[0] + k * dilations[0] + offset[i, 2 * place, o, p]
            s = p * strides[1] - pads[1] + l * dilations[1] + offset[i, 2 * place + 1, o, p]
            y[i, m, o, p] += w[m, c, k, l] * read(x[i, channel], r, s) * (1 if mask is None else mask[i, place, o, p])
        if b is not None:
            y[i, m, o, p] += b[m]
    return y


for x, w, out, bias, masked, attributes in (
        ((1, 1, 4, 4), (1, 1, 2, 2), (3, 3), False, False, {}),
        ((2, 2, 4, 3), (2, 2, 2, 2), (3, 2), True, True, {}),
        ((1, 2, 5, 4), (2, 1, 2, 2), (2, 2), False, True, dict(group=2, strides=[2, 2], pads=[0, 1, 0, 0])),
        ((1, 2, 4, 4), (1, 2, 2, 2), (2, 2), True, False, dict(offset_group=2, dilations=[2, 2])),
        ((1, 1, 3, 3), (2, 1, 1, 1), (3, 3), False, False, {})):
    taps = w[2] * w[3] * attributes.get("offset_group", 1)
    inputs = [normal(*x), normal(*w, seed=1), uniform(0.1, 0.4, x[0], 2 * taps, *out)]
    inputs.append(normal(w[0], seed=2) if bias else None)
    if masked:
        inputs.append(uniform(0.2, 1.0, x[0], taps, *out, seed=3))
    while inputs[-1] is None:
        inputs.pop()
    case("DeformConv", inputs, kernel_shape=list(w[2:]), forward=lambda *v, a=attributes: deform(*v, **a), second=False, fixed=(1,),
         why="the reference is slow", **attributes)
