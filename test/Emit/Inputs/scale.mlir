// What Codegen hands to Emit: y = x * weights.
module @scale attributes {
  abi.symbols = [],
  abi.inputs = [{dims = array<i64: 4>, name = "x", type = 1 : i32}],
  abi.outputs = [{dims = array<i64: 4>, name = "y", type = 1 : i32}],
  codegen.arena_bytes = 128 : i64,
  codegen.weights = [[0, dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>]]
} {
  llvm.func @plan(%symbols: !llvm.ptr, %dims: !llvm.ptr, %arena: !llvm.ptr) -> i32 {
    %four = llvm.mlir.constant(4 : i64) : i64
    %bytes = llvm.mlir.constant(128 : i64) : i64
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.store %four, %dims : i64, !llvm.ptr
    llvm.store %bytes, %arena : i64, !llvm.ptr
    llvm.return %ok : i32
  }
  llvm.func @run(%rt: !llvm.ptr, %weights: !llvm.ptr, %symbols: !llvm.ptr,
                 %inputs: !llvm.ptr, %outputs: !llvm.ptr, %arena: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    %x = llvm.load %inputs : !llvm.ptr -> !llvm.ptr
    %y = llvm.load %outputs : !llvm.ptr -> !llvm.ptr
    llvm.call @"mul @kernel/1"(%weights, %x, %y) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.return %ok : i32
  }
  llvm.func @"mul @kernel/1"(%w: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr)
      attributes {onnx_aot.scalar_loops} {
    %a = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    %b = llvm.load %w : !llvm.ptr -> vector<4xf32>
    %c = llvm.fmul %a, %b : vector<4xf32>
    llvm.store %c, %y {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
    llvm.return
  }
}
