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

def AssignLayouts : Pass<"onnx-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Assign channels-last layouts to convolutions and pools";
  let description = [{
    Requires inferred types. Every Conv whose arithmetic outweighs transposes (32
    multiplications or more for each output) computes channels-last; transposes
    round it sink through the graph until they cancel or reach its end, pools and
    small convolutions on the way follow. Graphs without such a Conv keep their
    transposes. A Transpose of unit dimensions becomes Squeeze and Unsqueeze.

    ```mlir
    %0 = onnx.Conv %x, %w : ...
    %1 = onnx.Relu %0 : ...
    %2 = onnx.Conv %1, %v : ...
    // becomes
    %t = onnx.Transpose %x {perm = array<i64: 0, 2, 3, 1>} : ...
    %0 = onnx.Conv %t, %w {channels_last} : ...
    %1 = onnx.Relu %0 : ...
    %2 = onnx.Conv %1, %v {channels_last} : ...
    %3 = onnx.Transpose %2 {perm = array<i64: 0, 3, 1, 2>} : ...
    ```
  }];
}

def Canonicalize : Pass<"onnx-canonicalize", "::mlir::ModuleOp"> {
  let summary = "Bring the graph into its smallest form";
  let description = [{
    Requires inferred types. Removes ops that do nothing, merges data movement that
    cancels, spells what exporters write in several ways in one. Results stay bit
    for bit what they were, but for x ^ 3, which rounds twice. Terminates: every
    rewrite removes an op or makes one that none of them starts from.

    ```mlir
    %0 = onnx.Transpose %x {perm = array<i64: 1, 0>} : ...
    %1 = onnx.Transpose %0 {perm = array<i64: 1, 0>} : ...
    // becomes %x
    ```
  }];
}

def FuseConvBatchNorm : Pass<"onnx-fuse-conv-batch-norm", "::mlir::ModuleOp"> {
  let summary = "Fuse per-channel scales into weights";
  let description = [{
    Requires inferred types. A BatchNormalization in inference mode, or a Mul, Div,
    Add or Sub by a per-channel constant, behind a Conv,
    ConvTranspose, Gemm or MatMul of constant weights becomes part of the weights and
    the bias, which are computed in double and rounded once. Only where the product
    has no other user. A BatchNormalization that is left becomes Mul and Add.

    ```mlir
    %0 = onnx.Conv %x, %w : ...
    %1 = onnx.Mul %0, %c : (..., tensor<1x64x1x1xf32>) -> ...
    // becomes
    %1 = onnx.Conv %x, %w_scaled, %b_scaled : ...
    ```
  }];
}

def FoldConstants : Pass<"onnx-fold-constants", "::mlir::ModuleOp"> {
  let summary = "Evaluate ops on constants";
  let description = [{
    Requires nothing; infers types as it goes. Evaluates shape arithmetic (also on
    symbolic sizes where the result is constant), ops that move elements, and
    pointwise arithmetic, the latter in the tensor's own precision. An If whose
    condition that decides becomes the branch taken. What costs more
    than it saves stays:
    - a result that is larger than its operands may have `max-growth-bytes`;
    - a large operand with other users would be stored twice, so it is not folded;
    - all results together may have `max-total-bytes`.

    ```mlir
    %0 = onnx.Constant dense<[1, 2]> : tensor<2xi64>
    %1 = onnx.Add %0, %0 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    // becomes
    %1 = onnx.Constant dense<[2, 4]> : tensor<2xi64>
    ```
  }];
  let options = [
    Option<"maxGrowthBytes", "max-growth-bytes", "int64_t", "65536",
           "Largest result that may exceed its operands">,
    Option<"maxTotalBytes", "max-total-bytes", "int64_t", "268435456",
           "Bytes that all folded constants may take together">,
    Option<"smallIntegersOnly", "small-integers-only", "bool", "false",
           "Fold only what shapes and conditions are made of">
  ];
}

def RecognizeActivations
    : Pass<"onnx-recognize-activations", "::mlir::ModuleOp"> {
  let summary = "Recognize activations that exporters write as arithmetic";
  let description = [{
    Requires canonical form. Finds Gelu (with erf and with tanh), Swish, Mish and
    HardSwish in any order of their factors. Numbers must have the precision of the
    element type: 0.7071 is not 1 / sqrt 2. The result may differ by the roundings
    of the order.

    ```mlir
    %0 = onnx.Sigmoid %x : ...
    %1 = onnx.Mul %x, %0 : ...
    // becomes
    %1 = onnx.Swish %x : ...
    ```
  }];
}

def RecognizeNormalization
    : Pass<"onnx-recognize-normalization", "::mlir::ModuleOp"> {
  let summary = "Recognize normalizations that exporters write as arithmetic";
  let description = [{
    Requires canonical form (`x ^ 2` is `Mul(x, x)`). Finds LayerNormalization and
    RMSNormalization of f32 over trailing dimensions of known size, their scale and
    bias, and Softmax. The result may differ by the roundings of the order.

    ```mlir
    %e = onnx.Exp %centred : ...
    %s = onnx.ReduceSum %e, %axis : ...
    %1 = onnx.Div %e, %s : ...
    // becomes
    %1 = onnx.Softmax %x {axis = 1} : ...
    ```
  }];
}

def UseIntegerProducts
    : Pass<"onnx-use-integer-products", "::mlir::ModuleOp"> {
  let summary = "Use integer products for products of dequantized tensors";
  let description = [{
    Requires inferred types. A MatMul, Gemm or Conv of two dequantized tensors, the
    weights constant, sums the products of the numbers in int32, exactly, and
    scales the sum. QLinearMatMul and QLinearConv become the same ops. Zero points
    go into the weights where 8 bits hold the difference. The float form rounds
    each product and sum, so the results may differ by those roundings.

    ```mlir
    %0 = onnx.DequantizeLinear %a, %s, %p : ...
    %1 = onnx.DequantizeLinear %weights, %t : ...
    %2 = onnx.MatMul %0, %1 : ...
    // becomes
    %0 = onnx.MatMulInteger %a, %weights, %p : ...
    %1 = onnx.Cast %0 {to = 1} : ...
    %2 = onnx.Mul %1, %scale : ...
    ```

    What is left of dequantized constants becomes f32, but for the weights of a
    MatMul or Gemm that with `keep-blocks` stay numbers of four bits, with a scale
    for each block of the reduction.
  }];
  let options = [
    Option<"keepBlocks", "keep-blocks", "bool", "false",
           "Products take weights of four bits in blocks">
  ];
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

def DecideBranches : Pass<"onnx-decide-branches", "::mlir::ModuleOp"> {
  let summary = "Decide branches of which only one fits what follows";
  let description = [{
    Requires inferred types. An If whose branches give tensors of different ranks
    (exporters write one for a Squeeze of a size that they do not know) is
    replaced by the one branch whose rank all later ops accept. The module ends the
    run where the condition asks for the other one.

    ```mlir
    %0 = onnx.If %is_one then { Squeeze(%x) } else { %x } : ... -> tensor<*xf32>
    %1 = onnx.LSTM %0, ... // takes rank 3
    ```
  }];
}

def FixListLengths : Pass<"onnx-fix-list-lengths", "::mlir::ModuleOp"> {
  let summary = "Fix the lengths of inputs that ranks decide";
  let description = [{
    Requires inferred types. An input that is a list of pads, axes or sizes may have
    a symbolic length; where a rank tells it, it becomes a constant: the rank of the
    data, or the one that the model declares for an output (`onnx.rank`). The module
    takes lists of that length only.

    `onnx.Reshape %x, %shape : (..., tensor<?xi64, ...>) -> tensor<*xf32>` with a
    declared rank of 2 becomes `(..., tensor<2xi64>) -> tensor<?x?xf32, ...>`.
  }];
}

def SplitComposites : Pass<"onnx-split-composites", "::mlir::ModuleOp"> {
  let summary = "Replace sequences and optionals by tensors";
  let description = [{
    Requires inferred types. Guarantees that no value is a sequence or an optional.
    A sequence whose length and positions are known is its entries; another one, or
    one that crosses a border, is a tensor of all elements and a table of a row
    (rank, sizes) for each entry. An optional is a bool and the parts behind it.
    Inputs and outputs say by `onnx.part` which part they are.

    ```mlir
    %0 = onnx.SequenceConstruct %a, %b : ... -> !onnx.seq<tensor<4xf32>>
    %1 = onnx.SequenceAt %0, %one : ... -> tensor<4xf32>
    onnx.Relu %1 : ...
    // becomes
    onnx.Relu %b : ...
    ```
  }];
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

def WidenFloats : Pass<"onnx-widen-floats", "::mlir::ModuleOp"> {
  let summary = "Compute in float64 what computes in narrower floats";
  let description = [{
    All tensors of f16, bf16 and f32 become tensors of f64: inputs, outputs,
    constants, what casts and generators make. Needs shape inference afterwards.

    ```mlir
    %0 = onnx.Add %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    // becomes
    %0 = onnx.Add %x, %w : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    ```
  }];
}

#endif // ONNX_AOT_TRANSFORMS_PASSES
