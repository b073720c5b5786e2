//===- TrainBase.td - the train dialect and its op class --*- tablegen -*-===//
//
// Ops that only a training step has. They follow the conventions of
// OnnxBase.td and have shape functions like onnx ops; an op that ONNX has is
// never repeated here.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_TRAIN_IR_TRAINBASE
#define ONNX_AOT_DIALECT_TRAIN_IR_TRAINBASE

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::onnx_aot::train";
  let summary = "What the backward pass and the optimizers need beyond ONNX";
  let dependentDialects = ["::onnx_aot::onnx::OnnxDialect"];
  // Ops are registered file by file so that each compiles apart.
  let extraClassDeclaration = [{
    void registerConvolutionOps();
    void registerGradientOps();
    void registerOptimizerOps();
  }];
}

/// An op without side effects that has a shape function.
class Train_Op<string mnemonic, list<Trait> traits = []>
    : Onnx_Op<mnemonic, traits> {
  let opDialect = Train_Dialect;
  let cppNamespace = Train_Dialect.cppNamespace;
}

/// y = f(x): same shape, same element type.
class Train_UnaryOp<string mnemonic, list<Trait> traits = []>
    : Onnx_UnaryOp<mnemonic, traits> {
  let opDialect = Train_Dialect;
  let cppNamespace = Train_Dialect.cppNamespace;
}

#endif // ONNX_AOT_DIALECT_TRAIN_IR_TRAINBASE
