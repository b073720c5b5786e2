//===- Scope.h - the names that are visible in a graph ----------*- C++ -*-===//

#ifndef ONNX_AOT_LIB_IMPORT_SCOPE_H
#define ONNX_AOT_LIB_IMPORT_SCOPE_H

#include "ImportContext.h"

#include "mlir/IR/Value.h"

namespace onnx_aot::importer {

/// What a name stands for. A refused value has no Value, but it is known: nodes
/// that use it are checked as far as possible without it.
struct Binding {
  enum Kind { Present, Absent, Refused } kind = Refused;
  mlir::Value value;

  static Binding present(mlir::Value value) { return {Present, value}; }
  /// An optional input that the caller left out.
  static Binding absent() { return {Absent, {}}; }
  static Binding refused() { return {Refused, {}}; }
};

/// Opset version by normalized domain.
using Opsets = llvm::StringMap<int64_t>;

/// A function's attributes at one call.
using AttributeMap = llvm::StringMap<const ::onnx::AttributeProto *>;

/// What all graphs of one function body, or of the main graph, have in common.
struct Frame {
  /// The calling frame; null for the main graph.
  const Frame *caller = nullptr;
  const ::onnx::FunctionProto *function = nullptr;
  Opsets opsets;
  AttributeMap attributes;
  /// Put before node names: the calls that lead here.
  std::string prefix;
  unsigned callDepth = 0;
  /// Index of the main graph's node that is being imported.
  unsigned rootIndex = 0;
};

/// The names of one graph; those of the enclosing graphs are visible too.
class Scope {
public:
  Scope(Frame &frame, Scope *parent)
      : frame(frame), parent(parent), depth(parent ? parent->depth + 1 : 0) {}
  /// A function body called from `caller`: its names are its own.
  Scope(Frame &frame, const Scope &caller)
      : frame(frame), parent(nullptr), depth(caller.depth) {}

  std::optional<Binding> lookup(llvm::StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->parent)
      if (auto found = scope->bindings.find(name);
          found != scope->bindings.end())
        return found->second;
    return std::nullopt;
  }
  /// False when this graph has the name already.
  bool define(llvm::StringRef name, Binding binding) {
    return bindings.try_emplace(name, binding).second;
  }

  Frame &frame;
  Scope *parent;
  /// Graphs around this one, through calls too.
  unsigned depth;
  /// What the graph declares of its values.
  llvm::StringMap<const ::onnx::TypeProto *> declared;

private:
  llvm::StringMap<Binding> bindings;
};

} // namespace onnx_aot::importer

#endif // ONNX_AOT_LIB_IMPORT_SCOPE_H
