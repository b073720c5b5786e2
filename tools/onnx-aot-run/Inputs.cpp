//===- Inputs.cpp - the inputs of a run -----------------------------------===//
#include "Inputs.h"

#include "Npz.h"
#include "Sequences.h"

#include <cmath>
#include <cstring>

namespace onnx_aot::run {

using runtime::Module;

namespace {

/// Splits "NAME=VALUE" where `isName` says that the name is one: names may
/// contain '='.
template <typename IsName>
bool splitAssignment(const std::string &text, IsName isName, std::string &name,
                     std::string &value) {
  for (size_t at = text.find('='); at != text.npos;
       at = text.find('=', at + 1)) {
    if (!isName(text.substr(0, at)))
      continue;
    name = text.substr(0, at);
    value = text.substr(at + 1);
    return true;
  }
  return false;
}

std::string listOf(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "'" : ", '") + name + "'";
  return list.empty() ? "none" : list;
}

std::vector<std::string> inputNames(const Module &module) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < module->num_inputs; ++i)
    names.push_back(module->inputs[i].name);
  return names;
}

/// A small, well-mixed generator (splitmix64): the same numbers everywhere.
class Random {
public:
  Random(uint64_t seed, const char *name) : state(seed) {
    // An input's values depend on its name, not on the other inputs.
    for (; *name; ++name)
      state = (state ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
  }
  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// A multiple of 2^-10 in [-1, 1): exact in every float type but bfloat16,
  /// where it is cut.
  float uniform() { return static_cast<float>(bits() >> 53) / 1024 - 1; }

private:
  uint64_t state;
};

/// The bits of a float16 that `value`, a multiple of 2^-10 in [-1, 1), has.
uint16_t toHalf(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent;
  float fraction = std::frexp(magnitude, &exponent); // in [0.5, 1)
  auto mantissa = static_cast<uint16_t>(std::ldexp(fraction, 11)) & 0x3ff;
  return sign | static_cast<uint16_t>(exponent + 14) << 10 | mantissa;
}

void fillRandom(Tensor &tensor, uint64_t seed, const char *name) {
  Random random(seed, name);
  char *data = tensor.dataAs<char>();
  // A string of random bytes says nothing: they stay empty.
  if (tensor.type() == ONNX_AOT_STRING)
    return;
  uint64_t bytes = onnxAotTypeBytes(tensor.type());
  auto put = [&](auto value) {
    std::memcpy(data, &value, sizeof(value));
    data += sizeof(value);
  };
  for (int64_t i = 0; i < tensor.size(); ++i) {
    switch (tensor.type()) {
    case ONNX_AOT_COMPLEX64:
      put(random.uniform());
      [[fallthrough]];
    case ONNX_AOT_FLOAT32:
      put(random.uniform());
      break;
    case ONNX_AOT_COMPLEX128:
      put(double(random.uniform()));
      [[fallthrough]];
    case ONNX_AOT_FLOAT64:
      put(double(random.uniform()));
      break;
    case ONNX_AOT_FLOAT16:
      put(toHalf(random.uniform()));
      break;
    case ONNX_AOT_BFLOAT16: {
      float value = random.uniform();
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      put(static_cast<uint16_t>(bits >> 16));
      break;
    }
    default: // integers and bools: 0 or 1 in the lowest byte
      *data = static_cast<char>(random.bits() >> 63);
      data += bytes;
    }
  }
}

Expected<Tensor> randomInput(const Module &module, int32_t index, uint64_t seed,
                             const std::vector<int64_t> &symbols) {
  const OnnxAotValueInfo &info = module->inputs[index];
  std::vector<int64_t> dims(info.dims, info.dims + info.rank);
  for (int64_t &dim : dims) {
    if (dim >= 0)
      continue;
    int64_t symbol = -(dim + 1);
    dim = symbols[symbol];
    if (dim < 0)
      return userError(
          "input '" + std::string(info.name) +
          "' has the symbolic dimension '" + module->symbols[symbol] +
          "': give its size with --dim '" + module->symbols[symbol] + "=N'");
  }
  Expected<Tensor> tensor =
      Tensor::create(static_cast<OnnxAotType>(info.type), dims);
  if (!tensor)
    return userError("input '" + std::string(info.name) +
                     "': " + tensor.status().message());
  fillRandom(*tensor, seed, info.name);
  return tensor;
}

/// Arrays named on the command line, over those of --inputs.
Status readInputFiles(const Module &module, const Options &options,
                      std::map<std::string, Tensor> &arrays) {
  std::vector<std::string> names = inputNames(module);
  if (!options.inputsFile.empty()) {
    // A file of inputs and outputs serves --expect too.
    std::set<std::string> outputs;
    for (int32_t i = 0; i < module->num_outputs; ++i)
      outputs.insert(module->outputs[i].name);
    auto read =
        readNpz(options.inputsFile, {names.begin(), names.end()}, &outputs);
    if (!read)
      return read.status();
    arrays = std::move(*read);
  }
  for (const std::string &text : options.inputs) {
    std::string name, file;
    auto isInput = [&](const std::string &s) {
      return module.findInput(s) >= 0;
    };
    if (!splitAssignment(text, isInput, name, file))
      return userError("--input '" + text +
                       "' does not begin with an input's name and '=' "
                       "(inputs: " +
                       listOf(names) + ")");
    Expected<Tensor> tensor = readNpyFile(file);
    if (!tensor)
      return tensor.status();
    arrays[name] = std::move(*tensor);
  }
  return Status();
}

/// Takes the sizes of given inputs over for the random ones, where they fit;
/// --dim must agree with them.
Status learnSymbols(const Module &module,
                    const std::map<std::string, Tensor> &arrays,
                    std::vector<int64_t> &symbols) {
  for (int32_t i = 0; i < module->num_inputs; ++i) {
    const OnnxAotValueInfo &info = module->inputs[i];
    auto found = arrays.find(info.name);
    if (found == arrays.end() ||
        found->second.dims().size() != static_cast<size_t>(info.rank))
      continue;
    for (int32_t d = 0; d < info.rank; ++d) {
      if (info.dims[d] >= 0)
        continue;
      int64_t &symbol = symbols[-(info.dims[d] + 1)];
      int64_t size = found->second.dims()[d];
      if (symbol >= 0 && symbol != size)
        return userError("input '" + std::string(info.name) + "': dimension " +
                         std::to_string(d) + " ('" +
                         module->symbols[-(info.dims[d] + 1)] + "') is " +
                         std::to_string(size) +
                         ", but --dim or another input "
                         "says " +
                         std::to_string(symbol));
      symbol = size;
    }
  }
  return Status();
}

} // namespace

Expected<std::vector<int64_t>> parseDims(const Module &module,
                                         const std::vector<std::string> &dims) {
  std::vector<int64_t> symbols(module->num_symbols, -1);
  std::vector<std::string> names;
  for (int32_t i = 0; i < module->num_symbols; ++i)
    names.push_back(module->symbols[i]);
  for (const std::string &text : dims) {
    std::string name, value;
    auto isSymbol = [&](const std::string &s) {
      return module.findSymbol(s) >= 0;
    };
    if (!splitAssignment(text, isSymbol, name, value))
      return userError("--dim '" + text +
                       "' does not begin with a symbolic dimension and '=' "
                       "(the model has: " +
                       listOf(names) + ")");
    char *end = nullptr;
    errno = 0;
    long long size = std::strtoll(value.c_str(), &end, 10);
    if (end == value.c_str() || *end || errno || size < 0)
      return userError("--dim '" + text + "': '" + value +
                       "' is not a size of 0 or more");
    symbols[module.findSymbol(name)] = size;
  }
  return symbols;
}

Expected<std::vector<Tensor>> gatherInputs(const Module &module,
                                           const Options &options) {
  auto symbols = parseDims(module, options.dims);
  if (!symbols)
    return symbols.status();
  std::map<std::string, Tensor> arrays;
  if (Status status = readInputFiles(module, options, arrays); !status.ok())
    return status;
  // Only names that were given are known to be absent.
  if (!options.randomSeed)
    if (Status status = joinInputs(module, arrays); !status.ok())
      return status;
  if (Status status = learnSymbols(module, arrays, *symbols); !status.ok())
    return status;

  std::vector<Tensor> inputs;
  std::vector<std::string> missing;
  for (int32_t i = 0; i < module->num_inputs; ++i) {
    const OnnxAotValueInfo &info = module->inputs[i];
    if (auto found = arrays.find(info.name); found != arrays.end()) {
      auto given = asWanted(std::move(found->second),
                            static_cast<OnnxAotType>(info.type));
      if (!given)
        return given.status();
      inputs.push_back(std::move(*given));
    } else if (options.randomSeed) {
      auto made = randomInput(
          module, i, static_cast<uint64_t>(*options.randomSeed), *symbols);
      if (!made)
        return made.status();
      inputs.push_back(std::move(*made));
    } else {
      missing.push_back(info.name);
    }
  }
  if (!missing.empty())
    return userError(
        "no value for input" + std::string(missing.size() > 1 ? "s " : " ") +
        listOf(missing) + " (give --input, --inputs or --random-inputs)");
  return inputs;
}

} // namespace onnx_aot::run
