//===- Sharder.h - makes the programs of a ZeRO stage ---------------------===//
//
// One algorithm for all stages: the original ops are cloned in order, with
// parameters read through views; gathers, reductions and updates are put
// around them.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_SHARDER_H
#define ZEROGRAPH_PASSES_ZERO_SHARDER_H

#include "mlir/IR/IRMapping.h"
#include "passes/differentiate/Optimizer.h"
#include "passes/zero/GatherPlan.h"
#include "passes/zero/ProgramBuilder.h"

namespace mlir::zg::zero {

/// What the options decide once, for a unit.
struct UnitState {
  Unit unit;
  int64_t index;
  /// The parameters are this rank's shards across steps.
  bool shardedParameters;
  /// Optimizer state and its gradients are shards.
  bool shardedUpdate;

  ParamUnitAttr attribute() const { return unit.attribute; }
  RankedTensorType flatType() const {
    return RankedTensorType::get({attribute().getElements()},
                                 attribute().getElementType());
  }
  RankedTensorType shardType(int64_t segment, int64_t world) const {
    return RankedTensorType::get({attribute().getSegments()[segment] / world},
                                 attribute().getElementType());
  }
  int64_t segments() const { return attribute().getSegments().size(); }
  bool trainable() const { return attribute().getTrainable(); }
};

/// Replaces `micro` by the programs of a step: @step, or @micro and @update
/// where gradients are accumulated.
class Sharder {
public:
  Sharder(ModuleOp module, func::FuncOp micro, const UnitOptions &unitOptions,
          const nn::OptimizerOptions &optimizer, int64_t accumulate,
          bool dumpGradients);
  void run();

private:
  StateAttr key(const UnitState &unit, int64_t segment, StringRef role,
                bool sharded) const {
    return StateAttr::get(context, unit.index, segment,
                          StringAttr::get(context, role), sharded);
  }
  StateAttr scalarKey(StringRef role) const {
    return StateAttr::get(context, -1, -1, StringAttr::get(context, role),
                          false);
  }

  /// The whole flat buffer as it lives across steps (not for shards).
  Value wholeParameters(ProgramBuilder &program, const UnitState &unit) {
    return program.state(key(unit, -1, kParamRole, false), unit.flatType());
  }
  SmallVector<Value> parameterShards(ProgramBuilder &program,
                                     const UnitState &unit);

  void cloneMicro(ProgramBuilder &program);
  void gather(ProgramBuilder &program, const Gather &gather);
  Value view(ProgramBuilder &program, const UnitState &unit, unsigned member,
             Value flat);
  void reduceWhereComplete(ProgramBuilder &program, int64_t position);
  void reduce(ProgramBuilder &program, UnitState &unit);
  Value pack(ProgramBuilder &program, const UnitState &unit,
             const llvm::StringMap<Value> &members);
  void reduceLoss(ProgramBuilder &program);
  void updateLocal(ProgramBuilder &program);
  void updateAll(ProgramBuilder &program);
  Value optimizerScalar(ProgramBuilder &program, StringRef name);
  void updateWhole(ProgramBuilder &program, UnitState &unit);
  void updateShards(ProgramBuilder &program, UnitState &unit);
  void setModuleAttributes();

  ModuleOp module;
  func::FuncOp micro;
  MLIRContext *context;
  UnitOptions options;
  nn::OptimizerOptions optimizer;
  int64_t accumulate;
  bool dumpGradients;

  int64_t lossPosition = 0;
  SmallVector<UnitState> units;
  std::vector<Gather> gathers;
  IRMapping mapping;
  /// Unit -> flat buffer in force while cloning.
  DenseMap<int64_t, Value> flat;
  /// Parameter argument -> its unit and place in it.
  DenseMap<Value, std::pair<int64_t, unsigned>> places;
  /// Trainable unit -> position after which its gradients are complete.
  DenseMap<int64_t, int64_t> complete;
  /// Parameter name -> gradient in `micro`.
  llvm::StringMap<Value> gradients;
  /// Parameter name -> what it is after the micro-batch, in `micro`.
  llvm::StringMap<Value> nextValues;
  /// Unit -> reduced gradients: one shard a segment, or the whole buffer.
  DenseMap<int64_t, SmallVector<Value>> reduced;
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_SHARDER_H
