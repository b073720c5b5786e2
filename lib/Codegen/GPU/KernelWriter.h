//===- KernelWriter.h - writes a device kernel ------------------*- C++ -*-===//
//
// What all kernel families share: the function with its parameters, arithmetic
// on 32-bit indices, loads and stores, and the evaluation of pointwise ops at a
// point of the kernel's dimensions, backwards from what is wanted.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_CODEGEN_GPU_KERNELWRITER_H
#define ONNX_AOT_CODEGEN_GPU_KERNELWRITER_H

#include "KernelAnalysis.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/BitVector.h"

namespace onnx_aot::gpu_kernel {

/// An index for each of the kernel's dimensions (i32); null where not wanted.
using Point = llvm::SmallVector<mlir::Value>;

/// Address spaces of the device.
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr int64_t kWarp = 32;

/// What a kernel takes beside its operands.
struct KernelForm {
  /// Scratch memory, and the number of parts that sums are cut into.
  bool isSplit = false;
  /// Launches that are one: each has operands of its own, apart from the common
  /// ones, and the number of the block after its last.
  int64_t launches = 1;
  llvm::BitVector common;

  /// An operand is passed once for all launches.
  bool isCommon(size_t operand) const {
    return launches == 1 || common[operand];
  }
};

class KernelWriter {
public:
  KernelWriter(const KernelAnalysis &kernel, mlir::gpu::GPUModuleOp module,
               llvm::StringRef name, int64_t threads, const KernelForm &form);

  /// Ends the function.
  void finish();

  mlir::ImplicitLocOpBuilder &b() { return builder; }
  const KernelAnalysis &analysis() const { return kernel; }

  //===--- Index arithmetic, 32 bits --------------------------------------===//

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value isZero(mlir::Value value);
  mlir::Value ceilDiv(mlir::Value a, int64_t divisor);

  mlir::Value threadIndex() { return thread; }
  mlir::Value blockIndex() { return blockId; }
  mlir::Value gridSize() { return grid; }
  mlir::Value size(unsigned dim);
  mlir::Value product(llvm::ArrayRef<unsigned> dims);
  /// The row-major number of a point along `dims`.
  mlir::Value linearize(llvm::ArrayRef<unsigned> dims, const Point &point);
  /// Writes the indices of a row-major number of `dims` into `point`.
  void delinearize(mlir::Value linear, llvm::ArrayRef<unsigned> dims,
                   Point &point);

  //===--- Control flow ---------------------------------------------------===//

  /// `for (i = lower; i < upper; i += step)` with carried values.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, mlir::Value step,
       mlir::ValueRange carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// The value of `body` where the condition holds, else `otherwise`.
  mlir::Value choose(mlir::Value condition, mlir::Value otherwise,
                     llvm::function_ref<mlir::Value()> body);
  /// The first number from `lower` to `upper` for which `isFound` holds; else
  /// `upper`.
  mlir::Value search(mlir::Value lower, mlir::Value upper,
                     llvm::function_ref<mlir::Value(mlir::Value)> isFound);
  void barrier();
  /// The value of the lane `distance` up or down (xor), any device type.
  mlir::Value shuffle(mlir::Value value, int64_t distance);

  /// The warp's sums of 16x8 results plus the product of fragments, whose rows
  /// and columns are 32 bytes of elements of one of the types f16, bf16, tf32,
  /// s8, u8. Integers wrap around.
  llvm::SmallVector<mlir::Value> multiplyFragments(mlir::ValueRange a,
                                                   mlir::ValueRange b,
                                                   mlir::ValueRange sums,
                                                   mlir::NVVM::MMATypes type);

  /// The nearest number of 10 bits of fraction, still an f32, or an f32's bits.
  mlir::Value roundToTf32(mlir::Value value);

  /// Four matrices of 8 rows of 16 bytes from shared memory, by the whole warp:
  /// lane i says where row i % 8 of matrix i / 8 begins, and gets of each
  /// matrix the four bytes that fragments hold, as an i32.
  llvm::SmallVector<mlir::Value>
  loadMatrices(mlir::Value base, mlir::Type element, mlir::Value index);

  //===--- Memory ---------------------------------------------------------===//

  /// The number of parts that sums are cut into.
  mlir::Value parts();
  mlir::Value loadScratch(mlir::Type type, mlir::Value index);
  void storeScratch(mlir::Value value, mlir::Value index);

  /// Static shared memory of `count` elements.
  mlir::Value shared(mlir::Type element, int64_t count, llvm::StringRef name);
  mlir::Value loadShared(mlir::Value base, mlir::Type type, mlir::Value index);
  /// A number that this kernel has not used for a name yet.
  unsigned nextNumber() { return numNames++; }
  /// Loads `type` from the element's place on.
  mlir::Value loadSharedAs(mlir::Value base, mlir::Type element,
                           mlir::Value index, mlir::Type type);
  void storeShared(mlir::Value value, mlir::Value base, mlir::Value index);
  /// Where an element lies.
  mlir::Value sharedAt(mlir::Value base, mlir::Type element, mlir::Value index);
  /// Begins to copy an element of 4 bytes of an input to shared memory, from
  /// sm_80 on; zero where it is outside.
  void copyToShared(mlir::Value target, mlir::linalg::GenericOp op,
                    mlir::OpOperand &input, const Point &point,
                    mlir::Value isInside);
  /// All copies that this thread has begun are one group.
  void commitCopies();
  /// Until this thread's groups of copies are there. Others see them after a
  /// barrier.
  void waitForCopies();
  mlir::Value load(mlir::Value tensorArgument,
                   llvm::ArrayRef<mlir::Value> indices);
  void store(mlir::Value value, unsigned argument,
             llvm::ArrayRef<mlir::Value> indices);

  //===--- Values ---------------------------------------------------------===//

  /// Forgets values when it goes: code after must not use those made inside.
  class Scope {
  public:
    explicit Scope(KernelWriter &writer)
        : writer(writer), size(writer.known.size()) {}
    ~Scope() { writer.known.resize(size); }

  private:
    KernelWriter &writer;
    size_t size;
  };

  /// States what a reduction's result is at a point.
  void define(mlir::linalg::GenericOp op, const Point &point,
              mlir::Value value) {
    known.push_back({op, point, {value}});
  }
  /// States what an input's element is at the points that are evaluated next.
  void provide(mlir::OpOperand &input, mlir::Value element) {
    provided[&input] = element;
  }
  /// The op's results at a point.
  llvm::SmallVector<mlir::Value> evaluate(mlir::linalg::GenericOp op,
                                          const Point &point);
  /// Stores the last op's results at a point.
  void storeResults(const Point &point);
  /// The accumulator after one more step of a reduction.
  mlir::Value accumulate(mlir::linalg::GenericOp op, const Point &point,
                         mlir::Value accumulator);
  mlir::Value combine(const codegen::Combiner &combiner, mlir::Value a,
                      mlir::Value b);
  /// What all lanes of a warp have, combined.
  mlir::Value combineLanes(const codegen::Combiner &combiner,
                           mlir::Value value);
  mlir::Value getNeutral(const codegen::Combiner &combiner);
  mlir::Value getInitial(mlir::linalg::GenericOp op, unsigned result = 0);
  /// An op's results after one more step, for ops that reduce by any body.
  llvm::SmallVector<mlir::Value> step(mlir::linalg::GenericOp op,
                                      const Point &point,
                                      mlir::ValueRange carried);
  /// The value of a scalar of the kernel function.
  mlir::Value getScalar(mlir::Value value);

  /// Maps the block arguments of the wanted operands to their values.
  void bindInputs(mlir::linalg::GenericOp op, const Point &point,
                  mlir::IRMapping &mapping,
                  llvm::function_ref<bool(mlir::OpOperand &)> wanted);
  void evaluateBody(mlir::linalg::GenericOp op, const Point &point,
                    mlir::IRMapping &mapping,
                    llvm::function_ref<bool(mlir::Operation *)> skip);
  mlir::Value lookup(mlir::IRMapping &mapping, mlir::Value value);
  llvm::SmallVector<mlir::Value> getIndices(mlir::AffineMap map,
                                            mlir::linalg::GenericOp op,
                                            const Point &point);

private:
  /// A parameter of the kernel.
  struct Argument {
    mlir::Value value; ///< pointer, or scalar
    mlir::Type element;
    llvm::SmallVector<mlir::Value> sizes, strides;
  };
  struct Known {
    mlir::linalg::GenericOp op;
    Point point;
    llvm::SmallVector<mlir::Value> values;
  };

  void createFunction(mlir::gpu::GPUModuleOp module, llvm::StringRef name,
                      int64_t threads, const KernelForm &form);
  /// What one operand is passed as: its address or value, then what is known at
  /// run time of its sizes and strides.
  llvm::SmallVector<mlir::Type> getParameterTypes(mlir::Type operand);
  void readOperand(mlir::Type operand, mlir::ValueRange parameters);
  /// Runs over the blocks of all launches. Returns the operands of the launch
  /// that a block belongs to, and numbers its blocks from 0 on.
  llvm::SmallVector<mlir::Value> enterLaunch(mlir::ValueRange parameters,
                                             int64_t each, int64_t launches);
  llvm::SmallVector<mlir::Value> selectLaunch(mlir::ValueRange parameters,
                                              int64_t each, int64_t first,
                                              int64_t end, mlir::Value block);
  mlir::Value address(const Argument &argument,
                      llvm::ArrayRef<mlir::Value> indices);
  mlir::Value evaluate(mlir::AffineExpr expr,
                       llvm::ArrayRef<mlir::Value> loops);

  const KernelAnalysis &kernel;
  mlir::ImplicitLocOpBuilder builder;
  mlir::LLVM::LLVMFuncOp function;
  llvm::SmallVector<Argument> arguments;
  mlir::Value thread, blockId, grid;
  std::vector<Known> known;
  llvm::DenseMap<mlir::OpOperand *, mlir::Value> provided;
  unsigned numNames = 0;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::DenseMap<unsigned, mlir::Value> sizeValues;
};

} // namespace onnx_aot::gpu_kernel

#endif // ONNX_AOT_CODEGEN_GPU_KERNELWRITER_H
