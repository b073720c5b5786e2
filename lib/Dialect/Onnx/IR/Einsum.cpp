//===- Einsum.cpp - equations of Einsum -----------------------------------===//

#include "onnx-aot/Dialect/Onnx/IR/Einsum.h"

#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;

namespace onnx_aot::onnx {

/// Labels from here on are the dimensions of `...`, counted from the right.
static constexpr int kFirstEllipsisLabel = 256;

/// One term: letters and at most one `...`, whose place is `ellipsis`.
struct EinsumTerm {
  EinsumLabels letters;
  std::optional<size_t> ellipsis;
};

static FailureOr<EinsumTerm> parseTerm(Operation *op, StringRef text) {
  EinsumTerm term;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (term.ellipsis)
        return op->emitOpError("equation has two '...' in one term");
      term.ellipsis = term.letters.size();
      continue;
    }
    if (!llvm::isAlpha(text.front()))
      return op->emitOpError("equation has an unexpected '")
             << text.take_front(1) << "' (supported: letters and '...')";
    term.letters.push_back(static_cast<unsigned char>(text.front()));
    text = text.drop_front();
  }
  return term;
}

/// The term's labels with `count` dimensions in place of `...`.
static EinsumLabels spellOut(const EinsumTerm &term, int64_t count) {
  EinsumLabels labels = term.letters;
  if (!term.ellipsis)
    return labels;
  SmallVector<int> inserted;
  for (int64_t i = count; i > 0; --i)
    inserted.push_back(kFirstEllipsisLabel + i - 1);
  labels.insert(labels.begin() + *term.ellipsis, inserted.begin(),
                inserted.end());
  return labels;
}

FailureOr<EinsumEquation> parseEinsum(Operation *op, StringRef equation,
                                      ArrayRef<int64_t> ranks) {
  std::string text;
  llvm::copy_if(equation, std::back_inserter(text),
                [](char c) { return c != ' '; });
  auto [left, right] = StringRef(text).split("->");
  bool isExplicit = StringRef(text).contains("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != ranks.size())
    return op->emitOpError("equation has ")
           << parts.size() << " terms for " << ranks.size() << " inputs";

  EinsumEquation result;
  int64_t ellipsisRank = 0;
  std::map<int, int> occurrences;
  for (auto [part, rank] : llvm::zip_equal(parts, ranks)) {
    FailureOr<EinsumTerm> term = parseTerm(op, part);
    if (failed(term))
      return failure();
    int64_t spare = rank - static_cast<int64_t>(term->letters.size());
    if (spare < 0 || (spare > 0 && !term->ellipsis))
      return op->emitOpError("equation term '")
             << part << "' does not fit an input of rank " << rank;
    ellipsisRank = std::max(ellipsisRank, spare);
    for (int letter : term->letters)
      ++occurrences[letter];
    result.inputs.push_back(spellOut(*term, spare));
  }

  EinsumTerm output;
  if (isExplicit) {
    FailureOr<EinsumTerm> term = parseTerm(op, right);
    if (failed(term))
      return failure();
    output = *term;
  } else {
    output.ellipsis = 0;
    for (auto [letter, count] : occurrences)
      if (count == 1)
        output.letters.push_back(letter);
  }
  for (auto [i, letter] : llvm::enumerate(output.letters)) {
    if (!occurrences.count(letter))
      return op->emitOpError("equation output has a label no input has");
    if (llvm::is_contained(ArrayRef(output.letters).take_front(i), letter))
      return op->emitOpError("equation output has a label twice");
  }
  result.output = spellOut(output, ellipsisRank);
  return result;
}

} // namespace onnx_aot::onnx
