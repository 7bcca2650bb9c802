//===- RewriteConfig.h - how patterns are applied -------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_REWRITECONFIG_H
#define ZEROGRAPH_PASSES_IR_REWRITECONFIG_H

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::zg {

/// Returns the configuration of every greedy rewrite. Programs are one block,
/// so there is no control flow to simplify; looking for some took longer than
/// most patterns.
inline GreedyRewriteConfig rewriteConfig() {
  GreedyRewriteConfig config;
  config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
  return config;
}

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_IR_REWRITECONFIG_H
