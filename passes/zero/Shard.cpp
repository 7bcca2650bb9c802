//===- Shard.cpp - ZeRO stages 0 to 3 -------------------------------------===//

#include "passes/differentiate/Passes.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Sharder.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_SHARD
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-shard
//===----------------------------------------------------------------------===//

struct Shard : impl::ShardBase<Shard> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>(nn::kMicroFunction);
    if (!micro) {
      getOperation().emitError("has no function @micro; run nn-differentiate");
      return signalPassFailure();
    }
    if (world < 1 || stage < 0 || stage > 3 || accumulate < 1 ||
        bucketBytes < 1) {
      getOperation().emitError(
          "needs world >= 1, stage 0 to 3, accumulate >= 1 "
          "and bucket-bytes >= 1");
      return signalPassFailure();
    }
    auto kind = llvm::StringSwitch<int>(optimizer)
                    .Case("sgd", nn::OptimizerOptions::sgd)
                    .Case("adam", nn::OptimizerOptions::adam)
                    .Case("adamw", nn::OptimizerOptions::adamw)
                    .Default(-1);
    if (kind < 0) {
      getOperation().emitError("knows no optimizer '")
          << optimizer << "'; there are sgd, adam and adamw";
      return signalPassFailure();
    }
    nn::OptimizerOptions update{static_cast<nn::OptimizerOptions::Kind>(kind),
                                learningRate,
                                momentum,
                                nesterov,
                                beta1,
                                beta2,
                                epsilon,
                                weightDecay};
    if (std::string wrong = nn::checkOptimizer(update); !wrong.empty()) {
      getOperation().emitError(wrong);
      return signalPassFailure();
    }
    Sharder(getOperation(), micro,
            {world, stage, bucketBytes, persistenceThreshold, grouping}, update,
            accumulate, dumpGradients)
        .run();
  }
};

} // namespace
} // namespace mlir::zg::zero
