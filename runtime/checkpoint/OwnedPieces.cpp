//===- OwnedPieces.cpp - what a rank writes into a checkpoint -------------===//

#include "runtime/checkpoint/OwnedPieces.h"

#include "runtime/plan/UnitParts.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace zerograph;

namespace {

/// Returns whether a checkpoint has a state: it is what the update works on.
/// Parameters that are rounded from masters, and gradients, follow from others.
bool isSaved(const plan::Unit &unit, const plan::State &state) {
  return roleOf(state) == Role::Optimizer ||
         roleOf(state) == roleOfValues(unit);
}

} // namespace

CheckpointTensor zerograph::tensorOf(const plan::Unit &unit,
                                     const plan::State &state,
                                     const plan::Parameter &parameter,
                                     unsigned rank) {
  CheckpointTensor tensor;
  tensor.name = parameter.name();
  tensor.role = state.role();
  tensor.type = state.type();
  tensor.computed = unit.type();
  tensor.shape = {parameter.shape().begin(), parameter.shape().end()};
  if (unit.local()) {
    tensor.rank = rank;
  }
  return tensor;
}

std::vector<CheckpointTensor> zerograph::savedTensors(const plan::Plan &plan,
                                                      unsigned rank) {
  std::vector<CheckpointTensor> saved;
  for (const plan::Unit &unit : plan.units()) {
    if (rank > 0 && !unit.local()) {
      continue; // the same as of rank 0
    }
    std::set<std::string> roles; // one role may have several views
    for (const plan::State &state : unit.states()) {
      if (!isSaved(unit, state) || !roles.insert(state.role()).second) {
        continue;
      }
      for (const plan::Parameter &parameter : unit.parameters()) {
        saved.push_back(tensorOf(unit, state, parameter, rank));
      }
    }
  }
  return saved;
}

std::vector<OwnedPiece> zerograph::ownedPieces(const plan::Plan &plan,
                                               const RankMemory &memory) {
  std::vector<OwnedPiece> pieces;
  for (const plan::Unit &unit : plan.units()) {
    // One role may have several views of the same elements.
    std::set<std::tuple<std::string, std::string, uint64_t>> taken;
    for (const plan::State &state : unit.states()) {
      if (!isSaved(unit, state)) {
        continue;
      }
      const plan::Slice &slice = plan.slices(int(state.slice()));
      bool in_file = plan.arenas(int(slice.arena())).space() == plan::NVME;
      for (const HeldRange &range :
           unit.local() ? heldRanges(plan, unit, state, memory)
                        : ownedRanges(plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          if (taken.insert({part.parameter->name(), state.role(), part.first})
                  .second) {
            pieces.push_back(
                {tensorOf(unit, state, *part.parameter, memory.rank),
                 part.first, part.count, part.bytes, in_file});
          }
        }
      }
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const OwnedPiece &a, const OwnedPiece &b) {
                     return elementSize(a.tensor.type) >
                            elementSize(b.tensor.type);
                   });
  return pieces;
}

/// Nothing is read, so arenas need not be there.
static std::vector<OwnedPiece> unreadPieces(const plan::Plan &plan,
                                            unsigned rank) {
  return ownedPieces(plan,
                     {rank, std::vector<Buffer *>(size_t(plan.arenas_size()))});
}

uint64_t zerograph::ownedBytes(const plan::Plan &plan, unsigned rank) {
  uint64_t bytes = 0;
  for (const OwnedPiece &piece : unreadPieces(plan, rank)) {
    bytes += piece.bytes.bytes;
  }
  return bytes;
}

uint64_t zerograph::checkpointMemory(const plan::Plan &plan, unsigned rank) {
  uint64_t copy = 0, staging = 0;
  for (const OwnedPiece &piece : unreadPieces(plan, rank)) {
    if (piece.in_file) {
      staging = std::max(staging, piece.bytes.bytes);
    } else {
      copy += piece.bytes.bytes;
    }
  }
  return copy + staging;
}
