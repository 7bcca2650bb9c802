//===- Updates.cpp - the update of parameters by their owners -------------===//

#include "passes/differentiate/Optimizer.h"
#include "passes/zero/GradientSums.h"
#include "passes/zero/Passes.h"
#include "passes/zero/UnitUpdate.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_UPDATES
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-updates
//===----------------------------------------------------------------------===//

struct Updates : impl::UpdatesBase<Updates> {
  using UpdatesBase::UpdatesBase;

  void runOnOperation() override {
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    FailureOr<nn::OptimizerOptions> options = readOptions();
    if (failed(states) || failed(options)) {
      return signalPassFailure();
    }
    FailureOr<Program> micro = Program::find(getOperation(), kMicroProgram);
    if (failed(micro)) {
      return signalPassFailure();
    }
    FailureOr<Groups> groups = setGroups(*options);
    if (failed(groups) || failed(checkGroups(*states, groups->size()))) {
      return signalPassFailure();
    }
    declareStates(*states, *groups);
    // Updates come in the order in which gradients are complete, so that the
    // first ones are freed first.
    llvm::SetVector<int64_t> order;
    for (Operation &op : micro->body()) {
      if (auto reduction = dyn_cast<ReduceScatterOp>(op)) {
        order.insert(reduction.getUnit());
      } else if (auto pack = dyn_cast<PackOp>(op);
                 pack && states->reducesLast(pack.getUnit())) {
        order.insert(pack.getUnit());
      }
    }
    Program program =
        Program::create(getOperation(), kUpdateProgram, micro->location());
    UnitUpdate update(program, *states, *groups, scalarType(*states),
                      skip_nonfinite);
    GradientSums sums(program, *states);
    // All is reduced before the first update, since the norm of all gradients
    // is needed before it.
    DenseMap<int64_t, SmallVector<Value>> reduced;
    for (int64_t unit : order) {
      if (states->reducesLast(unit)) {
        reduced[unit] = sums.reduce(unit, reduce_precision);
      }
    }
    for (int64_t unit : order) {
      update.run(unit, states->reducesLast(unit) ? reduced[unit]
                                                 : sums.carried(unit));
      sums.clear(unit);
    }
  }

  FailureOr<nn::OptimizerOptions> readOptions() {
    namespace table = zerograph::options;
    const table::Optimizer *kind = table::findOptimizer(optimizer.getValue());
    if (!kind) {
      return getOperation().emitError("knows no optimizer '")
             << optimizer << "'; there are "
             << table::namesOf(table::kOptimizers);
    }
    table::Compile given;
    given.lr = lr;
    given.betas = betas;
    given.eps = eps;
    given.weight_decay = weight_decay;
    given.momentum = momentum;
    given.nesterov = nesterov;
    given.lamb_min_coeff = lamb_min_coeff;
    given.lamb_max_coeff = lamb_max_coeff;
    std::optional<table::Hyperparameters> numbers =
        table::hyperparametersOf(*kind, given);
    if (!numbers) {
      return getOperation().emitError("has the betas '")
             << betas << "'; two numbers are needed, as 0.9,0.999";
    }
    nn::OptimizerOptions options{*numbers, kind, cycle_max_momentum > 0,
                                 clip_value};
    if (std::string wrong = nn::checkOptimizer(options); !wrong.empty()) {
      return getOperation().emitError(wrong);
    }
    return options;
  }

  /// Says with what each group is updated: with the options, except for those
  /// that `zero-layout` says it has of its own.
  FailureOr<Groups> setGroups(const nn::OptimizerOptions &options) {
    LayoutOp layout = layoutOf(getOperation());
    if (!layout.getGroupsAttr()) {
      return getOperation().emitError("has no optimizer groups in its "
                                      "zero.layout");
    }
    Groups result;
    SmallVector<Attribute> attributes;
    for (auto group : layout.getGroupsAttr().getAsRange<OptimizerGroupAttr>()) {
      nn::OptimizerOptions changed = options;
      std::string wrong = group.getOptions()
                              ? nn::changeOptimizer(changed, group.getOptions())
                              : "";
      if (!wrong.empty()) {
        return getOperation().emitError("group ")
               << group.getName() << ": " << wrong;
      }
      result.push_back(changed);
      attributes.push_back(OptimizerGroupAttr::get(
          &getContext(), group.getName(),
          nn::describeOptimizer(&getContext(), changed)));
    }
    layout.setGroupsAttr(Builder(&getContext()).getArrayAttr(attributes));
    return result;
  }

  /// Checks that a unit has one group: a flat buffer is updated as one.
  LogicalResult checkGroups(const UnitStates &states, int64_t groups) {
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      for (PlacementAttr place : states[unit].getPlacements()) {
        int64_t expected = states.group(unit);
        if (states[unit].getTrainable() &&
            (place.getGroup() != expected || expected >= groups)) {
          return getOperation().emitError("unit ")
                 << states[unit].getName() << " has parameters of optimizer "
                 << "groups " << expected << " and " << place.getGroup() << " ("
                 << place.getParameter().getName().getValue()
                 << "); expected one group a unit, of " << groups;
        }
      }
    }
    return success();
  }

  /// Returns the units whose states the host keeps: from the last on, whose
  /// gradients come first, so that the device updates beside backward what is
  /// left over.
  DenseSet<int64_t> offloadedUnits(const UnitStates &states,
                                   const Groups &groups) {
    SmallVector<std::pair<int64_t, int64_t>> units; // and their elements
    int64_t all = 0, offloaded = 0;
    for (int64_t unit = states.size() - 1; unit >= 0; --unit) {
      // A unit of which the optimizer keeps nothing has nothing to offload.
      if (states[unit].getTrainable() &&
          (!nn::optimizerStates(groups[states.group(unit)]).empty() ||
           keepsSums(states, unit) || states.declared(unit, kMasterRole) ||
           states.declared(unit, kParamRole).getSpace() != Space::device)) {
        units.push_back({unit, states[unit].getElements()});
        all += states[unit].getElements();
      }
    }
    DenseSet<int64_t> result;
    for (auto [unit, elements] : units) {
      offloaded += elements;
      if (offload_optimizer != "none" && offloaded <= offload_ratio * all) {
        result.insert(unit);
      }
    }
    return result;
  }

  /// Declares the optimizer's states, in the type of what it updates.
  void declareStates(UnitStates &states, const Groups &groups) {
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      if (offload_param != "none" && states.shardsParameters(unit)) {
        states.declareSpace(unit, kParamRole,
                            offload_param == "nvme" ? Space::nvme
                                                    : Space::pinned);
      }
    }
    DenseSet<int64_t> offloaded = offloadedUnits(states, groups);
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      if (!states[unit].getTrainable()) {
        continue;
      }
      bool offloads = offloaded.contains(unit);
      if (offloads) {
        declareMaster(states, unit);
        declareSums(states, unit);
      }
      for (StringRef role : nn::optimizerStates(groups[states.group(unit)])) {
        UnitStateAttr updated = states.declared(unit, kMasterRole);
        updated = updated ? updated : states.declared(unit, kParamRole);
        states.declare(unit, role, updated.getType(), states.shardsUpdate(unit),
                       offloads ? stateSpace() : Space::device);
      }
    }
  }

  /// Returns where offloaded states lie that do not cross to the device as they
  /// are.
  Space stateSpace() const {
    return offload_optimizer == "nvme" ? Space::nvme : Space::host;
  }

  /// Returns whether sums of the unit's gradients are offloaded, if anything
  /// is.
  bool keepsSums(const UnitStates &states, int64_t unit) {
    auto accumulate =
        getOperation()->getAttrOfType<IntegerAttr>(kAccumulateAttr);
    return offload_gradients != "none" && accumulate &&
           accumulate.getInt() > 1 && states.declared(unit, kGradRole);
  }

  /// Declares where the unit's sums lie: in pinned memory where the device adds
  /// to them, since other ranks' gradients go into them. One rank's own never
  /// cross: the host adds.
  void declareSums(UnitStates &states, int64_t unit) {
    if (keepsSums(states, unit)) {
      states.declareSpace(unit, kGradRole,
                          offload_gradients == "nvme" ? Space::nvme
                          : states.ranks() == 1       ? Space::host
                                                      : Space::pinned);
    }
  }

  /// Declares a master in the host's memory or file for the host to update,
  /// unless the parameters lie there. One in memory that has their type is
  /// copied to the device as it is.
  void declareMaster(UnitStates &states, int64_t unit) {
    UnitStateAttr parameters = states.declared(unit, kParamRole);
    if (states.declared(unit, kMasterRole)) {
      states.declareSpace(unit, kMasterRole, stateSpace());
    } else if (parameters.getSpace() == Space::device) {
      states.declare(unit, kMasterRole, parameters.getType(),
                     states.shardsUpdate(unit),
                     stateSpace() == Space::nvme ? Space::nvme : Space::pinned);
    }
  }

  /// Returns float64 where any parameter has it, which buildUpdate rounds for
  /// others, else float32.
  RankedTensorType scalarType(const UnitStates &states) {
    Builder builder(&getContext());
    bool wide = false;
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      wide |=
          states[unit].getTrainable() && states[unit].getElementType().isF64();
    }
    return RankedTensorType::get({1}, wide ? builder.getF64Type()
                                           : builder.getF32Type());
  }
};

} // namespace
} // namespace mlir::zg::zero
