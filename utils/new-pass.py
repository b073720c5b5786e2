#!/usr/bin/env python3
"""Write the stubs of a new pass: definition, source, test (docs/AddingAPass.md).

usage: new-pass.py ROOM NAME SUMMARY
       e.g. new-pass.py Transforms FuseConvBias "Fold an Add after a convolution into its bias"

ROOM is a folder of lib with a Passes.td: Transforms, Codegen/CPU, ... SUMMARY begins with a verb. The test
fails until the pass does something.
"""
import re
import sys

from scaffold import ROOT, Edits, banner, kebab

PREFIXES = {"Transforms": "onnx-", "Autodiff": "train-", "Optimizer": "train-", "Codegen/CPU": "cpu-",
            "Codegen/GPU": "gpu-"}


def source(name, title, header):
    return f"""{banner(f'{name}.cpp - {title}', '')}

#include "{header}"

using namespace mlir;
using namespace onnx_aot;

namespace onnx_aot {{
#define GEN_PASS_DEF_{name.upper()}
#include "{header}.inc"
}} // namespace onnx_aot

namespace {{
struct {name} : onnx_aot::impl::{name}Base<{name}> {{
  void runOnOperation() override {{
    getOperation()->emitError("{name} is not written yet");
    signalPassFailure();
  }}
}};
}} // namespace
"""


def definition(name, flag, summary):
    return f"""def {name} : Pass<"{flag}", "::mlir::ModuleOp"> {{
  let summary = "{summary}";
  let description = [{{
    Requires: ?
    Guarantees: ?
    ```mlir
    // before
    // after
    ```
  }}];
}}

"""


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    room, name, summary = sys.argv[1:]
    room = room.strip("/")
    if not re.fullmatch(r"[A-Z]\w+", name):
        sys.exit(f"{name}: a pass has a CamelCase name")
    if '"' in summary or not re.match(r"[A-Z]", summary):
        sys.exit("the summary begins with a verb and a capital letter and has no quotes")
    passes = f"include/onnx-aot/{room}/Passes.td"
    if not (ROOT / passes).is_file():
        rooms = sorted(str(p.parent.relative_to(ROOT / "include/onnx-aot"))
                       for p in (ROOT / "include/onnx-aot").rglob("Passes.td"))
        sys.exit(f"{room}: no {passes} (rooms with passes: {', '.join(rooms)})")
    flag = PREFIXES.get(room, "") + kebab(name)
    edits = Edits()
    if f"def {name} " in edits.text(passes):
        sys.exit(f"{passes} has {name} already")
    edits.insert(passes, r"^#endif", definition(name, flag, summary))
    edits.create(f"lib/{room}/{name}.cpp", source(name, summary[0].lower() + summary[1:], f"onnx-aot/{room}/Passes.h"))
    edits.add_source(f"lib/{room}/CMakeLists.txt", f"{name}.cpp")
    edits.create(f"test/{room}/{kebab(name)}.mlir", f"""// RUN: onnx-aot-opt %s -{flag} | FileCheck %s

// CHECK-LABEL: func.func @applies
// CHECK: ?
func.func @applies() {{
  return
}}

// CHECK-LABEL: func.func @must_not_apply
// CHECK: ?
func.func @must_not_apply() {{
  return
}}
""")
    edits.write()
    print(f"\nnext: the description in {passes}, the pass, its two cases, its place in lib/{room}/Pipeline.cpp; then\n"
          f"  utils/check-style.py --fix && lit build/dev/test --filter {kebab(name)}")


if __name__ == "__main__":
    main()
