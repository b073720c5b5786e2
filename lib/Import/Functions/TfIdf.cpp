//===- TfIdf.cpp - counting n-grams -------------------------------------===//

#include "Functions.h"

#include "onnx-aot/Dialect/Onnx/IR/Onnx.h"

using namespace mlir;

namespace onnx_aot::importer {

namespace {

/// The n-grams of one length.
struct Grams {
  int64_t length = 0, first = 0, count = 0;
};

/// The pool as the attributes say it; all numbers are checked.
struct Pool {
  /// Of strings the items are their places in `names`.
  SmallVector<int64_t> items, indexes;
  std::vector<std::string> names;
  SmallVector<Grams> grams;
  int64_t total = 0, outputs = 0;
};

constexpr int64_t kMaxWork = 1 << 20;

} // namespace

static FailureOr<Pool> readPool(FunctionWriter &writer, int64_t shortest,
                                int64_t longest) {
  Pool pool;
  pool.items = writer.getInts("pool_int64s");
  pool.indexes = writer.getInts("ngram_indexes");
  SmallVector<int64_t> counts = writer.getInts("ngram_counts");
  if (isa<onnx::StringType>(writer.getElementType(0))) {
    pool.names = writer.getStrings("pool_strings");
    pool.items = llvm::to_vector(llvm::seq<int64_t>(0, pool.names.size()));
  }
  int64_t size = pool.items.size();
  for (auto [i, begin] : llvm::enumerate(counts)) {
    int64_t length = i + 1, end = i + 1 < counts.size() ? counts[i + 1] : size;
    if (begin < 0 || end < begin || end > size || (end - begin) % length != 0)
      return writer.refuse("ngram_counts does not divide the pool");
    int64_t count = (end - begin) / length;
    if (length >= shortest && length <= longest)
      pool.grams.push_back({length, pool.total, count});
    pool.total += count;
  }
  if (static_cast<int64_t>(pool.indexes.size()) != pool.total)
    return writer.refuse("ngram_indexes has " + Twine(pool.indexes.size()) +
                         " entries for " + Twine(pool.total) + " n-grams");
  for (int64_t index : pool.indexes) {
    if (index < 0 || index >= kMaxWork)
      return writer.refuse("ngram_indexes has " + Twine(index));
    pool.outputs = std::max(pool.outputs, index + 1);
  }
  if (pool.total == 0 || pool.total * pool.outputs > kMaxWork)
    return writer.refuse("the pool is empty or too large");
  return pool;
}

/// How often each of the n-grams occurs with this distance between its items.
static Name countGrams(FunctionWriter &writer, const Pool &pool,
                       const Grams &grams, ArrayRef<int64_t> items,
                       int64_t distance) {
  Type type = writer.getElementType(0);
  Name all;
  for (int64_t j = 0; j < grams.length; ++j) {
    int64_t behind = (grams.length - 1 - j) * distance;
    Name x =
        writer.slice(writer.input(0), -1, j * distance,
                     behind ? -behind : std::numeric_limits<int64_t>::max());
    SmallVector<int64_t> column;
    for (int64_t gram = 0; gram < grams.count; ++gram)
      column.push_back(items[gram * grams.length + j]);
    std::vector<std::string> names;
    for (int64_t item : column)
      if (!pool.names.empty())
        names.push_back(pool.names[item]);
    Name wanted = names.empty() ? writer.convert(writer.integers(column), type)
                                : writer.strings(names);
    Name isEqual = writer.add(
        "Equal", {writer.add("Unsqueeze", {x, writer.integers({-1})}), wanted});
    all = all.empty() ? isEqual : writer.add("And", {all, isEqual});
  }
  Name hits = writer.add("Cast", {all}, {{"to", 1}});
  return writer.add("ReduceSum", {hits, writer.integers({-2})},
                    {{"keepdims", 0}});
}

static LogicalResult writeTfIdf(FunctionWriter &writer) {
  int64_t shortest = writer.getInt("min_gram_length", 1),
          longest = writer.getInt("max_gram_length", 1),
          skips = writer.getInt("max_skip_count", 0);
  std::string mode = writer.getString("mode", "");
  int64_t rank = writer.getRank(0);
  if (rank != 1 && rank != 2)
    return writer.refuse("its input has rank " + Twine(rank) +
                         " (supported: 1, 2)");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return writer.refuse("mode '" + mode + "' is not known");
  if (shortest < 1 || longest < shortest || skips < 0 || longest > 64 ||
      skips > 4096)
    return writer.refuse("gram lengths or skips are out of range");
  FailureOr<Pool> pool = readPool(writer, shortest, longest);
  if (failed(pool))
    return failure();

  // Counts of all n-grams in the order of the pool, then of the outputs.
  Name counts;
  ArrayRef<int64_t> items = pool->items;
  int64_t begin = 0;
  SmallVector<int64_t> starts = writer.getInts("ngram_counts");
  for (const Grams &grams : pool->grams) {
    begin = starts[grams.length - 1];
    ArrayRef<int64_t> own = items.slice(begin, grams.count * grams.length);
    Name sum;
    for (int64_t skip = 0; skip <= (grams.length > 1 ? skips : 0); ++skip)
      if (grams.count)
        sum = writer.plus(countGrams(writer, *pool, grams, own, skip + 1), sum);
    if (!grams.count)
      continue;
    // A column for each n-gram of the pool, whose counts go where they belong.
    SmallVector<int64_t> places(grams.count * pool->outputs, 0);
    for (int64_t gram = 0; gram < grams.count; ++gram)
      places[gram * pool->outputs + pool->indexes[grams.first + gram]] = 1;
    if (mode == "IDF")
      sum = writer.add("Cast", {writer.add("Cast", {sum}, {{"to", 9}})},
                       {{"to", 1}});
    if (mode != "TF" && writer.find("weights")) {
      Name weights =
          writer.add("Constant", {},
                     {NodeAttribute("value_floats", *writer.find("weights"))});
      sum = writer.add("Mul", {sum, writer.slice(weights, 0, grams.first,
                                                 grams.first + grams.count)});
    }
    Name matrix = writer.add(
        "Cast",
        {writer.add("Reshape",
                    {writer.integers(places),
                     writer.integers({grams.count, pool->outputs})})},
        {{"to", 1}});
    counts = writer.plus(writer.add("MatMul", {sum, matrix}), counts);
  }
  if (counts.empty())
    return writer.refuse("the pool has no n-grams of the lengths asked for");
  writer.result(0, counts);
  return success();
}

void addTfIdfFunctions(OperatorFunctions &list) {
  list.push_back({"",
                  "TfIdfVectorizer",
                  1,
                  1,
                  writeTfIdf,
                  {"max_gram_length", "max_skip_count", "min_gram_length",
                   "mode", "ngram_counts", "ngram_indexes", "pool_int64s",
                   "pool_strings", "weights"}});
}

} // namespace onnx_aot::importer
