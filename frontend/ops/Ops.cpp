//===- Ops.cpp - looks up an operator in the tables -----------------------===//

#include "frontend/ops/Ops.h"

#include "llvm/ADT/StringMap.h"

namespace zerograph::frontend {

using Index = llvm::StringMap<std::vector<const OpDef *>>;

static const Index &operatorIndex() {
  static const auto *index = [] {
    auto *map = new Index;
    for (llvm::ArrayRef<OpDef> table : {
#define FAMILY(name) name##Ops(),
#include "frontend/ops/Families.def"
#undef FAMILY
         }) {
      for (const OpDef &def : table) {
        (*map)[def.name].push_back(&def);
      }
    }
    return map;
  }();
  return *index;
}

std::set<std::string> operatorNames() {
  std::set<std::string> names;
  for (llvm::StringRef name : operatorIndex().keys()) {
    names.insert(name.str());
  }
  return names;
}

const OpDef *findOp(const std::string &name, int64_t opset) {
  const OpDef *newest = nullptr;
  auto found = operatorIndex().find(name);
  if (found != operatorIndex().end()) {
    for (const OpDef *def : found->second) {
      if (def->since <= opset &&
          (newest == nullptr || def->since > newest->since)) {
        newest = def;
      }
    }
  }
  return newest;
}

} // namespace zerograph::frontend
