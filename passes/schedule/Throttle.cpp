//===- Throttle.cpp - awaits that let bytes be reused ---------------------===//

#include "passes/schedule/Passes.h"

#include <map>
#include <set>
#include <tuple>

namespace mlir::zg::sched {

#define GEN_PASS_DEF_THROTTLE
#include "passes/schedule/Passes.h.inc"

namespace {

/// Buffers that one stream fills and others empty, taken together: the first
/// step that writes each, and the steps of other streams.
struct PassedBuffers {
  SmallVector<Step, 1> first;
  SmallVector<Step> readers; // in order
};

/// Flat gradients, which are reduced or offloaded.
bool isGradients(SliceOp slice) {
  return slice.getSliceClass() == SliceClass::grad && !slice.getCarried();
}

/// Returns whether the slice crosses between device and host for an update or a
/// gather, but for single numbers; or between a file and the host.
bool crosses(SliceOp slice) {
  return slice.getSpace() == Space::pinned && !slice.getCarried() &&
         slice.getSliceClass() != SliceClass::scalar &&
         slice.getSliceClass() != SliceClass::activation;
}

/// Returns whether the slice goes to the host to be kept there for backward.
bool isKeptForBackward(SliceOp slice) {
  return slice.getSpace() == Space::device &&
         llvm::any_of(slice->getUsers(), [&](Operation *user) {
           auto step = dyn_cast<Step>(user);
           return step && step.getStream() == Stream::offload &&
                  step.slice(1).getSliceClass() == SliceClass::activation;
         });
}

bool isSumInMemory(SliceOp slice) {
  return crosses(slice) && slice.getSliceClass() == SliceClass::grad_shard;
}

bool isStateInMemory(SliceOp slice) {
  return crosses(slice) && slice.getSliceClass() != SliceClass::grad_shard;
}

/// Sums of gradients, brought to be added to, until they have gone back.
bool isSum(SliceOp slice) {
  return slice.getSliceClass() == SliceClass::grad_shard &&
         slice.getSpace() == Space::device && !slice.getCarried();
}

/// Returns whether the host computes with what lies there.
bool isUpdated(SliceOp slice) {
  return llvm::any_of(slice->getUsers(), [](Operation *user) {
    auto step = dyn_cast<Step>(user);
    return step && step.getStream() == Stream::update;
  });
}

/// The key that buffers are counted by: each, or all that is read of the same
/// elements for one update, which needs it together.
using Key = std::tuple<const void *, int64_t, int64_t>;
Key keyOf(SliceOp slice, std::optional<Stream> filling) {
  std::optional<HeldAttr> held = slice.getHolds();
  return filling == Stream::read && held && isUpdated(slice) &&
                 slice.getSliceClass() != SliceClass::grad_shard
             ? Key(nullptr, held->getUnit(), held->getBegin())
             : Key(slice.getAsOpaquePointer(), -1, -1);
}

/// Returns whether the step brings parameters, or a sum of gradients, to a
/// buffer of the program.
bool bringsForUse(Step step) {
  return isa<AllGatherOp>(step.getOperation()) ||
         (step.getStream() == Stream::fetch && !step.slice(1).getCarried());
}

//===----------------------------------------------------------------------===//
// --sched-throttle
//===----------------------------------------------------------------------===//

struct Throttle : impl::ThrottleBase<Throttle> {
  using ThrottleBase::ThrottleBase;

  void runOnOperation() override {
    if (window < 1) {
      getOperation().emitError("needs a window of at least 1, not ")
          << window.getValue();
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<ProgramOp>()) {
      delayGathers(program);
      bound(program, isGradients);
      bound(program, isKeptForBackward);
      bound(program, isSum, Stream::fetch);
      for (Stream filling : {Stream::offload, Stream::update}) {
        bound(program, crosses, filling);
      }
      // Apart: the norm reads sums before the first update.
      bound(program, isSumInMemory, Stream::read);
      bound(program, isStateInMemory, Stream::read);
    }
  }

  void await(Step step, Step earlier) {
    Value timepoint = earlier->getResult(0);
    if (earlier.getStream() != step.getStream() &&
        earlier->isBeforeInBlock(step) &&
        !llvm::is_contained(step.getAwaits(), timepoint)) {
      step.getAwaitsMutable().append(timepoint);
      ++placed;
    }
  }

  void delayGathers(ProgramOp program) {
    Step lastCompute;
    for (auto step : program.getOps<Step>()) {
      if (step.getStream() == Stream::compute) {
        lastCompute = step;
      } else if (bringsForUse(step) && lastCompute) {
        await(step, lastCompute);
      }
    }
  }

  /// Lets a buffer be filled when the one `window` before it is empty, of
  /// buffers that `filling` fills. Where that is emptied only later in issue
  /// order, as when all gradients of a unit are offloaded before they are used,
  /// it is the last one before that is empty by then.
  void bound(ProgramOp program, function_ref<bool(SliceOp)> counts,
             std::optional<Stream> filling = {}) {
    std::vector<PassedBuffers> buffers; // by first write
    // The group of each slice; none where it does not count, or another stream
    // fills it.
    DenseMap<Value, std::optional<size_t>> groups;
    std::map<Key, size_t> numbers;
    for (auto step : program.getOps<Step>()) {
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        SliceOp slice = step.slice(i);
        auto group = groups.find(slice);
        if (group != groups.end()) {
          PassedBuffers *passed =
              group->second ? &buffers[*group->second] : nullptr;
          if (passed && step.getStream() != passed->first[0].getStream()) {
            passed->readers.push_back(step);
          }
        } else if (!counts(slice) ||
                   (filling && step.getStream() != *filling)) {
          groups[slice] = std::nullopt;
        } else {
          size_t number =
              numbers.try_emplace(keyOf(slice, filling), buffers.size())
                  .first->second;
          buffers.resize(std::max(buffers.size(), number + 1));
          buffers[number].first.push_back(step);
          groups[slice] = number;
        }
      }
    }
    awaitEmpty(buffers);
  }

  void awaitEmpty(ArrayRef<PassedBuffers> buffers) {
    std::vector<size_t> emptied; // in the order of their last readers
    for (size_t index = 0; index < buffers.size(); ++index) {
      if (!buffers[index].readers.empty()) {
        emptied.push_back(index);
      }
    }
    auto last = [&](size_t index) { return buffers[index].readers.back(); };
    llvm::sort(emptied, [&](size_t a, size_t b) {
      return last(a)->isBeforeInBlock(last(b));
    });
    std::set<size_t> empty; // before the buffer that is looked at
    auto next = emptied.begin();
    for (size_t index = 0; index < buffers.size(); ++index) {
      Step begin = buffers[index].first[0];
      for (; next != emptied.end() && last(*next)->isBeforeInBlock(begin);
           ++next) {
        empty.insert(*next);
      }
      auto after = empty.upper_bound(index - std::min(index, size_t(window)));
      if (index < size_t(window) || after == empty.begin()) {
        continue;
      }
      for (Step reader : buffers[*std::prev(after)].readers) {
        for (Step first : buffers[index].first) {
          await(first, reader);
        }
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
