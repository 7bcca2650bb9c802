//===- UnitNames.cpp - which unit a parameter belongs to ------------------===//

#include "passes/zero/UnitNames.h"

#include "options/Globs.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

namespace {

constexpr int64_t kConsecutiveBytes = 16 << 20;

/// Returns "h.3" for "h.3.attn.weight"; empty where no component is a number.
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

void nameByModule(std::vector<Candidate> &candidates) {
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

/// Returns the shortest beginning of `name`, of whole components, that the
/// pattern matches; empty for none. So "h.*" does not match the whole name.
StringRef matchedPrefix(const std::string &pattern, StringRef name) {
  for (size_t end = 1; end <= name.size(); ++end) {
    bool boundary = end == name.size() || name[end] == '.';
    if (boundary &&
        zerograph::options::matches(pattern, name.take_front(end).str())) {
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

/// Returns whether a use of another unit lies strictly between two uses of this
/// one, within the forward part (the program's first half ends at `loss`).
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

/// Puts parameters that micro-batches change together: they are not gathered,
/// so that it matters little where they are used.
void separateLocal(std::vector<Candidate> &candidates) {
  for (Candidate &candidate : candidates) {
    if (candidate.local) {
      candidate.unit = "buffers";
      candidate.reason = "made anew by every micro-batch";
    }
  }
}

} // namespace

void mlir::zg::zero::nameUnits(std::vector<Candidate> &candidates,
                               nn::ProgramOp program, StringRef grouping) {
  int64_t bytes = kConsecutiveBytes;
  if (grouping.empty()) {
    nameByModule(candidates);
  } else if (grouping.getAsInteger(10, bytes)) {
    bytes = kConsecutiveBytes;
    for (Candidate &candidate : candidates) {
      candidate.unit = matchedPrefix(grouping.str(), candidate.name()).str();
      candidate.reason = "matches '" + grouping.str() + "'";
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
}
