//===- WeightImage.h - the constant bytes of a module -----------*- C++ -*-===//
//
// The weights as they lie in memory at run time: segments at aligned offsets.
// The image refers to the bytes and keeps their owner alive; it never copies
// them, so that large models pass through the compiler without being doubled.
//
//===----------------------------------------------------------------------===//
#ifndef ONNX_AOT_SUPPORT_WEIGHTIMAGE_H
#define ONNX_AOT_SUPPORT_WEIGHTIMAGE_H

#include "onnx-aot/abi/Abi.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace onnx_aot {

/// A list of segments, each aligned to ONNX_AOT_ALIGNMENT. Equal segments are
/// stored once.
class WeightImage {
public:
  /// Bytes at an offset, and whatever keeps them alive.
  struct Segment {
    uint64_t offset;
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
  };

  /// Appends `bytes`, or finds the equal segment that is already there, and
  /// returns its offset. Without an owner the bytes must outlive the image.
  uint64_t add(llvm::ArrayRef<char> bytes,
               std::shared_ptr<const void> owner = nullptr);

  /// Appends `bytes` without looking for an equal segment.
  uint64_t append(llvm::ArrayRef<char> bytes,
                  std::shared_ptr<const void> owner = nullptr);

  /// Appends bytes that the image shall own.
  uint64_t add(std::vector<char> bytes);

  llvm::ArrayRef<Segment> getSegments() const { return segments; }

  /// Bytes of the image; a multiple of ONNX_AOT_ALIGNMENT.
  uint64_t getSize() const { return size; }

  bool empty() const { return size == 0; }

  /// Writes the image, gaps filled with zeros.
  void write(llvm::raw_ostream &os) const;

  /// XXH3-64 of what `write` writes.
  uint64_t hash() const;

private:
  std::vector<Segment> segments;
  /// Segments by the hash of their bytes.
  llvm::DenseMap<uint64_t, llvm::SmallVector<unsigned, 1>> byHash;
  uint64_t size = 0;
};

} // namespace onnx_aot

#endif // ONNX_AOT_SUPPORT_WEIGHTIMAGE_H
