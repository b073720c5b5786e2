//===- ConstantOps.td - constants ---------------------------*- tablegen -*-===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_ConstantOp : Onnx_Op<"Constant", [ConstantLike,
    AllTypesMatch<["value", "output"]>]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Initializers and all forms of ONNX's Constant node. Large values live in
    resource blobs (`dense_resource`), never in the context's attribute storage.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Onnx_Tensor:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getValue().getType());
      return ::mlir::success();
    }
  }];
}
