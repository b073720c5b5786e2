//===- Problems.cpp - diagnostics in a user's terms -----------------------===//

#include "Problems.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

using namespace mlir;
using namespace onnx_aot;

/// Finds the node's name and the file in a location; the outermost name wins.
static void readLocation(Location location, Problem &problem) {
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part); name && problem.node.empty())
      problem.node = name.getName().str();
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file || !problem.place.empty())
      return WalkResult::advance();
    problem.place = file.getFilename().str();
    // In a model the line is the node's index, which its name says better.
    if (file.getColumn() != 0)
      problem.place +=
          (":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
    return WalkResult::advance();
  });
}

ProblemCollector::ProblemCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
          return failure();
        Problem problem;
        problem.severity = diagnostic.getSeverity();
        problem.message = diagnostic.str();
        readLocation(diagnostic.getLocation(), problem);
        for (Diagnostic &note : diagnostic.getNotes())
          problem.notes.push_back(note.str());
        std::lock_guard<std::mutex> lock(mutex);
        // A pass that looks for further reasons finds the first again.
        bool isKnown = llvm::any_of(problems, [&](const Problem &other) {
          return other.node == problem.node && other.place == problem.place &&
                 other.message == problem.message;
        });
        // The conversion says only that it failed, after the op's own reason.
        isKnown |= StringRef(problem.message)
                       .starts_with("failed to legalize operation") &&
                   llvm::any_of(problems, [&](const Problem &other) {
                     return other.severity == DiagnosticSeverity::Error &&
                            other.node == problem.node &&
                            other.place == problem.place;
                   });
        if (!isKnown)
          problems.push_back(std::move(problem));
        return success();
      }) {}

void ProblemCollector::add(const Twine &message) {
  std::lock_guard<std::mutex> lock(mutex);
  Problem problem;
  problem.message = message.str();
  problems.push_back(std::move(problem));
}

void ProblemCollector::add(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    add(info.message());
  });
}

unsigned ProblemCollector::getNumErrors() const {
  return llvm::count_if(problems, [](const Problem &problem) {
    return problem.severity == DiagnosticSeverity::Error;
  });
}

/// Names may hold anything: keep them from breaking lines and terminals.
static void printText(raw_ostream &os, StringRef text) {
  for (char c : text) {
    if (c == '\n')
      os << "\n    ";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      os << "\\x" << llvm::hexdigit((c >> 4) & 15) << llvm::hexdigit(c & 15);
    else
      os << c;
  }
}

void ProblemCollector::print(raw_ostream &os) const {
  for (const Problem &problem : problems) {
    if (!problem.place.empty()) {
      printText(os, problem.place);
      os << ": ";
    }
    os << (problem.severity == DiagnosticSeverity::Error ? "error: "
                                                         : "warning: ");
    // The importer's messages name the node with its operator and opset.
    if (!problem.node.empty() &&
        !StringRef(problem.message).starts_with("node '")) {
      os << "node '";
      printText(os, problem.node);
      os << "': ";
    }
    printText(os, problem.message);
    os << "\n";
    for (const std::string &note : problem.notes) {
      os << "    note: ";
      printText(os, note);
      os << "\n";
    }
  }
}

llvm::json::Array ProblemCollector::toJSON() const {
  llvm::json::Array array;
  for (const Problem &problem : problems) {
    llvm::json::Array notes;
    for (const std::string &note : problem.notes)
      notes.push_back(llvm::json::fixUTF8(note));
    array.push_back(llvm::json::Object{
        {"severity",
         problem.severity == DiagnosticSeverity::Error ? "error" : "warning"},
        {"node", llvm::json::fixUTF8(problem.node)},
        {"place", llvm::json::fixUTF8(problem.place)},
        {"message", llvm::json::fixUTF8(problem.message)},
        {"notes", std::move(notes)},
    });
  }
  return array;
}
