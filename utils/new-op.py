#!/usr/bin/env python3
"""Write the stubs of a new ONNX op: record, shape function, lowering, test (docs/AddingAnOp.md).

usage: new-op.py CATEGORY OP_TYPE [DOMAIN]         e.g. new-op.py Reduction ReduceLogSum

Operands, attributes and results come from the newest schema of the installed onnx package. The stubs build and
refuse: shape function and lowering report that they are not written, and the test fails until they are.
"""
import sys

from scaffold import ROOT, Edits, banner, kebab, require, snake

require("onnx")
import onnx.defs  # noqa: E402

ATTRIBUTES = {"INT": "I64Attr", "FLOAT": "F32Attr", "STRING": "StrAttr", "INTS": "DenseI64ArrayAttr",
              "FLOATS": "DenseF32ArrayAttr", "STRINGS": "StrArrayAttr", "TENSOR": "ElementsAttr"}


def operand(formal):
    """Returns an input or output of the schema as an ODS argument."""
    kind = "Onnx_Tensor" if "tensor" in str(sorted(formal.types)[:1]) else "Onnx_Value"
    if formal.option == onnx.defs.OpSchema.FormalParameterOption.Optional:
        kind = f"Optional<{kind}>"
    elif formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        kind = f"Variadic<{kind}>"
    return f"{kind}:${snake(formal.name)}"


def attribute(name, schema):
    """Returns an attribute of the schema as an ODS argument, or None for a graph: that is a region."""
    kind = ATTRIBUTES.get(schema.type.name)
    if not kind:
        return None
    default = onnx.helper.get_attribute_value(schema.default_value) if schema.default_value.type else None
    if default is None:
        return f"{kind if schema.required else f'OptionalAttr<{kind}>'}:${snake(name)}"
    if isinstance(default, bytes):
        default = f'\\"{default.decode()}\\"'
    elif isinstance(default, list):
        default = "{" + ", ".join(map(str, default)) + "}"
    elif isinstance(default, float):
        default = f"{default:g}f" if "." in f"{default:g}" or "e" in f"{default:g}" else f"{default:g}.0f"
    return f'DefaultValuedAttr<{kind}, "{default}">:${snake(name)}'


def record(op, schema):
    """Returns the op's TableGen record."""
    arguments = [operand(i) for i in schema.inputs]
    attributes = sorted(schema.attributes.items())
    arguments += [a for a in (attribute(n, s) for n, s in attributes) if a]
    graphs = [n for n, s in attributes if s.type.name == "GRAPH"]
    comma = ",\n                       "
    variable = sum(i.option != onnx.defs.OpSchema.FormalParameterOption.Single for i in schema.inputs)
    traits = ", [AttrSizedOperandSegments]" if variable > 1 else ""
    text = f'\ndef Onnx_{op}Op : Onnx_Op<"{op}"{traits}> {{\n  let summary = "?";\n'
    text += f"  let arguments = (ins {comma.join(arguments)});\n"
    # Every output is a result, also an optional one.
    results = [operand(o).replace("Optional<", "").replace(">", "") if "Optional<" in operand(o) else operand(o)
               for o in schema.outputs]
    text += f"  let results = (outs {comma.join(results)});\n"
    if graphs:
        text += f"  let regions = (region {', '.join(f'AnyRegion:${snake(g)}' for g in graphs)});\n"
    return text + "}\n"


def lowering(op):
    """Returns a lowering that refuses."""
    return f"""struct Lower{op} : OnnxLowering<onnx::{op}Op> {{
  using OnnxLowering::OnnxLowering;
  LogicalResult
  matchAndRewrite(onnx::{op}Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {{
    return unsupported(op, "is not lowered yet");
  }}
}};

"""


def lowering_file(category):
    """Returns an empty file of lowering patterns."""
    return f"""{banner(f'{category}.cpp - lowerings of the category', '')}

#include "LoweringBase.h"

using namespace mlir;
using namespace onnx_aot;

namespace {{

}} // namespace

void onnx_aot::populateOnnxToLinalg{category}Patterns(
    const LoweringContext &lowering, RewritePatternSet &patterns) {{
  patterns.add<>(lowering, patterns.getContext());
}}
"""


def test(op, schema):
    """Returns a lit test that fails until the op's shape function and lowering are written."""
    names = [snake(i.name) for i in schema.inputs if i.option == onnx.defs.OpSchema.FormalParameterOption.Single]
    given = ", ".join(f"%{n}: tensor<2x3xf32>" for n in names)
    types = ", ".join("tensor<2x3xf32>" for _ in names)
    count = len(schema.outputs)
    results = "tensor<*xf32>" if count == 1 else "(" + ", ".join(["tensor<*xf32>"] * count) + ")"
    value, first = ("%0", "%0") if count == 1 else (f"%0:{count}", "%0#0")
    return f"""// RUN: onnx-aot-opt %s -onnx-infer-shapes -convert-onnx-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @{snake(op)}
// CHECK: linalg.
func.func @{snake(op)}({given}) -> tensor<*xf32> {{
  {value} = onnx.{op} {', '.join('%' + n for n in names)} : ({types}) -> {results}
  return {first} : tensor<*xf32>
}}
"""


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    category, op = sys.argv[1:3]
    try:
        schema = onnx.defs.get_schema(op, domain=sys.argv[3] if len(sys.argv) == 4 else "")
    except onnx.defs.SchemaError:
        sys.exit(f"{op}: the onnx package has no such op")
    edits = Edits()
    ops = f"include/onnx-aot/Dialect/Onnx/IR/{category}Ops.td"
    if f'"{op}"' in edits.text(ops):
        sys.exit(f"{ops} has {op} already")
    edits.insert(ops, r"\Z", record(op, schema))
    edits.insert(f"lib/Dialect/Onnx/IR/{category}Ops.cpp", r"\Z", f"""
LogicalResult {op}Op::inferResultTypes(SmallVectorImpl<Type> &types) {{
  return emitOpError("has no shape function yet");
}}
""")
    source = f"lib/Conversion/OnnxToLinalg/{category}.cpp"
    if not (ROOT / source).is_file():
        edits.create(source, lowering_file(category))
        edits.add_source("lib/Conversion/OnnxToLinalg/CMakeLists.txt", f"{category}.cpp")
        edits.insert("lib/Conversion/OnnxToLinalg/LoweringCategories.def", "^#undef",
                     f"ONNX_AOT_LOWERING_CATEGORY({category})\n")
    edits.insert(source, r"^} // namespace\n", lowering(op))
    # First in the list: the place is sure, and clang-format wraps it.
    edits.insert(source, r"patterns\.add<", f"Lower{op}, ", after=True)
    edits.files[source] = edits.files[source].replace(f"add<Lower{op}, >", f"add<Lower{op}>")
    edits.create(f"test/Conversion/OnnxToLinalg/{kebab(op)}.mlir", test(op, schema))
    edits.write()
    print(f"\nnext: the summary in {ops} (a formula), shapes, lowering, and a case at execution; then\n"
          f"  utils/check-style.py --fix && lit build/dev/test --filter {kebab(op)}")


if __name__ == "__main__":
    main()
