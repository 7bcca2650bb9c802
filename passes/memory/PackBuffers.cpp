//===- PackBuffers.cpp - gives every slice its offset ---------------------===//

#include "passes/memory/Passes.h"

#include "passes/analysis/HappensBefore.h"
#include "passes/analysis/Packing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_PACKBUFFERS
#include "passes/memory/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --sched-pack
//===----------------------------------------------------------------------===//

/// The bytes of 128 x 512 floats: products of larger matrices are cut for all
/// threads.
constexpr int64_t kHeldBytes = 256 << 10;

/// The alignment of a file, and of the memory that it is read to: so that the
/// disk can write to it and read from it. The runtime's kFilePage.
constexpr int64_t kFileAlignment = 4096;

/// Returns the carried slices of a space in the order in which they lie:
/// parameters and what the optimizer keeps of them first, so that plans of one
/// model for batches of other shapes have these at the same bytes, as the
/// runtime checks (runtime/plan/SameStates.cpp).
SmallVector<SliceOp> carriedIn(ModuleOp module, Space space) {
  SmallVector<SliceOp> slices;
  for (auto slice : module.getOps<SliceOp>()) {
    if (slice.getSpace() == space && slice.getCarried()) {
      slices.push_back(slice);
    }
  }
  auto place = [](SliceOp slice) {
    zero::StateAttr state = slice.getStateAttr();
    bool lasts = state && state.getUnit() >= 0 &&
                 slice.getSliceClass() != SliceClass::grad &&
                 slice.getSliceClass() != SliceClass::grad_shard;
    return lasts ? std::tuple(0, state.getUnit(), state.getRole().getValue(),
                              state.getSegment())
                 : std::tuple(1, int64_t(0), StringRef(), int64_t(0));
  };
  llvm::stable_sort(slices,
                    [&](SliceOp a, SliceOp b) { return place(a) < place(b); });
  return slices;
}

/// Returns whether a device may compute the step in fewer parts than it has
/// threads.
bool isLibraryCall(Step step) {
  return isa<MatmulOp, ConvolutionOp>(step.getOperation());
}

struct PackBuffers : impl::PackBuffersBase<PackBuffers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    std::vector<VectorClocks> clocks;
    Buffers shared;
    std::vector<HappensBefore> orders;
    for (auto [index, program] : llvm::enumerate(programs)) {
      const HappensBefore &order = orders.emplace_back(program);
      clocks.push_back(order.clocks());
      collect(order, index, shared);
    }
    Buffers held = shared;
    for (auto [index, order] : llvm::enumerate(orders)) {
      hold(order, index, held);
    }
    for (auto slice : llvm::make_early_inc_range(module.getOps<SliceOp>())) {
      if (!slice.getCarried() && !shared.contains(slice)) {
        slice.erase();
      }
    }
    bool hasFile = llvm::any_of(module.getOps<SliceOp>(), [](SliceOp slice) {
      return slice.getSpace() == Space::nvme;
    });
    SmallVector<Attribute> arenas;
    for (unsigned space = 0; space <= getMaxEnumValForSpace(); ++space) {
      bool coarse = hasFile && (Space(space) == Space::nvme ||
                                Space(space) == Space::pinned);
      packSpace(Space(space), coarse ? kFileAlignment : kSliceAlignment, clocks,
                shared, held, arenas);
    }
    module->setAttr(kArenasAttr, ArrayAttr::get(&getContext(), arenas));
  }

private:
  /// The slices that are not carried, with the steps that touch them.
  using Buffers = llvm::MapVector<SliceOp, PackedBuffer>;

  void collect(const HappensBefore &order, unsigned program, Buffers &shared) {
    for (unsigned index = 0; index < order.steps().size(); ++index) {
      Step step = order.steps()[index];
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        SliceOp slice = step.slice(i);
        if (slice.getCarried()) {
          continue;
        }
        PackedBuffer &buffer = shared[slice];
        buffer.bytes = slice.getBytes();
        std::vector<unsigned> &uses = buffer.uses[program];
        if (uses.empty() || uses.back() != index) {
          uses.push_back(index);
        }
      }
    }
  }

  /// Holds what a library call is the last to use until the next one on its
  /// stream is done. Else its bytes were what the second writes, and the two
  /// could not run at once.
  void hold(const HappensBefore &order, unsigned program, Buffers &held) {
    llvm::SmallDenseMap<Stream, unsigned> last;
    for (unsigned index = 0; index < order.steps().size(); ++index) {
      Step step = order.steps()[index];
      auto [entry, first] = last.try_emplace(step.getStream(), index);
      unsigned before = std::exchange(entry->second, index);
      Step earlier = order.steps()[before];
      if (first || !isLibraryCall(earlier) || !isLibraryCall(step)) {
        continue;
      }
      for (unsigned i = 0; i < earlier.getAccesses().size(); ++i) {
        auto buffer = held.find(earlier.slice(i));
        if (buffer == held.end() || buffer->second.bytes > kHeldBytes) {
          continue;
        }
        std::vector<unsigned> &uses = buffer->second.uses[program];
        if (uses.back() == before) {
          uses.push_back(index);
        }
      }
    }
  }

  /// An arena for the slices of a space, if there are any.
  void packSpace(Space space, int64_t alignment,
                 const std::vector<VectorClocks> &clocks, Buffers &shared,
                 Buffers &held, SmallVectorImpl<Attribute> &arenas) {
    int64_t carried = 0, peak = 0;
    SmallVector<SliceOp> slices; // those that are packed
    std::vector<PackedBuffer> buffers, placed;
    bool used = false;
    for (SliceOp slice : carriedIn(getOperation(), space)) {
      slice.setOffset(carried);
      peak = carried + slice.getBytes();
      carried = llvm::alignTo(peak, alignment);
    }
    for (auto slice : getOperation().getOps<SliceOp>()) {
      if (slice.getSpace() != space) {
        continue;
      }
      used = true;
      unsharedBytes += slice.getBytes();
      if (!slice.getCarried()) {
        slices.push_back(slice);
        buffers.push_back(std::move(shared[slice]));
        placed.push_back(std::move(held[slice]));
      }
    }
    if (!used) {
      return;
    }
    Packing packing =
        pack(placed, findConflicts(placed, clocks), alignment, carried);
    for (auto [index, slice] : llvm::enumerate(slices)) {
      slice.setOffset(packing.offsets[index]);
      SmallVector<int64_t> lives;
      for (const auto &[program, uses] : buffers[index].uses) {
        lives.append({uses.front(), uses.back()});
      }
      slice.setLifetime(lives);
    }
    peak = buffers.empty() ? peak : packing.peak;
    int64_t bytes = llvm::alignTo(peak, alignment);
    arenaBytes += bytes;
    boundBytes += packing.lowerBound;
    arenas.push_back(ArenaAttr::get(&getContext(), space, bytes, alignment,
                                    peak, packing.lowerBound));
  }
};

} // namespace
} // namespace mlir::zg::sched
