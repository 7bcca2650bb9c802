//===- PackBuffers.cpp - gives every slice its offset ---------------------===//

#include "passes/memory/Passes.h"

#include "passes/analysis/HappensBefore.h"
#include "passes/analysis/Packing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace mlir::zg::sched {

#define GEN_PASS_DEF_PACKBUFFERS
#include "passes/memory/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --sched-pack
//===----------------------------------------------------------------------===//

struct PackBuffers : impl::PackBuffersBase<PackBuffers> {
  using PackBuffersBase::PackBuffersBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    std::vector<VectorClocks> clocks;
    llvm::MapVector<SliceOp, PackedBuffer> shared;
    for (auto [index, program] : llvm::enumerate(programs)) {
      HappensBefore order(program);
      clocks.push_back(order.clocks());
      if (failed(collect(order, index, shared))) {
        return signalPassFailure();
      }
    }

    Builder builder(&getContext());
    int64_t carried = 0;
    for (auto slice : llvm::make_early_inc_range(module.getOps<SliceOp>())) {
      if (slice.getCarried()) {
        slice.setOffset(carried);
        unsharedBytes += slice.getBytes();
        peakOfCarried = carried + slice.getBytes();
        carried = llvm::alignTo(peakOfCarried, kSliceAlignment);
      } else if (!shared.contains(slice)) {
        slice.erase();
      }
    }
    std::vector<PackedBuffer> buffers;
    for (auto &[slice, buffer] : shared) {
      buffers.push_back(buffer);
      unsharedBytes += buffer.bytes;
    }
    Packing packing =
        pack(buffers, findConflicts(buffers, clocks), kSliceAlignment, carried);
    for (auto [index, entry] : llvm::enumerate(shared)) {
      auto &[slice, buffer] = entry;
      slice.setOffset(packing.offsets[index]);
      slice.setLifetime(
          ArrayRef<int64_t>{buffer.uses.front(), buffer.uses.back()});
    }
    int64_t peak = buffers.empty() ? peakOfCarried : packing.peak;
    int64_t bytes = llvm::alignTo(peak, kSliceAlignment);
    arenaBytes += bytes;
    boundBytes += packing.lowerBound;
    module->setAttr(kArenasAttr,
                    builder.getArrayAttr(ArenaAttr::get(
                        &getContext(), Space::device, bytes, kSliceAlignment,
                        peak, packing.lowerBound)));
    if (limit > 0 && bytes > limit) {
      refuse(bytes, carried, programs, shared);
      signalPassFailure();
    }
  }

  /// The steps that touch each slice that is not carried.
  LogicalResult collect(const HappensBefore &order, unsigned program,
                        llvm::MapVector<SliceOp, PackedBuffer> &shared) {
    for (unsigned index = 0; index < order.steps().size(); ++index) {
      Step step = order.steps()[index];
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        SliceOp slice = step.slice(i);
        if (slice.getCarried()) {
          continue;
        }
        auto [it, isNew] = shared.try_emplace(slice);
        PackedBuffer &buffer = it->second;
        if (isNew) {
          buffer.bytes = slice.getBytes();
          buffer.program = program;
        } else if (buffer.program != program) {
          return slice.emitOpError("'")
                 << slice.getLabel()
                 << "' is used by two programs, but not carried";
        }
        if (buffer.uses.empty() || buffer.uses.back() != index) {
          buffer.uses.push_back(index);
        }
      }
    }
    return success();
  }

  /// Says what is live at the step where most is.
  void refuse(int64_t bytes, int64_t carried, ArrayRef<ProgramOp> programs,
              llvm::MapVector<SliceOp, PackedBuffer> &shared) {
    int64_t most = -1;
    Step peak;
    std::map<SliceClass, int64_t> peakClasses;
    for (unsigned program = 0; program < programs.size(); ++program) {
      unsigned index = 0;
      ProgramOp op = programs[program];
      for (auto step : op.getOps<Step>()) {
        int64_t live = 0;
        std::map<SliceClass, int64_t> classes;
        for (auto &[slice, buffer] : shared) {
          if (buffer.program == program && buffer.uses.front() <= index &&
              buffer.uses.back() >= index) {
            live += buffer.bytes;
            classes[slice.getSliceClass()] += buffer.bytes;
          }
        }
        ++index;
        if (live > most) {
          most = live;
          peak = step;
          peakClasses = classes;
        }
      }
    }
    auto diagnostic = getOperation().emitError("needs ")
                      << bytes << " bytes, but the limit is "
                      << limit.getValue() << "; " << carried
                      << " live across programs";
    if (peak) {
      auto &note = diagnostic.attachNote(peak->getLoc());
      note << "most is live at '" << peak.getLabel() << "': ";
      llvm::interleaveComma(peakClasses, note, [&](auto entry) {
        note << entry.second << " bytes of "
             << stringifySliceClass(entry.first);
      });
    }
  }

  int64_t peakOfCarried = 0;
};

} // namespace
} // namespace mlir::zg::sched
