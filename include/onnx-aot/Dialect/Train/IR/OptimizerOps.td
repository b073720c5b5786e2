//===- OptimizerOps.td - ops of optimizer steps ------------*- tablegen -*-===//

include "onnx-aot/Dialect/Train/IR/TrainBase.td"
