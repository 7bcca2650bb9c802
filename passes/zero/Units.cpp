//===- Units.cpp - which parameters are gathered and reduced together -----===//

#include "passes/zero/Units.h"

#include "passes/zero/UnitNames.h"
#include "passes/zero/UnitPlaces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

namespace {

std::vector<Candidate> collect(nn::ProgramOp program) {
  DenseMap<Operation *, int64_t> position;
  for (auto [index, op] : llvm::enumerate(program.front())) {
    position[&op] = index;
  }
  DenseSet<Attribute> changed;
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    if (Attribute name = program.getResultAttr(i, nn::kNextValueAttr)) {
      changed.insert(name);
    }
  }
  std::vector<Candidate> candidates;
  for (BlockArgument argument : program.getArguments()) {
    auto parameter = program.getArgAttrOfType<nn::ParameterAttr>(
        argument.getArgNumber(), nn::kParameterAttr);
    if (!parameter) {
      continue;
    }
    Candidate candidate;
    candidate.argument = argument;
    candidate.element = computedElement(argument);
    candidate.parameter = parameter;
    candidate.local = changed.contains(parameter.getName());
    for (Operation *user : argument.getUsers()) {
      candidate.uses.push_back(position.lookup(user));
    }
    llvm::sort(candidate.uses);
    candidates.push_back(std::move(candidate));
  }
  // An unused parameter comes last.
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    int64_t end = std::numeric_limits<int64_t>::max();
    return (a.uses.empty() ? end : a.uses.front()) <
           (b.uses.empty() ? end : b.uses.front());
  });
  return candidates;
}

/// Returns the lengths of the segments into which a flat buffer of `elements`
/// is cut. `element` is the widest type in which they travel.
SmallVector<int64_t> cutIntoSegments(int64_t elements, Type element,
                                     const UnitOptions &options) {
  int64_t grain = options.ranks * kAlignElements;
  int64_t length = elements;
  // One rank has no collectives, whose grain a segment is.
  if (options.ranks > 1) {
    int64_t wanted = options.bucketBytes / nn::elementBytes(element);
    length = std::max<int64_t>(1, wanted / grain) * grain;
  }
  SmallVector<int64_t> segments;
  for (int64_t begin = 0; begin < elements; begin += length) {
    segments.push_back(std::min(length, elements - begin));
  }
  return segments;
}

/// Lays the members out in a flat buffer.
Unit makeUnit(ArrayRef<Candidate *> members, StringRef name,
              const UnitPlaces &places, const UnitOptions &options) {
  const Candidate &first = *members.front();
  MLIRContext *context = first.argument.getContext();
  Builder builder(context);
  bool trainable = first.parameter.getTrainable();
  Type element = first.element, own = first.type().getElementType();
  Unit unit;
  SmallVector<PlacementAttr> placements;
  int64_t elements = 0;
  for (Candidate *member : members) {
    placements.push_back(PlacementAttr::get(context, member->parameter,
                                            TypeAttr::get(member->type()),
                                            elements, member->group));
    unit.arguments.push_back(member->argument);
    elements += llvm::alignTo(member->type().getNumElements(), kAlignElements);
  }
  bool whole = options.stage < 3 || first.local ||
               elements <= options.persistenceThreshold;
  auto state = [&](StringRef role, Type type, bool sharded) {
    return UnitStateAttr::get(context, builder.getStringAttr(role), type,
                              sharded, Space::device);
  };
  SmallVector<UnitStateAttr> states = {state(kParamRole, element, !whole)};
  if (trainable) {
    states.push_back(state(kGradRole, own, /*sharded=*/!options.reduceLast));
  }
  if (trainable && own != element && options.masters) {
    states.push_back(state(kMasterRole, own, /*sharded=*/options.stage >= 1));
  }
  elements = llvm::alignTo(elements, options.ranks * kAlignElements);
  unit.attribute = ParamUnitAttr::get(
      context, builder.getStringAttr(name), element, elements, trainable,
      /*persistent=*/options.stage == 3 && whole,
      builder.getStringAttr(first.reason), builder.getStrArrayAttr({kDataAxis}),
      cutIntoSegments(elements, trainable ? own : element, options), states,
      placements, first.local,
      name == first.unit ? StringAttr() : builder.getStringAttr(first.unit),
      places.beside(name, members));
  return unit;
}

} // namespace

Type mlir::zg::zero::computedElement(BlockArgument parameter) {
  Type own = cast<RankedTensorType>(parameter.getType()).getElementType();
  Type element;
  for (Operation *user : parameter.getUsers()) {
    auto convert = dyn_cast<nn::ConvertOp>(user);
    Type to = convert ? convert.getType().getElementType() : own;
    if (!nn::isHalf(to) || (element && element != to)) {
      return own;
    }
    element = to;
  }
  return element ? element : own;
}

std::vector<Unit> mlir::zg::zero::groupIntoUnits(nn::ProgramOp program,
                                                 const UnitOptions &options) {
  std::vector<Candidate> candidates = collect(program);
  nameUnits(candidates, program, options.grouping);

  // There is one flat buffer a unit x computed and own element type x
  // trainable, frozen or local x group of the optimizer.
  llvm::MapVector<std::tuple<StringRef, Type, Type, int, int64_t>,
                  SmallVector<Candidate *>>
      buffers;
  for (Candidate &candidate : candidates) {
    if (options.groups && candidate.kind() == Candidate::kTrainable) {
      candidate.group =
          options.groups->of(candidate.parameter.getName(), candidate.type());
    }
    buffers[{candidate.unit, candidate.element,
             candidate.type().getElementType(), candidate.kind(),
             candidate.group}]
        .push_back(&candidate);
  }
  UnitPlaces places(program);
  std::vector<Unit> units;
  for (auto &[key, members] : buffers) {
    const Candidate &first = *members.front();
    int64_t shared = 0, alike = 0;
    for (auto &entry : buffers) {
      const Candidate &other = *entry.second.front();
      shared += other.unit == first.unit;
      alike += other.unit == first.unit && other.kind() == first.kind() &&
               other.group == first.group;
    }
    std::string name = first.unit;
    if (shared > 1 && first.kind() != Candidate::kTrainable) {
      name += first.kind() == Candidate::kFrozen ? ".frozen" : ".local";
    } else if (shared > 1 && first.group > 0) {
      name += ".group" + std::to_string(first.group);
    }
    if (alike > 1) {
      llvm::raw_string_ostream(name) << "." << first.element;
    }
    units.push_back(makeUnit(members, name, places, options));
  }
  return units;
}
