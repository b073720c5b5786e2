//===- MLOps.td - what models of ai.onnx.ml need ---------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_TreeLeavesOp : Onnx_Op<"ml.TreeLeaves"> {
  let summary = "leaves[n, t] = the node where row n of x ends in tree t";
  let description = [{
    What the tree ensembles of ai.onnx.ml have in common. A row of `nodes` is
    (2 * feature + default, threshold, left, right): from a node the way leads
    left where x[n, feature] <= threshold, or where that is NaN and default is 1.
    The threshold is the bits of an f32, or stands in `thresholds` where x is f64.
    A leaf is its own left and right; from `roots` every way ends in a leaf after
    `depth` steps at most.
  }];
  let arguments = (ins TensorOf<[F32, F64]>:$x, TensorOf<[I32]>:$nodes,
    TensorOf<[I32]>:$roots, Optional<TensorOf<[F64]>>:$thresholds,
    ConfinedAttr<I64Attr, [IntMinValue<0>]>:$depth);
  let results = (outs Onnx_Tensor:$leaves);
}
