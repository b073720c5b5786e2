//===- ControlFlowOps.td - branches and loops ----------------*- tablegen -*-===//
//
// Bodies see the values of the graphs around them. They are free of side
// effects like all ops, hence so are If, Loop and Scan.
//
//===----------------------------------------------------------------------===//

include "onnx-aot/Dialect/Onnx/IR/OnnxBase.td"

def Onnx_YieldOp : Onnx_Op<"Yield", [Terminator]> {
  let summary = "ends a subgraph and gives its outputs";
  let arguments = (ins Variadic<Onnx_Value>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &) { return ::mlir::success(); }
  }];
}

/// An op with bodies.
class Onnx_RegionOp<string mnemonic, list<Trait> traits = []>
    : Onnx_OpBase<mnemonic, !listconcat(
          [RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock],
          traits)>;

def Onnx_IfOp : Onnx_RegionOp<"If"> {
  let summary = "the outputs of one of two subgraphs";
  let arguments = (ins Onnx_Tensor:$cond);
  let regions = (region SizedRegion<1>:$then_branch, SizedRegion<1>:$else_branch);
  let results = (outs Variadic<Onnx_Value>:$outputs);
  let assemblyFormat = [{
    $cond `then` $then_branch `else` $else_branch attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Onnx_LoopOp : Onnx_RegionOp<"Loop", [AttrSizedOperandSegments]> {
  let summary = "runs a subgraph up to m times, as long as cond holds";
  let description = [{
    The body takes the iteration number, the condition and the carried values;
    it yields the next condition, the next carried values and one value per scan
    output. Scan outputs are stacked along a new first dimension.
  }];
  let arguments = (ins Optional<Onnx_Tensor>:$m, Optional<Onnx_Tensor>:$cond,
                       Variadic<Onnx_Value>:$v_initial);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Onnx_Value>:$v_final_and_scan_outputs);
  let assemblyFormat = [{
    operands `do` $body attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Onnx_ScanOp : Onnx_RegionOp<"Scan"> {
  let summary = "runs a subgraph over slices of its last num_scan_inputs inputs";
  let description = [{
    The body takes the state and one slice per scan input; it yields the next
    state and one value per scan output, which are stacked along a new dimension.
  }];
  let arguments = (ins Variadic<Onnx_Tensor>:$initial_state_and_scan_inputs,
                       I64Attr:$num_scan_inputs,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_input_axes,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_input_directions,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_output_axes,
                       OptionalAttr<DenseI64ArrayAttr>:$scan_output_directions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Onnx_Tensor>:$final_state_and_scan_outputs);
  let assemblyFormat = [{
    operands `do` $body attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
