//===- Ops.cpp - looks up an operator in the tables -----------------------===//

#include "frontend/ops/Ops.h"

#include "llvm/ADT/StringMap.h"

namespace zerograph::frontend {

const OpDef *findOp(const std::string &name, int64_t opset) {
  static const auto *index = [] {
    auto *map = new llvm::StringMap<std::vector<const OpDef *>>();
    for (llvm::ArrayRef<OpDef> table :
         {unaryOps(),      binaryOps(),    variadicOps(),    trigonometryOps(),
          activationOps(), logicOps(),     bitsOps(),        castOps(),
          shapeOps(),      expandOps(),    sliceOps(),       padOps(),
          triluOps(),      constantOps(),  reduceOps(),      cumSumOps(),
          matmulOps(),     einsumOps(),    normOps(),        batchNormOps(),
          lossOps(),       gatherOps(),    selectOps(),      scatterOps(),
          orderOps(),      sequenceOps(),  convolutionOps(), poolOps(),
          imageOps(),      col2ImOps(),    resizeOps(),      gridSampleOps(),
          randomOps(),     recurrentOps(), controlFlowOps(), scanOps()}) {
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
