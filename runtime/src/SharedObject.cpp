//===- SharedObject.cpp - finds the module in a shared object -------------===//
#include "CheckElf.h"
#include "LoadedModule.h"
#include "Text.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string_view>
#include <vector>

namespace onnx_aot::runtime {

namespace {

constexpr std::string_view moduleSuffix = "_module";
constexpr std::string_view trainingSuffix = "_training";

/// The tables of a loaded object that name its dynamic symbols.
struct DynamicTables {
  const ElfW(Sym) *symbols = nullptr;
  const char *strings = nullptr;
  size_t numSymbols = 0;
};

/// The number of symbols is only implied by the GNU hash table: it ends with
/// the last chain.
size_t countSymbols(const uint32_t *gnuHash) {
  uint32_t numBuckets = gnuHash[0], firstHashed = gnuHash[1];
  uint32_t bloomWords = gnuHash[2];
  const uint32_t *buckets =
      gnuHash + 4 + bloomWords * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t *chains = buckets + numBuckets;
  uint32_t last = 0;
  for (uint32_t i = 0; i < numBuckets; ++i)
    last = buckets[i] > last ? buckets[i] : last;
  if (last < firstHashed)
    return firstHashed;
  while (!(chains[last - firstHashed] & 1))
    ++last;
  return last + 1;
}

DynamicTables readTables(const link_map &map) {
  DynamicTables tables;
  const uint32_t *hash = nullptr, *gnuHash = nullptr;
  for (const ElfW(Dyn) *entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    // The loader relocates these pointers on most targets, not on all.
    ElfW(Addr) value = entry->d_un.d_ptr;
    auto *pointer = reinterpret_cast<const char *>(
        value < map.l_addr ? value + map.l_addr : value);
    switch (entry->d_tag) {
    case DT_SYMTAB:
      tables.symbols = reinterpret_cast<const ElfW(Sym) *>(pointer);
      break;
    case DT_STRTAB:
      tables.strings = pointer;
      break;
    case DT_HASH:
      hash = reinterpret_cast<const uint32_t *>(pointer);
      break;
    case DT_GNU_HASH:
      gnuHash = reinterpret_cast<const uint32_t *>(pointer);
      break;
    }
  }
  if (hash)
    tables.numSymbols = hash[1];
  else if (gnuHash)
    tables.numSymbols = countSymbols(gnuHash);
  return tables;
}

/// Names of the exported objects that end in `suffix`.
std::vector<std::string> listSymbols(const link_map &map,
                                     std::string_view suffix) {
  std::vector<std::string> names;
  DynamicTables tables = readTables(map);
  for (size_t i = 1; tables.symbols && i < tables.numSymbols; ++i) {
    const ElfW(Sym) &symbol = tables.symbols[i];
    std::string_view name = tables.strings + symbol.st_name;
    if ((symbol.st_info & 0xf) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF &&
        symbol.st_size >= 2 * sizeof(uint32_t) && name.size() > suffix.size() &&
        name.substr(name.size() - suffix.size()) == suffix)
      names.emplace_back(name);
  }
  return names;
}

/// "a, b, c" for the prefixes of these symbols.
std::string prefixList(const std::vector<std::string> &symbols,
                       std::string_view suffix) {
  std::string list;
  for (const std::string &symbol : symbols)
    list += (list.empty() ? "" : ", ") +
            symbol.substr(0, symbol.size() - suffix.size());
  return list;
}

} // namespace

Expected<SharedObject> SharedObject::open(const std::string &path) {
  if (path.empty())
    return invalidArgument("the path of the module is empty");
  // A name without a slash would be searched for in the library path.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  if (Status status = checkElf(path); !status.ok())
    return status;
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return Status(ONNX_AOT_SYSTEM_ERROR,
                  concat("cannot load module ", quoted(path), ": ",
                         reason ? reason : "unknown reason"));
  }
  return SharedObject(handle, path);
}

Expected<const void *> SharedObject::find(const std::string &prefix,
                                          std::string_view suffix) const {
  link_map *map = nullptr;
  std::vector<std::string> symbols;
  bool listed = !dlinfo(handle, RTLD_DI_LINKMAP, &map) && map;
  if (listed)
    symbols = listSymbols(*map, suffix);
  std::string symbol = prefix + std::string(suffix);
  if (prefix.empty()) {
    if (symbols.empty() && listed && suffix == moduleSuffix &&
        !listSymbols(*map, trainingSuffix).empty())
      return invalidModule(quoted(path), " is a training module");
    if (symbols.empty())
      return invalidModule(
          quoted(path),
          suffix == moduleSuffix ? " is no module" : " is no training module",
          ": it exports no symbol '*", std::string(suffix), "'");
    if (symbols.size() > 1)
      return invalidArgument(quoted(path), " holds ", symbols.size(),
                             " modules: choose a prefix (",
                             prefixList(symbols, suffix), ")");
    symbol = symbols.front();
  }
  void *address = dlsym(handle, symbol.c_str());
  if (!address)
    return invalidArgument(quoted(path), " has no module with prefix ",
                           quoted(prefix),
                           " (it has: ", prefixList(symbols, suffix), ")");
  return static_cast<const void *>(address);
}

Expected<const OnnxAotModule *>
SharedObject::findModule(const std::string &prefix) const {
  Expected<const void *> found = find(prefix, moduleSuffix);
  if (!found)
    return found.status();
  return static_cast<const OnnxAotModule *>(*found);
}

Expected<const OnnxAotTraining *>
SharedObject::findTraining(const std::string &prefix) const {
  Expected<const void *> found = find(prefix, trainingSuffix);
  if (!found)
    return found.status();
  return static_cast<const OnnxAotTraining *>(*found);
}

SharedObject::~SharedObject() {
  if (handle)
    dlclose(handle);
}

} // namespace onnx_aot::runtime
