//===- Passes.td - passes from onnx to onnx ---------------*- tablegen -*-===//

#ifndef ONNX_AOT_TRANSFORMS_PASSES
#define ONNX_AOT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InferShapes : Pass<"onnx-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "Infer the type of every value from the inputs' types";
  let description = [{
    Runs each op's shape function in order, subgraphs included, and updates the
    entry function's result types. Fails at the ops whose operands contradict
    each other, all of them at once.
  }];
}

#endif // ONNX_AOT_TRANSFORMS_PASSES
