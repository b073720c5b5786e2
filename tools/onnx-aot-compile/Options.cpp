//===- Options.cpp - the command line of onnx-aot-compile -----------------===//

#include "Options.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace onnx_aot;
namespace cl = llvm::cl;

namespace {
enum class Weights { Embed, External };

/// All flags; made before and read after the command line is parsed.
struct Flags {
  cl::OptionCategory category{"onnx-aot-compile"};
  cl::opt<std::string> input{cl::Positional, cl::desc("MODEL.onnx"),
                             cl::Required, cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::value_desc("FILE"), cl::cat(category),
      cl::desc("File to write: .so for the runtime; .o or .a, with a C header, "
               "to link into a program")};
  cl::opt<char> optLevel{
      "O",
      cl::Prefix,
      cl::init('2'),
      cl::value_desc("0-3"),
      cl::cat(category),
      cl::desc("Optimization level: 0 none, 1 quick, 2 default, 3 everything")};
  cl::opt<bool> strictFp{
      "strict-fp", cl::cat(category),
      cl::desc("Sum products in the order of the operator's definition: no "
               "Winograd convolutions")};
  cl::opt<std::string> target{
      "target", cl::value_desc("TRIPLE"), cl::cat(category),
      cl::desc("Compile for x86_64, aarch64 or riscv64 Linux, such as "
               "aarch64-linux-gnu (default: this machine)")};
  cl::opt<std::string> cpu{
      "cpu", cl::value_desc("NAME"), cl::cat(category),
      cl::desc("Processor as LLVM names it (default: native for this machine, "
               "generic for others)")};
  cl::opt<std::string> features{
      "features", cl::value_desc("+a,-b"), cl::cat(category),
      cl::desc("Instruction set features to add or remove")};
  cl::opt<std::string> tune{
      "tune", cl::value_desc("FILE.json"), cl::cat(category),
      cl::desc("Numbers of the cost model that utils/tune.py has measured")};
  cl::opt<std::string> device{
      "device", cl::value_desc("NAME"), cl::cat(category),
      cl::desc("Where to run: cpu (default) or cuda, an NVIDIA GPU")};
  cl::opt<std::string> gpuArch{
      "gpu-arch", cl::value_desc("sm_80,..."), cl::cat(category),
      cl::desc("Architectures to compile kernels for (default: sm_75, which "
               "later ones run too); emu for the emulator")};
  cl::opt<bool> allowTf32{
      "allow-tf32", cl::cat(category),
      cl::desc("On a GPU, products of f32 may round their operands to 10 bits "
               "of fraction, for tensor cores (sm_80 and later)")};
  cl::opt<std::string> ptxas{
      "ptxas", cl::value_desc("FILE"), cl::cat(category),
      cl::desc("NVIDIA's assembler: also store machine code for each "
               "architecture, so that no driver has to compile")};
  cl::opt<Weights> weights{
      "weights", cl::init(Weights::Embed), cl::cat(category),
      cl::desc("Where the weights go:"),
      cl::values(clEnumValN(Weights::Embed, "embed", "into the output"),
                 clEnumValN(Weights::External, "external",
                            "into OUTPUT.weights beside it"))};
  cl::opt<std::string> prefix{
      "prefix", cl::value_desc("NAME"), cl::cat(category),
      cl::desc("First part of the symbols of a .o or .a (default: the output's "
               "name)")};
  cl::list<std::string> dims{
      "dim", cl::value_desc("NAME=N"), cl::cat(category),
      cl::desc("Fix a symbolic dimension; may be given several times")};
  cl::opt<Phase> emit{
      "emit", cl::init(Phase::Object), cl::cat(category),
      cl::desc("Stop at a phase and write its result (default: to standard "
               "output):"),
      cl::values(
          clEnumValN(Phase::Import, "import", "the model as it was read"),
          clEnumValN(Phase::Optimize, "onnx", "the optimized graph"),
          clEnumValN(Phase::Linalg, "linalg", "linalg on tensors"),
          clEnumValN(Phase::Codegen, "llvm-dialect", "MLIR's LLVM dialect"),
          clEnumValN(Phase::LLVM, "llvm", "LLVM IR"),
          clEnumValN(Phase::Device, "ptx", "the kernels of a GPU"),
          clEnumValN(Phase::Object, "obj", "an object file"))};
  cl::opt<std::string> dumpPhases{
      "dump-phases", cl::value_desc("DIR"), cl::cat(category),
      cl::desc("Write the result of every phase into a folder")};
  cl::opt<std::string> report{
      "report", cl::value_desc("FILE.json"), cl::cat(category),
      cl::desc("Write times, sizes and kernels to a file")};
  cl::list<std::string> customOps{
      "custom-op", cl::value_desc("DOMAIN::NAME=FUNCTION[,SHAPE_FUNCTION]"),
      cl::cat(category),
      cl::desc("Call a C function for an operator; what it is given stands in "
               "onnx-aot/abi/CustomOp.h")};
  cl::list<std::string> libraries{
      "library", cl::value_desc("FILE"), cl::cat(category),
      cl::desc("Link the shared object with an object, archive or shared "
               "library that defines such functions")};
  cl::opt<bool> train{
      "train", cl::cat(category),
      cl::desc("Compile programs that train the model; the parameters go to "
               "OUTPUT.safetensors beside the output")};
  cl::list<std::string> losses{
      "loss", cl::value_desc("SPEC"), cl::cat(category),
      cl::desc(
          "What training minimises: mse, l1, smooth-l1, huber, "
          "bce-with-logits, kl-div, cross-entropy or nll with options as in "
          "cross-entropy:label_smoothing=0.1, an ONNX file that computes it "
          "(FILE.onnx), or none if an output is the loss; several are added")};
  cl::opt<std::string> optimizer{
      "optimizer", cl::value_desc("SPEC"), cl::init("adamw"), cl::cat(category),
      cl::desc(
          "sgd, adam, adamw (default), adagrad, rmsprop, lamb or lion with "
          "PyTorch's options as in sgd:momentum=0.9, or none")};
  cl::list<std::string> trainable{
      "trainable", cl::value_desc("GLOB"), cl::cat(category),
      cl::desc("Train the initializers of these names (default: all of floats "
               "that the loss depends on)")};
  cl::opt<bool> trainAll{"train-all", cl::cat(category),
                         cl::desc("Train all initializers; the default")};
  cl::list<std::string> frozen{
      "frozen", cl::value_desc("GLOB"), cl::cat(category),
      cl::desc("Do not train the initializers of these names")};
  cl::opt<std::string> lowRank{
      "lora", cl::value_desc("RANK[:alpha=X,targets=GLOB+GLOB,seed=N]"),
      cl::cat(category),
      cl::desc("Train low-rank updates of the weights of MatMul and Gemm nodes "
               "(by node or weight name; default: all) and leave the weights "
               "alone; exported models have the sum")};
  cl::list<std::string> noDecay{
      "no-decay", cl::value_desc("GLOB"), cl::cat(category),
      cl::desc("No weight decay for the parameters of these names")};
  cl::opt<bool> verifyGradients{
      "verify-gradients", cl::cat(category),
      cl::desc("Compute in float64, for onnx-aot-run --verify-gradients")};
  cl::opt<double> clipNorm{"clip-norm", cl::value_desc("X"), cl::cat(category),
                           cl::desc("Scale the gradients down to this norm")};
  cl::opt<double> clipValue{
      "clip-value", cl::value_desc("X"), cl::cat(category),
      cl::desc("Cut the gradients' elements off at this size")};
  cl::opt<bool> noModel{
      "no-model", cl::cat(category),
      cl::desc("Do not keep the model in the training module: what is exported "
               "is then given the file again")};
  cl::opt<std::string> memoryBudget{
      "memory-budget", cl::value_desc("BYTES"), cl::cat(category),
      cl::desc("Most memory of a training step: parameters, gradients, "
               "optimizer state and temporary values, which are computed "
               "again to keep it; K, M and G may follow the number")};
  cl::opt<bool> check{
      "check", cl::cat(category),
      cl::desc(
          "Only list everything that keeps the model from being compiled")};
  cl::opt<bool> json{"json", cl::cat(category),
                     cl::desc("Print problems as JSON on standard output")};
};
} // namespace

/// Ends the program because of a flag's value.
[[noreturn]] static void fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  std::exit(1);
}

/// "NAME=N"; the name may itself hold '='.
static std::pair<std::string, int64_t> parseDim(llvm::StringRef text) {
  auto [name, size] = text.rsplit('=');
  int64_t value = 0;
  if (name.empty() || size.getAsInteger(10, value) || value < 0)
    fail("--dim=" + text + " is not of the form NAME=N with N >= 0");
  return {name.str(), value};
}

/// "DOMAIN::NAME=FUNCTION" or "DOMAIN::NAME=FUNCTION,SHAPE_FUNCTION".
static std::pair<std::string, CustomOp> parseCustomOp(llvm::StringRef text) {
  auto [name, functions] = text.rsplit('=');
  auto [callee, shapeCallee] = functions.split(',');
  auto [domain, op] = name.rsplit("::");
  bool wantsShape = functions.contains(',');
  if (domain.empty() || op.empty() || callee.empty() ||
      wantsShape == shapeCallee.empty())
    fail("--custom-op=" + text +
         " is not of the form DOMAIN::NAME=FUNCTION or "
         "DOMAIN::NAME=FUNCTION,SHAPE_FUNCTION");
  return {name.str(), {callee.str(), shapeCallee.str()}};
}

/// "64M": bytes, with K, M or G for powers of 1024.
static int64_t parseBytes(const cl::opt<std::string> &flag) {
  if (!flag.getNumOccurrences())
    return 0;
  llvm::StringRef text = flag;
  unsigned shift = llvm::StringSwitch<unsigned>(text.take_back())
                       .CaseLower("k", 10)
                       .CaseLower("m", 20)
                       .CaseLower("g", 30)
                       .Default(0);
  int64_t value = 0;
  if ((shift ? text.drop_back() : text).getAsInteger(10, value) || value <= 0 ||
      value > (INT64_MAX >> shift))
    fail("--" + flag.ArgStr + "=" + text +
         " is no number of bytes (such as 300000000 or 64M)");
  return value << shift;
}

/// The flags that only training has.
static std::optional<TrainingOptions> readTraining(const Flags &flags) {
  TrainingOptions options;
  options.losses.assign(flags.losses.begin(), flags.losses.end());
  options.optimizer = flags.optimizer;
  options.trainable.assign(flags.trainable.begin(), flags.trainable.end());
  options.frozen.assign(flags.frozen.begin(), flags.frozen.end());
  options.lowRank = flags.lowRank;
  options.noDecay.assign(flags.noDecay.begin(), flags.noDecay.end());
  if (flags.clipNorm.getNumOccurrences())
    options.clipNorm = flags.clipNorm;
  if (flags.clipValue.getNumOccurrences())
    options.clipValue = flags.clipValue;
  options.widensFloats = flags.verifyGradients;
  if (flags.verifyGradients && !flags.optimizer.getNumOccurrences())
    options.optimizer = "sgd"; // it needs the least memory
  options.keepModel = !flags.noModel && !flags.verifyGradients;
  if (flags.train) {
    if (flags.trainAll && !options.trainable.empty())
      fail("--train-all and --trainable contradict each other");
    return options;
  }
  // Lists have an operator & of their own.
  auto wantsTraining = [](const cl::Option &option) {
    if (option.getNumOccurrences())
      fail("--" + option.ArgStr + " is for training: give --train as well");
  };
  wantsTraining(flags.losses);
  wantsTraining(flags.optimizer);
  wantsTraining(flags.trainable);
  wantsTraining(flags.trainAll);
  wantsTraining(flags.frozen);
  wantsTraining(flags.lowRank);
  wantsTraining(flags.noDecay);
  wantsTraining(flags.verifyGradients);
  wantsTraining(flags.clipNorm);
  wantsTraining(flags.clipValue);
  wantsTraining(flags.noModel);
  wantsTraining(flags.memoryBudget);
  return std::nullopt;
}

CompilerInvocation onnx_aot::parseCommandLine(int argc, char **argv) {
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  // LLVM keeps pointers to flags for as long as the program runs.
  static Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  cl::ParseCommandLineOptions(
      argc, argv, "onnx-aot-compile - compile an ONNX model ahead of time\n");

  CompilerInvocation invocation;
  if (flags.optLevel < '0' || flags.optLevel > '3')
    fail(llvm::Twine("-O") + llvm::Twine(char(flags.optLevel)) +
         " is not an optimization level (supported: -O0, -O1, -O2, -O3)");
  invocation.optLevel = flags.optLevel - '0';
  invocation.strictFp = flags.strictFp;
  invocation.tuningFile = flags.tune;
  invocation.input = flags.input;
  invocation.output = flags.output;
  if (flags.emit.getNumOccurrences() != 0) {
    invocation.printPhase = flags.emit;
    if (flags.output.empty() && flags.emit != Phase::Object)
      invocation.output = "-";
  }
  invocation.target = {flags.target, flags.cpu, flags.features};
  auto device = parseDeviceOptions(flags.device, flags.gpuArch);
  if (!device)
    fail(llvm::toString(device.takeError()));
  invocation.device = *device;
  invocation.device.assembler = flags.ptxas;
  invocation.device.allowTf32 = flags.allowTf32;
  if (flags.allowTf32 && !device->enabled)
    fail("--allow-tf32 wants --device=cuda");
  if (!flags.ptxas.empty() && device->architectures.empty())
    fail("--ptxas wants --device=cuda and architectures");
  if (invocation.printPhase == Phase::Device && !device->enabled)
    fail("--emit=ptx wants --device=cuda");
  invocation.prefix = flags.prefix;
  invocation.externalWeights = flags.weights == Weights::External;
  for (const std::string &dim : flags.dims)
    invocation.dims.push_back(parseDim(dim));
  for (const std::string &op : flags.customOps) {
    auto [name, functions] = parseCustomOp(op);
    if (!invocation.customOps.try_emplace(name, functions).second)
      fail("--custom-op: " + name + " is given twice");
  }
  invocation.libraries.assign(flags.libraries.begin(), flags.libraries.end());
  invocation.training = readTraining(flags);
  invocation.memoryBudget = parseBytes(flags.memoryBudget);
  invocation.dumpDirectory = flags.dumpPhases;
  invocation.reportFile = flags.report;
  invocation.checkOnly = flags.check;
  invocation.json = flags.json;
  return invocation;
}
