//===- GradientInterface.td - ops that have a gradient ----*- tablegen -*-===//

#ifndef ONNX_AOT_AUTODIFF_GRADIENTINTERFACE
#define ONNX_AOT_AUTODIFF_GRADIENTINTERFACE

include "mlir/IR/OpBase.td"

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::onnx_aot";
  let description = [{
    The reverse-mode rule of an op. Attached to the ops of the dialects by
    lib/Autodiff/Rules; see GradientRule.h for how to write one.
  }];
  let methods = [
    InterfaceMethod<[{
      Creates the gradients of the operands from those of the results and hands
      them to the builder. Fails through `builder.unsupported(op, why)`.
    }], "::llvm::LogicalResult", "differentiate",
      (ins "::onnx_aot::GradientBuilder &":$builder)>,
    InterfaceMethod<[{
      Whether a result passes gradients to the operands: floats do. Ops that
      move elements do for every type, so that a quantized value may pass them
      through to its quantization.
    }], "bool", "carriesGradient", (ins "::mlir::OpResult":$result), "", [{
      return ::onnx_aot::isDifferentiable(result.getType());
    }]>
  ];
}

#endif // ONNX_AOT_AUTODIFF_GRADIENTINTERFACE
