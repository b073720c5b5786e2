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

def SpecializeDims : Pass<"onnx-specialize-dims", "::mlir::ModuleOp"> {
  let summary = "Replace symbolic dimensions by constants";
  let description = [{
    Requires symbolic dimensions by name (`onnx.symbols`). Guarantees that no type
    mentions the symbols given; sizes that follow from them are constants too.
    Fails on a name that the module does not have. Run onnx-infer-shapes after.

    `dims=batch=2`:
    ```mlir
    %0 = onnx.Relu %x : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> ...
    // becomes
    %0 = onnx.Relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let options = [
    ListOption<"dims", "dims", "std::string", "Sizes as NAME=N">
  ];
}

def VerifyLowerable : Pass<"onnx-verify-lowerable", "::mlir::ModuleOp"> {
  let summary = "Verify what Conversion may assume";
  let description = [{
    The postcondition of this room, all violations reported at once:
    - every op of the function bodies is a registered one;
    - every tensor has a known rank, also inside sequences and optionals.

    `%0 = onnx.Reshape %x, %runtime_shape : ... -> tensor<*xf32>` is refused: its
    rank follows from nothing that is known.
  }];
}

#endif // ONNX_AOT_TRANSFORMS_PASSES
