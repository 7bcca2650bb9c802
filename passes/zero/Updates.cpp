//===- Updates.cpp - the update of parameters by their owners -------------===//

#include "passes/differentiate/Optimizer.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"
#include "passes/zero/UnitStates.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_UPDATES
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-updates
//===----------------------------------------------------------------------===//

/// With what each group is updated.
using Groups = SmallVector<nn::OptimizerOptions>;

/// "learning_rate.1": what depends on the learning rate or the betas is a
/// scalar of each group; the first has the plain name.
std::string scalarOfGroup(StringRef name, int64_t group) {
  return group == 0 || name == nn::kGradientScale
             ? name.str()
             : (name + "." + Twine(group)).str();
}

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
    // In the order in which gradients are complete, so that the first ones are
    // freed first.
    llvm::SetVector<int64_t> order;
    for (auto reduction : micro->body().getOps<ReduceScatterOp>()) {
      order.insert(reduction.getUnit());
    }
    Program program =
        Program::create(getOperation(), kUpdateProgram, micro->location());
    UnitUpdate update(program, *states, *groups, scalarType(*states),
                      skip_nonfinite);
    for (int64_t unit : order) {
      update.run(unit);
    }
  }

  FailureOr<nn::OptimizerOptions> readOptions() {
    std::optional<nn::OptimizerOptions::Kind> kind =
        nn::optimizerKind(optimizer);
    if (!kind) {
      return getOperation().emitError("knows no optimizer '")
             << optimizer << "'; there are " << nn::optimizerNames();
    }
    auto coefficients =
        zerograph::options::betas(optimizer.getValue(), betas.getValue());
    if (!coefficients) {
      return getOperation().emitError("has the betas '")
             << betas << "'; two numbers in [0, 1) are needed, as 0.9,0.999";
    }
    nn::OptimizerOptions options{
        *kind,
        lr,
        momentum,
        nesterov,
        coefficients->first,
        coefficients->second,
        cycle_max_momentum > 0,
        zerograph::options::epsilon(optimizer.getValue(), eps),
        zerograph::options::weightDecay(optimizer.getValue(), weight_decay),
        clip_value};
    if (std::string wrong = nn::checkOptimizer(options); !wrong.empty()) {
      return getOperation().emitError(wrong);
    }
    return options;
  }

  /// Says with what each group is updated: with the options, but for what
  /// `zero-layout` says that it has of its own.
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

  static int64_t groupOf(const UnitStates &states, int64_t unit) {
    return states[unit].getPlacements().front().getGroup();
  }

  /// A flat buffer is updated as one.
  LogicalResult checkGroups(const UnitStates &states, int64_t groups) {
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      for (PlacementAttr place : states[unit].getPlacements()) {
        int64_t expected = groupOf(states, unit);
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

  /// What the optimizer keeps has the type of what it updates.
  void declareStates(UnitStates &states, const Groups &groups) {
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      if (!states[unit].getTrainable()) {
        continue;
      }
      for (StringRef role :
           nn::optimizerStates(groups[groupOf(states, unit)])) {
        UnitStateAttr updated = states.declared(unit, kMasterRole);
        updated = updated ? updated : states.declared(unit, kParamRole);
        states.declare(unit, role, updated.getType(),
                       states.shardsUpdate(unit));
      }
    }
  }

  /// Of float64 where any parameter is; buildUpdate rounds it for others.
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

  /// Emits the update of one unit after another.
  class UnitUpdate {
  public:
    UnitUpdate(Program &program, const UnitStates &states, const Groups &groups,
               RankedTensorType scalar, bool skips)
        : program(program), states(states), groups(groups), scalarType(scalar),
          skips(skips), builder(program.terminator()) {}

    void run(int64_t unit) {
      location = states.location(unit, program.location());
      SmallVector<Value> gradients;
      for (int64_t i = 0; i < states.segments(unit); ++i) {
        gradients.push_back(
            program.state(states.shard(unit, i, kGradRole),
                          states.shardType(unit, i, kGradRole)));
      }
      if (states.shardsUpdate(unit)) {
        updateShards(unit, gradients);
      } else {
        updateWhole(unit, gradients);
      }
      for (int64_t i = 0; i < states.segments(unit); ++i) {
        clear(states.shard(unit, i, kGradRole),
              states.shardType(unit, i, kGradRole));
      }
    }

  private:
    /// The new value of a parameter, of the unit's type. The optimizer's states
    /// and the master, of the segment or of the whole buffer (-1), are updated.
    Value update(int64_t unit, int64_t segment, Value gradient) {
      bool master = bool(states.declared(unit, kMasterRole));
      StateAttr held = states.shard(unit, segment, kMasterRole);
      Value parameter =
          master ? program.state(held, typeOf(unit, segment, kMasterRole))
                 : parameters(unit, segment);
      Value made = updateFrom(unit, segment, parameter, gradient);
      if (!master) {
        return made;
      }
      program.update(made, held);
      return builder.create<nn::ConvertOp>(
          location, typeOf(unit, segment, kParamRole), made);
    }

    /// In the type of the gradient; each result in its own.
    Value updateFrom(int64_t unit, int64_t segment, Value parameter,
                     Value gradient) {
      nn::NNBuilder b(builder, location);
      Type wide = nn::elementOf(gradient);
      int64_t group = groupOf(states, unit);
      const nn::OptimizerOptions &optimizer = groups[group];
      SmallVector<StringRef> roles = nn::optimizerStates(optimizer);
      SmallVector<Value> old, widened;
      for (StringRef role : roles) {
        old.push_back(program.state(states.shard(unit, segment, role),
                                    typeOf(unit, segment, role)));
        widened.push_back(b.convert(old.back(), wide));
      }
      nn::Update made = nn::buildUpdate(
          builder, location, optimizer, b.convert(parameter, wide), gradient,
          widened, [&](StringRef name) {
            return program.scalar(scalarOfGroup(name, group), scalarType);
          });
      for (auto [role, value, before] :
           llvm::zip_equal(roles, made.states, old)) {
        program.update(unlessSkipped(value, before),
                       states.shard(unit, segment, role));
      }
      return unlessSkipped(made.parameter, parameter);
    }

    /// What replaces `before`.
    Value unlessSkipped(Value made, Value before) {
      nn::NNBuilder b(builder, location);
      made = b.convert(made, nn::elementOf(before));
      if (!skips) {
        return made;
      }
      Value scale = program.scalar(nn::kGradientScale, scalarType);
      Value updates = b.compare(nn::CompareKind::ne, scale, b.splat(scale, 0));
      return b.select(b.broadcast(updates, nn::shapeOf(made)), made, before);
    }

    RankedTensorType typeOf(int64_t unit, int64_t segment, StringRef role) {
      return segment < 0 ? states.wholeType(unit, role)
                         : states.shardType(unit, segment, role);
    }

    Value parameters(int64_t unit, int64_t segment) {
      if (segment >= 0 && states.shardsParameters(unit)) {
        return program.state(states.shard(unit, segment, kParamRole),
                             states.shardType(unit, segment, kParamRole));
      }
      Value whole = program.state(states.whole(unit, kParamRole),
                                  states.wholeType(unit, kParamRole));
      return segment < 0
                 ? whole
                 : builder.create<ShardOp>(
                       location, states.shardType(unit, segment, kParamRole),
                       whole, unit, segment);
    }

    /// Every rank updates everything.
    void updateWhole(int64_t unit, ValueRange gradients) {
      Value gradient = builder.create<AllGatherOp>(
          location, states.wholeType(unit, kGradRole), gradients, unit,
          states.axes(unit),
          "every rank updates all parameters of " + states.name(unit).str(),
          /*stay=*/StayAttr(), /*in_place=*/false);
      Value updated = update(unit, /*segment=*/-1, gradient);
      program.update(updated, states.whole(unit, kParamRole));
    }

    /// Every rank updates its shards, and the others get them where parameters
    /// are whole.
    void updateShards(int64_t unit, ValueRange gradients) {
      SmallVector<Value> updated;
      for (int64_t i = 0; i < states.segments(unit); ++i) {
        updated.push_back(update(unit, i, gradients[i]));
        if (states.shardsParameters(unit)) {
          program.update(updated.back(), states.shard(unit, i, kParamRole));
        }
      }
      if (!states.shardsParameters(unit)) {
        Value whole = builder.create<AllGatherOp>(
            location, states.wholeType(unit, kParamRole), updated, unit,
            states.axes(unit),
            "updated parameters of " + states.name(unit).str(),
            /*stay=*/StayAttr(), /*in_place=*/true);
        program.update(whole, states.whole(unit, kParamRole));
      }
    }

    /// The next step's sum begins at +0.0.
    void clear(StateAttr state, RankedTensorType type) {
      Value zero = builder.create<nn::ConstantOp>(
          location, type,
          SplatElementsAttr::get(type,
                                 builder.getZeroAttr(type.getElementType())));
      program.update(zero, state);
    }

    Program &program;
    const UnitStates &states;
    const Groups &groups;
    RankedTensorType scalarType;
    bool skips; ///< steps whose gradient scale is 0
    OpBuilder builder;
    Location location = builder.getUnknownLoc();
  };
};

} // namespace
} // namespace mlir::zg::zero
