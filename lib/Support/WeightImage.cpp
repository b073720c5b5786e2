//===- WeightImage.cpp - the constant bytes of a module -------------------===//

#include "onnx-aot/Support/WeightImage.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace onnx_aot;

uint64_t WeightImage::add(llvm::ArrayRef<char> bytes,
                          std::shared_ptr<const void> owner) {
  llvm::StringRef text(bytes.data(), bytes.size());
  llvm::SmallVector<unsigned, 1> &candidates = byHash[llvm::xxh3_64bits(text)];
  for (unsigned index : candidates)
    if (segments[index].bytes == bytes)
      return segments[index].offset;
  candidates.push_back(segments.size());
  return append(bytes, std::move(owner));
}

uint64_t WeightImage::append(llvm::ArrayRef<char> bytes,
                             std::shared_ptr<const void> owner) {
  segments.push_back({size, bytes, std::move(owner)});
  // An empty segment also gets an address of its own: offsets stay distinct.
  size = llvm::alignTo(size + std::max<uint64_t>(bytes.size(), 1),
                       ONNX_AOT_ALIGNMENT);
  return segments.back().offset;
}

uint64_t WeightImage::add(std::vector<char> bytes) {
  auto owner = std::make_shared<const std::vector<char>>(std::move(bytes));
  return add(*owner, owner);
}

/// Calls `take` with the image's bytes in order.
template <typename Take>
static void visit(const WeightImage &image, Take take) {
  static constexpr char zeros[ONNX_AOT_ALIGNMENT] = {};
  uint64_t position = 0;
  auto pad = [&](uint64_t end) {
    while (position < end) {
      uint64_t count = std::min<uint64_t>(end - position, sizeof(zeros));
      take(llvm::ArrayRef(zeros, count));
      position += count;
    }
  };
  for (const WeightImage::Segment &segment : image.getSegments()) {
    pad(segment.offset);
    take(segment.bytes);
    position += segment.bytes.size();
  }
  pad(image.getSize());
}

void WeightImage::write(llvm::raw_ostream &os) const {
  visit(*this,
        [&](llvm::ArrayRef<char> part) { os.write(part.data(), part.size()); });
}

uint64_t WeightImage::hash() const {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  visit(*this, [&](llvm::ArrayRef<char> part) {
    XXH3_64bits_update(&state, part.data(), part.size());
  });
  return XXH3_64bits_digest(&state);
}
