//===- Units.cpp - which parameters are gathered and reduced together -----===//

#include "passes/zero/Units.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

namespace {

constexpr int64_t kConsecutiveBytes = 16 << 20;

struct Candidate {
  BlockArgument argument;
  Type element; ///< computed with
  nn::ParameterAttr parameter;
  /// Every micro-batch changes it: `nn.next_value`.
  bool local = false;
  int64_t group = 0; // the optimizer's, where it is trained
  enum Kind { kFrozen, kTrainable, kLocal };
  Kind kind() const {
    return local ? kLocal : parameter.getTrainable() ? kTrainable : kFrozen;
  }
  /// Positions of its uses in the program's block.
  SmallVector<int64_t> uses;
  std::string unit;
  std::string reason;

  RankedTensorType type() const {
    return cast<RankedTensorType>(argument.getType());
  }
  StringRef name() const { return parameter.getName().getValue(); }
};

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

/// "h.3" of "h.3.attn.weight"; empty where no component is a number.
StringRef blockPrefix(StringRef name) {
  size_t begin = 0;
  while (begin < name.size()) {
    size_t end = std::min(name.find('.', begin), name.size());
    StringRef component = name.slice(begin, end);
    if (begin > 0 && llvm::all_of(component, llvm::isDigit)) {
      return name.take_front(end);
    }
    begin = end + 1;
  }
  return "";
}

void nameUnits(std::vector<Candidate> &candidates) {
  for (Candidate &candidate : candidates) {
    StringRef block = blockPrefix(candidate.name());
    StringRef module = candidate.parameter.getModule().getValue();
    if (!block.empty()) {
      candidate.unit = block.str();
      candidate.reason = "block of a repeated module";
    } else if (!module.empty()) {
      candidate.unit = module.str();
      candidate.reason = "module";
    }
  }
}

/// Longest beginning of `name` that the pattern matches; empty for none.
StringRef matchedPrefix(const llvm::GlobPattern &pattern, StringRef name) {
  // Shortest first, so that "h.*." does not swallow the whole name; a match
  // must end where a component does.
  for (size_t end = 1; end <= name.size(); ++end) {
    bool boundary = end == name.size() || name[end] == '.';
    if (boundary && pattern.match(name.take_front(end))) {
      return name.take_front(end);
    }
  }
  return "";
}

void groupConsecutive(std::vector<Candidate> &candidates, int64_t limit) {
  int64_t bytes = 0, index = -1;
  for (Candidate &candidate : candidates) {
    if (!candidate.unit.empty()) {
      continue;
    }
    int64_t size =
        candidate.type().getNumElements() * nn::elementBytes(candidate.element);
    if (index < 0 || bytes + size > limit) {
      bytes = 0;
      ++index;
    }
    bytes += size;
    candidate.unit = "group." + std::to_string(index);
    candidate.reason = "consecutive parameters";
  }
}

/// True if a use of another unit lies strictly between two uses of this one,
/// within the forward part (the program's first half ends at `loss`).
bool usesLieApart(const Candidate &candidate,
                  const std::vector<Candidate> &candidates, int64_t loss) {
  for (size_t i = 1; i < candidate.uses.size(); ++i) {
    int64_t from = candidate.uses[i - 1], to = candidate.uses[i];
    if (to > loss) {
      break;
    }
    for (const Candidate &other : candidates) {
      if (!other.local && other.unit != candidate.unit &&
          llvm::any_of(other.uses,
                       [&](int64_t use) { return from < use && use < to; })) {
        return true;
      }
    }
  }
  return false;
}

void separateTied(std::vector<Candidate> &candidates, int64_t loss) {
  llvm::MapVector<StringRef, SmallVector<Candidate *>> units;
  for (Candidate &candidate : candidates) {
    if (!candidate.local) {
      units[candidate.unit].push_back(&candidate);
    }
  }
  SmallVector<Candidate *> tied;
  for (auto &[unit, members] : units) {
    SmallVector<Candidate *> apart;
    for (Candidate *member : members) {
      if (member->uses.size() > 1 && usesLieApart(*member, candidates, loss)) {
        apart.push_back(member);
      }
    }
    if (apart.size() < members.size()) {
      llvm::append_range(tied, apart);
    }
  }
  for (Candidate *candidate : tied) {
    candidate->unit = candidate->name().str();
    candidate->reason = "used apart from the rest of its module (tied)";
  }
}

/// What micro-batches change goes together: it is not gathered, so that it
/// matters little where it is used.
void separateLocal(std::vector<Candidate> &candidates) {
  for (Candidate &candidate : candidates) {
    if (candidate.local) {
      candidate.unit = "buffers";
      candidate.reason = "made anew by every micro-batch";
    }
  }
}

/// A flat buffer of `elements`, of which the widest that travel are `element`,
/// one segment behind the other.
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

/// Lays the members out.
Unit makeUnit(ArrayRef<Candidate *> members, StringRef name,
              const UnitOptions &options) {
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
                              sharded);
  };
  SmallVector<UnitStateAttr> states = {state(kParamRole, element, !whole)};
  if (trainable) {
    states.push_back(state(kGradRole, own, /*sharded=*/true));
  }
  if (trainable && own != element) {
    states.push_back(state(kMasterRole, own, /*sharded=*/options.stage >= 1));
  }
  elements = llvm::alignTo(elements, options.ranks * kAlignElements);
  unit.attribute = ParamUnitAttr::get(
      context, builder.getStringAttr(name), element, elements, trainable,
      /*persistent=*/options.stage == 3 && whole,
      builder.getStringAttr(first.reason), builder.getStrArrayAttr({kDataAxis}),
      cutIntoSegments(elements, trainable ? own : element, options), states,
      placements, first.local);
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
  StringRef grouping = options.grouping;
  int64_t bytes = kConsecutiveBytes;
  if (grouping.empty()) {
    nameUnits(candidates);
  } else if (grouping.getAsInteger(10, bytes)) {
    bytes = kConsecutiveBytes;
    if (auto pattern = llvm::GlobPattern::create(grouping)) {
      for (Candidate &candidate : candidates) {
        candidate.unit = matchedPrefix(*pattern, candidate.name()).str();
        candidate.reason = "matches '" + options.grouping + "'";
      }
    } else {
      llvm::consumeError(pattern.takeError());
    }
  }
  separateLocal(candidates);
  groupConsecutive(candidates, bytes);

  Operation *loss =
      program.front().getTerminator()->getOperand(0).getDefiningOp();
  int64_t lossPosition = 0;
  for (Operation &op : program.front()) {
    if (&op == loss) {
      break;
    }
    ++lossPosition;
  }
  separateTied(candidates, lossPosition);

  // One flat buffer a unit x computed and own element type x trainable, frozen
  // or local x group of the optimizer.
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
    units.push_back(makeUnit(members, name, options));
  }
  return units;
}
