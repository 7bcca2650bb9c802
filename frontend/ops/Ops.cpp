//===- Ops.cpp - looks up an operator in the tables -----------------------===//

#include "frontend/ops/Ops.h"

#include "llvm/ADT/StringMap.h"

namespace zerograph::frontend {

const OpDef *findOp(const std::string &name, int64_t opset) {
  static const auto *index = [] {
    auto *map = new llvm::StringMap<std::vector<const OpDef *>>();
    for (llvm::ArrayRef<OpDef> table :
         {elementwiseOps(), activationOps(), logicOps(),     shapeOps(),
          layoutOps(),      constantOps(),   reduceOps(),    matmulOps(),
          normOps(),        lossOps(),       indexOps(),     sequenceOps(),
          scatterOps(),     orderOps(),      einsumOps(),    trigonometryOps(),
          controlFlowOps(), gridSampleOps(), batchNormOps(), bitsOps(),
          imageOps(),       resizeOps(),     poolOps(),      recurrentOps(),
          randomOps(),      convolutionOps()}) {
      for (const OpDef &def : table) {
        (*map)[def.name].push_back(&def);
      }
    }
    return map;
  }();
  const OpDef *newest = nullptr;
  auto found = index->find(name);
  if (found != index->end()) {
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
