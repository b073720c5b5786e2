"""Images sampled at other positions."""
import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from cases import case, i64, normal

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
