//===- GatherPlacement.cpp - when parameters are gathered, released -------===//

#include "passes/zero/GatherPlacement.h"
#include "passes/ir/nn/Locations.h"

#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

namespace {

Stay stayOf(const Gather &gather, int64_t backward) {
  return gather.last < backward     ? Stay::forward
         : gather.first >= backward ? Stay::backward
                                    : Stay::kept;
}

/// Returns whether the op changes the shape or type of a parameter for its one
/// user: then the parameter is read where that user stands.
bool isForOneUser(Operation *op) {
  return nn::recastsParameter(op) && op->hasOneUse();
}

/// The views through which an op reads one sharded unit.
struct Use {
  int64_t unit;
  /// The position of the first of the views.
  int64_t first;
  SmallVector<ViewOp, 1> views;
};

std::string describe(const Gather &gather, StringRef unit,
                     Operation *firstUser) {
  std::string name = nn::describe(firstUser->getLoc());
  if (name.empty()) {
    name = firstUser->getName().getStringRef().str();
  }
  StringRef where = gather.stay == Stay::forward    ? "forward of "
                    : gather.stay == Stay::backward ? "backward of "
                                                    : "kept from forward to "
                                                      "backward of ";
  return where.str() + unit.str() + ", first needed by " + name;
}

class GatherPlacer {
public:
  GatherPlacer(nn::ProgramOp program, const UnitStates &states)
      : program(program), states(states) {
    for (BlockArgument argument : program.getArguments()) {
      auto state = program.getArgAttrOfType<StateAttr>(argument.getArgNumber(),
                                                       kStateAttr);
      if (state && state.getUnit() >= 0 &&
          state == states.whole(state.getUnit(), kParamRole) &&
          states.shardsParameters(state.getUnit())) {
        unitOf[argument] = state.getUnit();
      }
    }
    for (auto [position, op] : llvm::enumerate(program.front())) {
      positions[&op] = position;
    }
  }

  std::vector<Gather> run();

private:
  SmallVector<Use> usesOf(Operation &op);

  nn::ProgramOp program;
  const UnitStates &states;
  DenseMap<Value, int64_t> unitOf; // whole buffer -> unit
  DenseMap<Operation *, int64_t> positions;
};

SmallVector<Use> GatherPlacer::usesOf(Operation &op) {
  SmallVector<Use> uses;
  if (isForOneUser(&op)) {
    return uses;
  }
  for (Value operand : op.getOperands()) {
    ViewOp view = viewBehind(operand);
    auto unit = view ? unitOf.find(view.getFlat()) : unitOf.end();
    if (unit == unitOf.end()) {
      continue;
    }
    auto *use = llvm::find_if(
        uses, [&](const Use &use) { return use.unit == unit->second; });
    if (use == uses.end()) {
      use = &uses.emplace_back(Use{unit->second, positions[view], {}});
    }
    use->first = std::min(use->first, positions[view]);
    use->views.push_back(view);
  }
  return uses;
}

/// Walks the program: a visit of a block of parameters goes on while each op
/// that uses any parameters uses one of the block. A unit has one stay in a
/// visit.
std::vector<Gather> GatherPlacer::run() {
  Operation *terminator = program.front().getTerminator();
  Operation *first = nn::firstOfBackward(
      program.front(), terminator->getOperand(0).getDefiningOp());
  int64_t backward = first ? positions.lookup(first) : positions.size();
  std::vector<Gather> gathers;
  SmallVector<Operation *> firstUsers;
  struct Visit {
    int64_t number = 0, last = -1;
  };
  DenseMap<StringRef, Visit> visits; // by block
  struct StayOfVisit {
    size_t gather;
    int64_t visit;
  };
  DenseMap<int64_t, StayOfVisit> latest; // by unit
  int64_t lastUse = -1; // last position at which units were used
  for (auto [position, op] : llvm::enumerate(program.front())) {
    SmallVector<Use> uses = usesOf(op);
    for (const Use &use : uses) {
      Visit &visit = visits[states.block(use.unit)];
      visit.number += visit.last != lastUse && visit.last != int64_t(position);
      visit.last = position;
      auto it = latest.find(use.unit);
      if (it == latest.end() || it->second.visit != visit.number) {
        latest[use.unit] = {gathers.size(), visit.number};
        gathers.push_back({use.unit, use.first, 0, Stay::kept, "", {}});
        firstUsers.push_back(&op);
      }
    }
    for (const Use &use : uses) {
      Gather &gather = gathers[latest[use.unit].gather];
      gather.first = std::min(gather.first, use.first);
      gather.last = position;
      llvm::append_range(gather.views, use.views);
    }
    lastUse = uses.empty() ? lastUse : position;
  }
  for (auto [gather, user] : llvm::zip(gathers, firstUsers)) {
    gather.stay = stayOf(gather, backward);
    gather.reason = describe(gather, states.name(gather.unit), user);
  }
  return gathers;
}

} // namespace

ViewOp mlir::zg::zero::viewBehind(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isForOneUser(op)) {
    op = op->getOperand(0).getDefiningOp();
  }
  return dyn_cast_or_null<ViewOp>(op);
}

std::vector<Gather> mlir::zg::zero::placeGathers(nn::ProgramOp program,
                                                 const UnitStates &states) {
  return GatherPlacer(program, states).run();
}
