//===- Trees.cpp - tree ensembles as walks and sums -----------------------===//
//
// All comparisons become `x <= threshold` for the precision of x, so that every
// node is one kind of step; leaves come first in the table of nodes, so that
// the end of a walk is the number of a leaf.
//
//===----------------------------------------------------------------------===//

#include "ML.h"

#include <cmath>

using namespace mlir;

namespace onnx_aot::importer {

namespace {

/// Numbers that one table of weights may have: a small file can ask for more.
constexpr int64_t kMaxWeights = 1 << 26;

/// The modes of TreeEnsemble in the order of their numbers, and what ends a
/// tree.
enum class Mode { LEQ, LT, GTE, GT, EQ, NEQ, Member, Leaf };

struct TreeNode {
  Mode mode = Mode::Leaf;
  int64_t feature = 0;
  double threshold = 0;
  int64_t ifTrue = -1, ifFalse = -1;
  bool nanIsTrue = false;
  /// What a leaf adds to which target.
  SmallVector<std::pair<int64_t, double>, 1> weights;
};

struct Ensemble {
  std::vector<TreeNode> nodes;
  SmallVector<int64_t> roots;
  int64_t numTargets = 1;
};

/// One row of the table of nodes.
struct Row {
  int64_t feature;
  double threshold;
  int64_t left, right;
  bool nanIsLeft;
};

/// The ensemble as standard operators see it.
class EnsembleWriter {
public:
  EnsembleWriter(FunctionWriter &writer, const Ensemble &ensemble)
      : writer(writer), ensemble(ensemble) {}

  /// Sum (or mean, minimum, maximum) over the trees: (rows, targets).
  FailureOr<Name> write(StringRef aggregate, Type type);

private:
  LogicalResult buildRows();
  /// Steps from a row to the furthest leaf; fails on a circle.
  FailureOr<int64_t> getDepth();
  Name writeLeaves(Type type, int64_t depth);
  Name reduce(StringRef aggregate, const Name &values, int64_t axis);
  /// The one target of all leaves of each tree; nothing where a tree has
  /// several.
  std::optional<SmallVector<int64_t>> getTargets();

  /// The largest number of x's precision that is <= threshold, or < threshold.
  double roundDown(double threshold, bool isBelow) const {
    if (!isSingle)
      return isBelow ? std::nextafter(threshold, -INFINITY) : threshold;
    float rounded = static_cast<float>(threshold);
    if (rounded > threshold || (isBelow && rounded == threshold))
      rounded = std::nextafter(rounded, -INFINITY);
    return rounded;
  }

  FunctionWriter &writer;
  const Ensemble &ensemble;
  bool isSingle = true;
  SmallVector<int64_t> places; ///< row of each node
  std::vector<Row> rows;       ///< those of the leaves are first
  std::vector<const TreeNode *> leaves;
};

} // namespace

LogicalResult EnsembleWriter::buildRows() {
  places.resize(ensemble.nodes.size());
  for (auto [index, node] : llvm::enumerate(ensemble.nodes))
    if (node.mode == Mode::Leaf) {
      places[index] = leaves.size();
      leaves.push_back(&node);
    }
  int64_t next = leaves.size();
  for (auto [index, node] : llvm::enumerate(ensemble.nodes))
    if (node.mode != Mode::Leaf) {
      places[index] = next;
      next += node.mode == Mode::EQ || node.mode == Mode::NEQ ? 2 : 1;
    }
  if (next > INT32_MAX / 8)
    return writer.refuse("it has " + Twine(next) + " nodes");
  for (int64_t leaf = 0; leaf < static_cast<int64_t>(leaves.size()); ++leaf)
    rows.push_back({0, 0, leaf, leaf, false});
  for (const TreeNode &node : ensemble.nodes) {
    if (node.mode == Mode::Leaf)
      continue;
    int64_t yes = places[node.ifTrue], no = places[node.ifFalse];
    double at = roundDown(node.threshold, false),
           below = roundDown(node.threshold, true);
    bool nan = node.nanIsTrue;
    // A threshold between two numbers of the precision is equal to none.
    switch (node.mode) {
    case Mode::LEQ:
      rows.push_back({node.feature, at, yes, no, nan});
      break;
    case Mode::LT:
      rows.push_back({node.feature, below, yes, no, nan});
      break;
    case Mode::GTE:
      rows.push_back({node.feature, below, no, yes, !nan});
      break;
    case Mode::GT:
      rows.push_back({node.feature, at, no, yes, !nan});
      break;
    case Mode::EQ:
    case Mode::NEQ: {
      if (node.mode == Mode::NEQ)
        std::swap(yes, no), nan = !nan;
      int64_t second = rows.size() + 1;
      rows.push_back({node.feature, at, second, no, nan});
      rows.push_back({node.feature, below, no, yes, !nan});
      break;
    }
    default:
      return writer.refuse("a mode of a node is not supported");
    }
  }
  return success();
}

FailureOr<int64_t> EnsembleWriter::getDepth() {
  // -1: not seen, -2: on the way.
  SmallVector<int64_t> depths(rows.size(), -1);
  int64_t deepest = 0;
  for (int64_t root : ensemble.roots) {
    SmallVector<int64_t> stack{places[root]};
    while (!stack.empty()) {
      int64_t row = stack.back();
      int64_t left = rows[row].left, right = rows[row].right;
      if (depths[row] >= 0 || left == row) {
        depths[row] = std::max<int64_t>(depths[row], 0);
        stack.pop_back();
        continue;
      }
      if (depths[row] == -2) {
        if (depths[left] < 0 || depths[right] < 0)
          return FailureOr<int64_t>(
              writer.refuse("a tree leads back to itself"));
        depths[row] = 1 + std::max(depths[left], depths[right]);
        stack.pop_back();
        continue;
      }
      depths[row] = -2;
      for (int64_t child : {left, right}) {
        if (depths[child] == -2)
          return FailureOr<int64_t>(
              writer.refuse("a tree leads back to itself"));
        if (depths[child] == -1)
          stack.push_back(child);
      }
    }
    deepest = std::max(deepest, depths[places[root]]);
  }
  return deepest;
}

Name EnsembleWriter::writeLeaves(Type type, int64_t depth) {
  Type i32 = IntegerType::get(type.getContext(), 32);
  SmallVector<double> table, thresholds, roots;
  for (const Row &row : rows) {
    float threshold = static_cast<float>(row.threshold);
    int32_t bits;
    std::memcpy(&bits, &threshold, sizeof(bits));
    table.append({double(row.feature * 2 + row.nanIsLeft),
                  isSingle ? double(bits) : 0.0, double(row.left),
                  double(row.right)});
    thresholds.push_back(row.threshold);
  }
  for (int64_t root : ensemble.roots)
    roots.push_back(places[root]);
  int64_t count = rows.size();
  std::vector<Name> operands{
      addReal(writer, 0), writer.tensor(table, {count, 4}, i32),
      writer.tensor(roots, {static_cast<int64_t>(roots.size())}, i32)};
  if (!isSingle)
    operands.push_back(writer.tensor(thresholds, {count}, type));
  return writer.add("TreeLeaves", operands, {{"depth", depth}}, "ai.onnx.ml");
}

std::optional<SmallVector<int64_t>> EnsembleWriter::getTargets() {
  SmallVector<int64_t> targets;
  SmallVector<bool> isSeen(ensemble.nodes.size());
  for (int64_t root : ensemble.roots) {
    std::optional<int64_t> target;
    SmallVector<int64_t> stack{root};
    while (!stack.empty()) {
      int64_t index = stack.pop_back_val();
      if (isSeen[index])
        return std::nullopt; // trees that share nodes are not worth the trouble
      isSeen[index] = true;
      const TreeNode &node = ensemble.nodes[index];
      if (node.mode != Mode::Leaf) {
        stack.append({node.ifTrue, node.ifFalse});
        continue;
      }
      if (node.weights.size() != 1 ||
          !std::isfinite(node.weights.front().second) ||
          (target && *target != node.weights.front().first))
        return std::nullopt;
      target = node.weights.front().first;
    }
    targets.push_back(*target);
  }
  return targets;
}

Name EnsembleWriter::reduce(StringRef aggregate, const Name &values,
                            int64_t axis) {
  StringRef op = llvm::StringSwitch<StringRef>(aggregate)
                     .Case("MIN", "ReduceMin")
                     .Case("MAX", "ReduceMax")
                     .Default("ReduceSum");
  return writer.add(op, {values, writer.integers({axis})}, {{"keepdims", 0}});
}

FailureOr<Name> EnsembleWriter::write(StringRef aggregate, Type type) {
  isSingle = !type.isF64();
  if (writer.getRank(0) != 2)
    return FailureOr<Name>(writer.refuse("x must be a matrix"));
  if (ensemble.roots.empty())
    return FailureOr<Name>(writer.refuse("it has no trees"));
  if (failed(buildRows()))
    return failure();
  FailureOr<int64_t> depth = getDepth();
  if (failed(depth))
    return failure();
  Name ends = writeLeaves(type, *depth);

  // Leaves of one target each, and trees whose leaves all have the same one,
  // are the usual forms of boosted trees; leaves of all targets that of
  // forests.
  int64_t targets = ensemble.numTargets, numLeaves = leaves.size();
  bool isExtreme = aggregate == "MIN" || aggregate == "MAX";
  bool oneEach = true, allEach = true;
  for (const TreeNode *leaf : leaves) {
    oneEach &= leaf->weights.size() == 1;
    allEach &= static_cast<int64_t>(leaf->weights.size()) == targets;
  }
  Name sum;
  std::optional<SmallVector<int64_t>> ofTrees;
  if (oneEach && !isExtreme && targets > 1 &&
      static_cast<int64_t>(ensemble.roots.size()) <= kMaxWeights / targets)
    ofTrees = getTargets();
  if (oneEach && (targets == 1 || ofTrees)) {
    SmallVector<double> weights;
    for (const TreeNode *leaf : leaves)
      weights.push_back(leaf->weights.front().second);
    Name table = writer.tensor(weights, {numLeaves}, type);
    Name values = writer.add("Gather", {table, ends});
    if (targets == 1) {
      sum = reduce(aggregate, values, 1);
      sum = writer.add("Unsqueeze", {sum, writer.integers({1})});
    } else {
      // A column for each target, with ones where a tree adds to it.
      int64_t numTrees = ofTrees->size();
      SmallVector<double> adds(numTrees * targets, 0);
      for (auto [tree, target] : llvm::enumerate(*ofTrees))
        adds[tree * targets + target] = 1;
      sum = writer.add(
          "MatMul", {values, writer.tensor(adds, {numTrees, targets}, type)});
    }
  } else {
    if (isExtreme && !allEach)
      return FailureOr<Name>(writer.refuse(
          "aggregate function " + aggregate +
          " of leaves without a weight for each target is not supported"));
    if (numLeaves > kMaxWeights / targets)
      return FailureOr<Name>(writer.refuse("it has too many weights"));
    SmallVector<double> weights(numLeaves * targets, 0);
    for (auto [index, leaf] : llvm::enumerate(leaves))
      for (auto [target, weight] : leaf->weights)
        weights[index * targets + target] += weight;
    Name table = writer.tensor(weights, {numLeaves, targets}, type);
    sum = reduce(aggregate, writer.add("Gather", {table, ends}), 1);
  }
  if (aggregate == "AVERAGE")
    sum = writer.add("Div", {sum, writer.number(ensemble.roots.size(), type)});
  return sum;
}

//===--- Reading the attributes -------------------------------------------===//

static std::optional<Mode> getMode(StringRef name) {
  return llvm::StringSwitch<std::optional<Mode>>(name)
      .Case("BRANCH_LEQ", Mode::LEQ)
      .Case("BRANCH_LT", Mode::LT)
      .Case("BRANCH_GTE", Mode::GTE)
      .Case("BRANCH_GT", Mode::GT)
      .Case("BRANCH_EQ", Mode::EQ)
      .Case("BRANCH_NEQ", Mode::NEQ)
      .Case("LEAF", Mode::Leaf)
      .Default(std::nullopt);
}

/// The nodes of TreeEnsembleClassifier and TreeEnsembleRegressor. `kind` begins
/// the names of the weights' attributes.
static LogicalResult readEnsemble(FunctionWriter &writer, StringRef kind,
                                  Ensemble &ensemble) {
  SmallVector<int64_t> trees = writer.getInts("nodes_treeids"),
                       ids = writer.getInts("nodes_nodeids"),
                       features = writer.getInts("nodes_featureids"),
                       ifTrue = writer.getInts("nodes_truenodeids"),
                       ifFalse = writer.getInts("nodes_falsenodeids"),
                       tracks =
                           writer.getInts("nodes_missing_value_tracks_true");
  FailureOr<SmallVector<double>> values = writer.getNumbers("nodes_values");
  const ::onnx::AttributeProto *modes = writer.find("nodes_modes");
  if (failed(values))
    return failure();
  size_t count = trees.size();
  if (ids.size() != count || features.size() != count ||
      ifTrue.size() != count || ifFalse.size() != count ||
      values->size() != count || !modes ||
      static_cast<size_t>(modes->strings_size()) != count ||
      (!tracks.empty() && tracks.size() != count))
    return writer.refuse("the lists of its nodes have different lengths");
  llvm::DenseMap<std::pair<int64_t, int64_t>, int64_t> places;
  for (size_t i = 0; i < count; ++i)
    if (!places.try_emplace({trees[i], ids[i]}, i).second)
      return writer.refuse("node " + Twine(ids[i]) + " of tree " +
                           Twine(trees[i]) + " is there twice");
  SmallVector<bool> isChild(count);
  ensemble.nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    TreeNode &node = ensemble.nodes[i];
    std::optional<Mode> mode = getMode(modes->strings(i));
    if (!mode)
      return writer.refuse("mode '" + modes->strings(i) + "' is not supported");
    node.mode = *mode;
    if (node.mode == Mode::Leaf)
      continue;
    node.feature = features[i];
    node.threshold = (*values)[i];
    node.nanIsTrue = !tracks.empty() && tracks[i] != 0;
    if (node.feature < 0 || node.feature > INT32_MAX / 4)
      return writer.refuse("feature " + Twine(node.feature) +
                           " is out of range");
    for (auto [id, child] : {std::pair{ifTrue[i], &node.ifTrue},
                             std::pair{ifFalse[i], &node.ifFalse}}) {
      auto found = places.find({trees[i], id});
      if (found == places.end())
        return writer.refuse("node " + Twine(id) + " of tree " +
                             Twine(trees[i]) + " is not there");
      *child = found->second;
      isChild[found->second] = true;
    }
  }
  llvm::DenseSet<int64_t> rooted;
  for (size_t i = 0; i < count; ++i) {
    if (isChild[i])
      continue;
    if (!rooted.insert(trees[i]).second)
      return writer.refuse("tree " + Twine(trees[i]) +
                           " has more than one root");
    ensemble.roots.push_back(i);
  }
  // Nodes on a circle are nobody's.
  SmallVector<bool> isReached(count);
  SmallVector<int64_t> stack(ensemble.roots);
  while (!stack.empty()) {
    int64_t index = stack.pop_back_val();
    if (isReached[index])
      continue;
    isReached[index] = true;
    if (const TreeNode &node = ensemble.nodes[index]; node.mode != Mode::Leaf)
      stack.append({node.ifTrue, node.ifFalse});
  }
  for (size_t i = 0; i < count; ++i)
    if (!isReached[i])
      return writer.refuse("node " + Twine(ids[i]) + " of tree " +
                           Twine(trees[i]) + " is not reached from its root");

  SmallVector<int64_t> weightTrees = writer.getInts((kind + "_treeids").str()),
                       weightNodes = writer.getInts((kind + "_nodeids").str()),
                       targets = writer.getInts((kind + "_ids").str());
  FailureOr<SmallVector<double>> weights =
      writer.getNumbers((kind + "_weights").str());
  if (failed(weights))
    return failure();
  if (weightNodes.size() != weightTrees.size() ||
      targets.size() != weightTrees.size() ||
      weights->size() != weightTrees.size())
    return writer.refuse("the lists of its weights have different lengths");
  for (size_t i = 0; i < weightTrees.size(); ++i) {
    auto found = places.find({weightTrees[i], weightNodes[i]});
    if (found == places.end() ||
        ensemble.nodes[found->second].mode != Mode::Leaf)
      return writer.refuse("a weight is not that of a leaf");
    if (targets[i] < 0 || targets[i] >= ensemble.numTargets)
      return writer.refuse("target " + Twine(targets[i]) +
                           " is out of range for " +
                           Twine(ensemble.numTargets));
    ensemble.nodes[found->second].weights.emplace_back(targets[i],
                                                       (*weights)[i]);
  }
  return success();
}

//===--- The operators ----------------------------------------------------===//

static LogicalResult writeRegressor(FunctionWriter &writer) {
  Ensemble ensemble;
  ensemble.numTargets = writer.getInt("n_targets", 1);
  if (ensemble.numTargets < 1 || ensemble.numTargets > INT32_MAX)
    return writer.refuse("n_targets " + Twine(ensemble.numTargets) +
                         " is not supported (supported: from 1 on)");
  std::string aggregate = writer.getString("aggregate_function", "SUM");
  if (!llvm::is_contained({"SUM", "AVERAGE", "MIN", "MAX"}, aggregate))
    return writer.refuse("aggregate function '" + aggregate +
                         "' is not supported");
  if (failed(readEnsemble(writer, "target", ensemble)))
    return failure();
  FailureOr<SmallVector<double>> base = writer.getNumbers("base_values");
  if (failed(base))
    return failure();
  if (!base->empty() &&
      static_cast<int64_t>(base->size()) != ensemble.numTargets)
    return writer.refuse("base_values has " + Twine(base->size()) +
                         " elements for " + Twine(ensemble.numTargets) +
                         " targets");
  Type type = getRealType(writer, 0);
  FailureOr<Name> sum = EnsembleWriter(writer, ensemble).write(aggregate, type);
  if (failed(sum))
    return failure();
  if (!base->empty())
    sum = writer.add("Add",
                     {*sum, writer.tensor(*base, {ensemble.numTargets}, type)});
  FailureOr<Name> result = addPostTransform(writer, *sum);
  if (failed(result))
    return failure();
  // The output is f32 whatever x is.
  writer.result(0,
                writer.convert(*result, Float32Type::get(type.getContext())));
  return success();
}

static LogicalResult writeClassifier(FunctionWriter &writer) {
  FailureOr<ClassLabels> labels = getClassLabels(writer, "classlabels_int64s");
  if (failed(labels))
    return failure();
  Ensemble ensemble;
  ensemble.numTargets = labels->count;
  if (failed(readEnsemble(writer, "class", ensemble)))
    return failure();
  FailureOr<SmallVector<double>> base = writer.getNumbers("base_values");
  if (failed(base))
    return failure();
  // Some exporters write one 0 whatever the number of classes.
  if (llvm::all_of(*base, [](double value) { return value == 0; }))
    base->clear();
  bool allPositive = true, usesFirst = false, usesOthers = false;
  for (TreeNode &node : ensemble.nodes)
    for (auto [target, weight] : node.weights) {
      allPositive &= weight >= 0;
      (target == 0 ? usesFirst : usesOthers) = true;
    }
  // Two classes with the weights of one: what trees vote for is the second
  // class.
  bool isBinary = labels->count == 2 && !(usesFirst && usesOthers);
  if (isBinary) {
    ensemble.numTargets = 1;
    for (TreeNode &node : ensemble.nodes)
      for (auto &[target, weight] : node.weights)
        target = 0;
    if (usesOthers || base->size() > 1)
      return writer.refuse(
          "two classes with weights of the second one only, or with "
          "two base values, are not supported");
  } else if (!base->empty() &&
             (static_cast<int64_t>(base->size()) != labels->count ||
              labels->count == 2)) {
    return writer.refuse("base_values has " + Twine(base->size()) +
                         " elements for " + Twine(labels->count) + " classes");
  }
  Type type = getRealType(writer, 0), f32 = Float32Type::get(type.getContext());
  FailureOr<Name> sum = EnsembleWriter(writer, ensemble).write("SUM", type);
  if (failed(sum))
    return failure();
  if (!base->empty())
    sum = writer.add(
        "Add", {*sum, writer.tensor(*base, {static_cast<int64_t>(base->size())},
                                    type)});
  sum = writer.convert(*sum, f32);
  if (!isBinary) {
    FailureOr<Name> scores = addPostTransform(writer, *sum);
    if (failed(scores))
      return failure();
    writer.result(1, *scores);
    return addLabels(writer, *labels, addArgMax(writer, *sum));
  }
  // Votes are probabilities where they are all positive, else a margin.
  writer.result(1, addBinaryScores(writer, *sum, allPositive));
  Name limit = writer.number(allPositive ? 0.5 : 0.0, f32);
  return addLabels(writer, *labels, addIsAbove(writer, *sum, limit));
}

/// The form of version 5: nodes and leaves are numbered by their place.
static LogicalResult writeTreeEnsemble(FunctionWriter &writer) {
  Ensemble ensemble;
  ensemble.numTargets = writer.getInt("n_targets", 1);
  SmallVector<int64_t> features = writer.getInts("nodes_featureids"),
                       ifTrue = writer.getInts("nodes_truenodeids"),
                       ifFalse = writer.getInts("nodes_falsenodeids"),
                       trueLeafs = writer.getInts("nodes_trueleafs"),
                       falseLeafs = writer.getInts("nodes_falseleafs"),
                       tracks =
                           writer.getInts("nodes_missing_value_tracks_true"),
                       roots = writer.getInts("tree_roots"),
                       targets = writer.getInts("leaf_targetids");
  SmallVector<double> lists[4];
  for (auto [name, list] :
       llvm::zip_equal(ArrayRef<StringRef>{"nodes_splits", "nodes_modes",
                                           "leaf_weights", "membership_values"},
                       lists)) {
    const ::onnx::AttributeProto *attribute = writer.find(name);
    if (!attribute)
      continue;
    FailureOr<SmallVector<double>> numbers =
        writer.readTensor(name, attribute->t());
    if (failed(numbers))
      return failure();
    list = *numbers;
  }
  auto &[splits, modes, weights, members] = lists;
  size_t count = features.size(), numLeaves = targets.size();
  for (size_t size : {ifTrue.size(), ifFalse.size(), trueLeafs.size(),
                      falseLeafs.size(), splits.size(), modes.size()})
    if (size != count)
      return writer.refuse("the lists of its nodes have different lengths");
  if (weights.size() != numLeaves ||
      (!tracks.empty() && tracks.size() != count))
    return writer.refuse("the lists of its nodes have different lengths");
  if (ensemble.numTargets < 1 || ensemble.numTargets > INT32_MAX)
    return writer.refuse("n_targets is not positive");

  // The leaves follow the nodes; a node that asks for members is a chain of
  // nodes that ask for one each, added at the end.
  ensemble.nodes.resize(count + numLeaves);
  for (size_t leaf = 0; leaf < numLeaves; ++leaf) {
    if (targets[leaf] < 0 || targets[leaf] >= ensemble.numTargets)
      return writer.refuse("target " + Twine(targets[leaf]) +
                           " is out of range");
    ensemble.nodes[count + leaf].weights.emplace_back(targets[leaf],
                                                      weights[leaf]);
  }
  size_t member = 0;
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    if (!(modes[i] >= 0 && modes[i] <= 6) || features[i] < 0 ||
        features[i] > INT32_MAX / 4)
      return writer.refuse("node " + Twine(i) +
                           " has a mode or feature that is not "
                           "supported");
    node.mode = static_cast<Mode>(static_cast<int>(modes[i]));
    node.feature = features[i];
    node.threshold = splits[i];
    node.nanIsTrue = !tracks.empty() && tracks[i] != 0;
    for (auto [id, isLeaf, child] :
         {std::tuple{ifTrue[i], trueLeafs[i], &node.ifTrue},
          std::tuple{ifFalse[i], falseLeafs[i], &node.ifFalse}}) {
      if (id < 0 || id >= static_cast<int64_t>(isLeaf ? numLeaves : count))
        return writer.refuse("node " + Twine(i) + " leads to " + Twine(id) +
                             ", which is not there");
      *child = isLeaf ? count + id : id;
    }
    if (node.mode == Mode::Member) {
      node.mode = Mode::EQ;
      SmallVector<double> set;
      while (member < members.size() && !std::isnan(members[member]))
        set.push_back(members[member++]);
      ++member; // NaN ends each set
      if (set.empty())
        return writer.refuse("node " + Twine(i) + " asks for no members");
      TreeNode link = node;
      for (double value : ArrayRef(set).drop_front()) {
        link.threshold = value;
        ensemble.nodes.push_back(link);
        node.ifFalse = link.ifFalse = ensemble.nodes.size() - 1;
      }
      node.threshold = set.front();
    }
    ensemble.nodes[i] = node;
  }
  for (int64_t root : roots) {
    if (root < 0 || root >= static_cast<int64_t>(count))
      return writer.refuse("root " + Twine(root) + " is not there");
    ensemble.roots.push_back(root);
  }
  int64_t aggregate = writer.getInt("aggregate_function", 1),
          transform = writer.getInt("post_transform", 0);
  StringRef aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  StringRef transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                            "PROBIT"};
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    return writer.refuse(
        "aggregate_function or post_transform is out of range");
  FailureOr<Name> sum =
      EnsembleWriter(writer, ensemble)
          .write(aggregates[aggregate], getRealType(writer, 0));
  if (failed(sum))
    return failure();
  FailureOr<Name> result =
      addPostTransform(writer, *sum, transforms[transform]);
  if (failed(result))
    return failure();
  writer.result(0, *result);
  return success();
}

void addTreeFunctions(OperatorFunctions &list) {
  std::vector<llvm::StringLiteral> nodes = {"nodes_treeids",
                                            "nodes_nodeids",
                                            "nodes_featureids",
                                            "nodes_values",
                                            "nodes_values_as_tensor",
                                            "nodes_hitrates",
                                            "nodes_hitrates_as_tensor",
                                            "nodes_modes",
                                            "nodes_truenodeids",
                                            "nodes_falsenodeids",
                                            "nodes_missing_value_tracks_true",
                                            "base_values",
                                            "base_values_as_tensor",
                                            "post_transform"};
  std::vector<llvm::StringLiteral> regressor = nodes, classifier = nodes;
  regressor.insert(regressor.end(),
                   {"aggregate_function", "n_targets", "target_treeids",
                    "target_nodeids", "target_ids", "target_weights",
                    "target_weights_as_tensor"});
  classifier.insert(classifier.end(),
                    {"classlabels_int64s", "classlabels_strings",
                     "class_treeids", "class_nodeids", "class_ids",
                     "class_weights", "class_weights_as_tensor"});
  list.insert(
      list.end(),
      {{"ai.onnx.ml", "TreeEnsembleRegressor", 1, 1, writeRegressor, regressor},
       {"ai.onnx.ml", "TreeEnsembleClassifier", 1, 1, writeClassifier,
        classifier},
       {"ai.onnx.ml",
        "TreeEnsemble",
        1,
        1,
        writeTreeEnsemble,
        {"aggregate_function", "leaf_targetids", "leaf_weights",
         "membership_values", "n_targets", "nodes_falseleafs",
         "nodes_falsenodeids", "nodes_featureids", "nodes_hitrates",
         "nodes_missing_value_tracks_true", "nodes_modes", "nodes_splits",
         "nodes_trueleafs", "nodes_truenodeids", "post_transform",
         "tree_roots"}}});
}

} // namespace onnx_aot::importer
