//===- Spec.h - name:key=value,key=value ------------------------*- C++ -*-===//
//
// The form in which the command line names losses and optimizers.
//
//===----------------------------------------------------------------------===//

#ifndef ONNX_AOT_SUPPORT_SPEC_H
#define ONNX_AOT_SUPPORT_SPEC_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace onnx_aot {

/// A name with options. Each reader asks for the options it knows, with their
/// defaults; what is wrong with them is told by `finish`, all at once.
class Spec {
public:
  /// "adamw:lr=0.1,betas=0.9/0.999"; `what` is how messages call it.
  Spec(llvm::StringRef what, llvm::StringRef text);

  llvm::StringRef getName() const { return name; }

  /// A number in [lowest, highest].
  double number(llvm::StringRef key, double byDefault, double lowest,
                double highest);
  /// A whole number in [lowest, highest].
  int64_t integer(llvm::StringRef key, int64_t byDefault, int64_t lowest,
                  int64_t highest);
  /// Numbers separated by '/', each in [lowest, highest]; as many as the
  /// default has, if it has any.
  llvm::SmallVector<double> numbers(llvm::StringRef key,
                                    llvm::ArrayRef<double> byDefault,
                                    double lowest, double highest);
  /// true, false, 1 or 0.
  bool flag(llvm::StringRef key, bool byDefault);
  /// One of `choices`, the first by default.
  std::string choice(llvm::StringRef key,
                     llvm::ArrayRef<llvm::StringRef> choices);
  /// Any text.
  std::string text(llvm::StringRef key, llvm::StringRef byDefault);
  bool has(llvm::StringRef key) const;

  /// Notes a problem of an option, for `finish`.
  void refuse(const llvm::Twine &problem);

  /// All problems so far, among them options that nobody asked for.
  llvm::Error finish();

  /// The name with every option that was asked for, defaults filled in.
  std::string getText() const;

private:
  struct Option {
    std::string key, value;
    bool isKnown = false;
  };
  /// The given value, or null; marks the option as known.
  const std::string *find(llvm::StringRef key);
  void note(llvm::StringRef key, const llvm::Twine &value);
  double parse(llvm::StringRef key, llvm::StringRef value, double byDefault,
               double lowest, double highest);

  std::string what, name;
  std::vector<Option> options;
  std::vector<std::pair<std::string, std::string>> asked;
  std::vector<std::string> problems;
};

} // namespace onnx_aot

#endif // ONNX_AOT_SUPPORT_SPEC_H
