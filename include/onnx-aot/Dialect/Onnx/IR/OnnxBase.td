//===- OnnxBase.td - the onnx dialect and its op classes --*- tablegen -*-===//
//
// Conventions every category file follows:
//  - an op's mnemonic is the ONNX op_type, operands, results and attributes
//    have the names and the order of the ONNX specification (newest opset);
//    operand and attribute names are written in lower_snake_case;
//  - an optional ONNX input is Optional<>, a trailing list is Variadic<>;
//  - every ONNX output is a result, also the optional ones: an unused result
//    costs nothing, and passes need not ask whether it exists;
//  - int -> I64Attr, float -> F32Attr, string -> StrAttr, ints ->
//    DenseI64ArrayAttr, floats -> DenseF32ArrayAttr, strings -> StrArrayAttr,
//    tensor -> ElementsAttr, graph -> a region that ends in onnx.Yield.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_DIALECT_ONNX_IR_ONNXBASE
#define ONNX_AOT_DIALECT_ONNX_IR_ONNXBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "onnx-aot/Dialect/Onnx/IR/OnnxInterfaces.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::onnx_aot::onnx";
  let summary = "ONNX operators with the semantics of the newest opset";
  let description = [{
    A typed mirror of the ONNX operator set. Versions are not part of it: the
    importer upgrades older opsets. Symbolic dimensions are kept in the tensor
    type's encoding, an affine map from the module's symbols to the sizes:
    `tensor<?x768xf32, affine_map<()[s0] -> (s0, 768)>>`; the module attribute
    `onnx.symbols` names them.
  }];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // Ops are registered category by category so that each compiles apart.
  let extraClassDeclaration = [{
    void registerElementwiseOps();
    void registerLogicalOps();
    void registerReductionOps();
    void registerMatMulOps();
    void registerConvolutionOps();
    void registerPoolingOps();
    void registerNormalizationOps();
    void registerShapeOps();
    void registerIndexingOps();
    void registerQuantizationOps();
    void registerRecurrentOps();
    void registerSequenceOps();
    void registerRandomOps();
    void registerControlFlowOps();
    void registerLossOps();
    void registerContribOps();
    void registerConstantOps();
  }];
}

//===--- Types ------------------------------------------------------------===//

class Onnx_Type<string name, string typeMnemonic>
    : TypeDef<Onnx_Dialect, name> {
  let mnemonic = typeMnemonic;
}
def Onnx_String : Onnx_Type<"String", "string"> {
  let summary = "element type of a tensor of strings";
}
def Onnx_Sequence : Onnx_Type<"Sequence", "seq"> {
  let summary = "a list of values of one type";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}
def Onnx_Optional : Onnx_Type<"Optional", "opt"> {
  let summary = "a value that may be absent";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

/// A tensor of any rank and element type; ops narrow it in their verifier.
def Onnx_Tensor : Type<AnyTensor.predicate, "tensor">;
/// Anything that may flow along an edge of an ONNX graph.
def Onnx_Value : Type<
    Or<[AnyTensor.predicate, Onnx_Sequence.predicate, Onnx_Optional.predicate]>,
    "tensor, sequence or optional">;

/// Element types that arithmetic is defined for. bool is `i1`, a signed integer
/// is signless, an unsigned one says so (`ui8`).
def Onnx_FloatTensor : TensorOf<[F16, BF16, F32, F64]>;
def Onnx_SignedIntTensor : TensorOf<[I8, I16, I32, I64]>;
def Onnx_UnsignedIntTensor : TensorOf<[UI8, UI16, UI32, UI64]>;
def Onnx_IntTensor : TensorOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Onnx_SignedTensor : TensorOf<[I8, I16, I32, I64, F16, BF16, F32, F64]>;
def Onnx_NumberTensor : TensorOf<
    [I8, I16, I32, I64, UI8, UI16, UI32, UI64, F16, BF16, F32, F64]>;
def Onnx_NumberOrBoolTensor : TensorOf<
    [I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64, F16, BF16, F32, F64]>;
def Onnx_BoolTensor : TensorOf<[I1]>;
/// Axes, indices and sizes.
def Onnx_IndexTensor : TensorOf<[I32, I64]>;

/// A string attribute with a closed set of values.
class Onnx_OneOf<list<string> values> : ConfinedAttr<StrAttr, [AttrConstraint<
    CPred<"::llvm::is_contained({\"" # !interleave(values, "\", \"") #
          "\"}, ::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "one of " # !interleave(values, ", ")>]>;
/// An int attribute that is 0 or 1.
class Onnx_Flag<string default> : DefaultValuedAttr<ConfinedAttr<I64Attr,
    [AttrConstraint<CPred<
         "::llvm::isUInt<1>(::llvm::cast<::mlir::IntegerAttr>($_self).getInt())">,
     "0 or 1">]>, default>;
class Onnx_Int<string default> : DefaultValuedAttr<I64Attr, default>;
class Onnx_Float<string default> : DefaultValuedAttr<F32Attr, default>;

//===--- Ops --------------------------------------------------------------===//

/// Base of every op. `arguments` is read back as the importer's schema. An op
/// with declarations of its own writes
/// `let extraClassDeclaration = schemaDeclaration # [{...}]`.
class Onnx_OpBase<string mnemonic, list<Trait> traits>
    : Op<Onnx_Dialect, mnemonic,
         !listconcat([OnnxOpInterface], traits)> {
  string operandKinds = !foldl("", !range(!size(arguments)), kinds, i, kinds #
      !cond(!isa<Optional>(!getdagarg<Constraint>(arguments, i)) : "o",
            !isa<Variadic>(!getdagarg<Constraint>(arguments, i)) : "v",
            !isa<TypeConstraint>(!getdagarg<Constraint>(arguments, i)) : "r",
            true : ""));
  string resultKinds = !foldl("", !range(!size(results)), kinds, i, kinds #
      !if(!isa<Variadic>(!getdagarg<Constraint>(results, i)), "v", "r"));
  string regionNames = !foldl("", !range(!size(regions)), names, i,
      names # !if(!eq(i, 0), "", ",") # !getdagname(regions, i));
  string schemaDeclaration = "static ::llvm::StringRef getOperandKinds() { return \""
      # operandKinds # "\"; }\n"
      # "static ::llvm::StringRef getResultKinds() { return \""
      # resultKinds # "\"; }\n"
      # "static ::llvm::StringRef getRegionNames() { return \""
      # regionNames # "\"; }\n"
      # "::llvm::LogicalResult inferResultTypes("
      # "::llvm::SmallVectorImpl<::mlir::Type> &types);\n";
  let extraClassDeclaration = schemaDeclaration;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// An op without side effects: all but control flow.
class Onnx_Op<string mnemonic, list<Trait> traits = []>
    : Onnx_OpBase<mnemonic, !listconcat([Pure], traits)>;

/// y = f(x): same shape, same element type.
class Onnx_UnaryOp<string mnemonic, list<Trait> traits = []>
    : Onnx_Op<mnemonic, traits> {
  let arguments = (ins Onnx_Tensor:$x);
  let results = (outs Onnx_Tensor:$y);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(getX().getType());
      return ::mlir::success();
    }
  }];
}

/// c = f(a, b) with numpy broadcasting, same element type.
class Onnx_BinaryOp<string mnemonic, list<Trait> traits = []>
    : Onnx_Op<mnemonic, traits> {
  let arguments = (ins Onnx_Tensor:$a, Onnx_Tensor:$b);
  let results = (outs Onnx_Tensor:$c);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::onnx_aot::onnx::inferBroadcast(*this, types);
    }
  }];
}

/// c = a <op> b with numpy broadcasting, c is bool.
class Onnx_CompareOp<string mnemonic, list<Trait> traits = []>
    : Onnx_BinaryOp<mnemonic, traits> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::onnx_aot::onnx::inferBroadcast(
          *this, types, ::mlir::IntegerType::get(getContext(), 1));
    }
  }];
}

/// y = f(x_0, ..., x_n) with numpy broadcasting.
class Onnx_VariadicOp<string mnemonic, list<Trait> traits = []>
    : Onnx_Op<mnemonic, traits> {
  let arguments = (ins Variadic<Onnx_Tensor>:$inputs);
  let results = (outs Onnx_Tensor:$y);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::onnx_aot::onnx::inferBroadcast(*this, types);
    }
  }];
}

#endif // ONNX_AOT_DIALECT_ONNX_IR_ONNXBASE
