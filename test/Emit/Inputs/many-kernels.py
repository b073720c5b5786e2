"""Prints an LLVM dialect module: many-kernels.py KERNELS INSTRUCTIONS."""
import sys

kernels, size = map(int, sys.argv[1:])
print("module attributes {abi.inputs = [], abi.outputs = [], codegen.weights = []} {")
print("llvm.mlir.global private constant @one(1.0 : f32) : f32")
for k in range(kernels):
    mark = " attributes {onnx_aot.scalar_loops}" if k % 2 else ""
    print(f"llvm.func @kernel{k}(%p: !llvm.ptr){mark} {{\n%a = llvm.mlir.addressof @one : !llvm.ptr")
    print("%v0 = llvm.load %p : !llvm.ptr -> f32\n%c = llvm.load %a : !llvm.ptr -> f32")
    for i in range(size):
        print(f"%v{i + 1} = llvm.{'fadd' if i % 3 else 'fmul'} %v{i}, %{'c' if i % 2 else 'v0'} : f32")
    print(f"llvm.store %v{size}, %p : f32, !llvm.ptr\nllvm.return\n}}")
pointers = ", ".join(f"%p{i}: !llvm.ptr" for i in range(6))
print(f"llvm.func @run({pointers}) -> i32 {{\n%ok = llvm.mlir.constant(0 : i32) : i32")
for k in range(kernels):
    print(f"llvm.call @kernel{k}(%p5) : (!llvm.ptr) -> ()")
print("llvm.return %ok : i32\n}")
print("llvm.func @plan(%a: !llvm.ptr, %b: !llvm.ptr, %c: !llvm.ptr) -> i32 {")
print("%ok = llvm.mlir.constant(0 : i32) : i32\nllvm.return %ok : i32\n}\n}")
