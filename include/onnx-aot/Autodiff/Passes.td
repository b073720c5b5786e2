//===- Passes.td - passes that differentiate --------------*- tablegen -*-===//

#ifndef ONNX_AOT_AUTODIFF_PASSES
#define ONNX_AOT_AUTODIFF_PASSES

include "mlir/Pass/PassBase.td"

def Autodiff : Pass<"onnx-autodiff", "::mlir::ModuleOp"> {
  let summary = "Append gradients of inputs to the results of the entry function";
  let description = [{
    Requires inferred types. Each input that is chosen gets a result
    `<input>_grad`: the gradient of the sum of all elements of the chosen
    outputs. Fails at all ops that have no gradient, all of them at once, when
    the way from such an output to such an input leads through them. An input
    that no output depends on gets zeros and a warning.

    `inputs=x outputs=y`:
    ```mlir
    func.func @main(%x: tensor<4xf32> {onnx.name = "x"})
        -> (tensor<4xf32> {onnx.name = "y"}) {
      %y = onnx.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    // becomes
      %y = onnx.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %g = onnx.Mul %ones, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %y, %g : tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let options = [
    ListOption<"inputs", "inputs", "std::string",
               "Names or globs of inputs to differentiate for (default: all "
               "inputs of floats)">,
    ListOption<"outputs", "outputs", "std::string",
               "Names or globs of outputs to differentiate (default: the first)">
  ];
  let dependentDialects = ["::onnx_aot::onnx::OnnxDialect",
                           "::onnx_aot::train::TrainDialect"];
}

def ExpandGradients : Pass<"onnx-expand-gradients", "::mlir::ModuleOp"> {
  let summary = "Expand ONNX's Gradient operators";
  let description = [{
    Requires inferred types. Each train.Gradient becomes a copy of the ops between
    its xs, its zs and its y, evaluated at its inputs, and their gradients; in
    program order, so that a gradient may be differentiated again. Fails at all
    ops in the way; guarantees that no train.Gradient is left.

    ```mlir
    %y = onnx.Exp %x : ...
    %g = train.Gradient %y, %x, %v : ...
    // becomes
    %y = onnx.Exp %x : ...
    %0 = onnx.Identity %v : ...
    %g = onnx.Exp %0 : ...
    ```
  }];
  let dependentDialects = ["::onnx_aot::onnx::OnnxDialect",
                           "::onnx_aot::train::TrainDialect"];
}

def ListGradients : Pass<"onnx-list-gradients", "::mlir::ModuleOp"> {
  let summary = "Print the names of all ops that have a gradient rule";
  let description = [{
    Leaves the module alone; an empty one will do. One name a line, sorted, on
    standard output.
  }];
  let dependentDialects = ["::onnx_aot::onnx::OnnxDialect",
                           "::onnx_aot::train::TrainDialect"];
}

#endif // ONNX_AOT_AUTODIFF_PASSES
