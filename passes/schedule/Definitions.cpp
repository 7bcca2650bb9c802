//===- Definitions.cpp - bytes are written before they are read -----------===//

#include "passes/schedule/Definitions.h"

using namespace mlir;
using namespace mlir::zg::sched;

namespace {

/// Disjoint ranges of bytes, in order; of a slice they are few.
class ByteSet {
public:
  void insert(int64_t begin, int64_t end) {
    Range *first = firstThatEnds(begin), *last = first;
    for (; last != ranges.end() && last->first <= end; ++last) {
      begin = std::min(begin, last->first);
      end = std::max(end, last->second);
    }
    if (first == last) {
      ranges.insert(first, {begin, end});
      return;
    }
    *first = {begin, end};
    ranges.erase(first + 1, last);
  }
  bool contains(int64_t begin, int64_t end) {
    Range *range = firstThatEnds(begin);
    return range != ranges.end() && range->first <= begin &&
           range->second >= end;
  }
  void clear() { ranges.clear(); }

private:
  using Range = std::pair<int64_t, int64_t>; // begin, end

  /// The first range that ends at `begin` or behind.
  Range *firstThatEnds(int64_t begin) {
    return llvm::partition_point(
        ranges, [&](const Range &range) { return range.second < begin; });
  }

  SmallVector<Range, 2> ranges;
};

/// One access. With many ranks each is looked at as often, so what it says is
/// taken out of the IR once.
struct Use {
  unsigned step, index; // the step's access
  unsigned slice;
  bool reads, writes;
  int64_t begin, stride, bytes;
};

class Definitions {
public:
  Definitions(ArrayRef<Step> steps) : steps(steps) {
    DenseMap<Value, unsigned> numbers;
    for (auto [number, step] : llvm::enumerate(steps)) {
      for (auto [i, value] : llvm::enumerate(Step(step).getSlices())) {
        AccessAttr access = Step(step).access(i);
        auto [it, isNew] = numbers.try_emplace(value, numbers.size());
        if (isNew) {
          written.emplace_back();
          differing.push_back(false);
        }
        unsigned slice = it->second;
        differing[slice] = differing[slice] || access.getRankStride() != 0;
        bool carried = value.getDefiningOp<SliceOp>().getCarried();
        uses.push_back(
            {unsigned(number), unsigned(i), slice, access.reads() && !carried,
             access.writes(), int64_t(access.getOffset()),
             int64_t(access.getRankStride()), int64_t(access.getBytes())});
      }
    }
  }

  LogicalResult verify(int64_t rank) {
    if (rank == 1) {
      // The slices that all ranks access alike were looked at.
      llvm::erase_if(uses,
                     [&](const Use &use) { return !differing[use.slice]; });
    }
    for (ByteSet &bytes : written) {
      bytes.clear();
    }
    for (size_t first = 0, end = 0; first < uses.size(); first = end) {
      for (; end < uses.size() && uses[end].step == uses[first].step; ++end) {
        if (uses[end].reads && !isDefined(uses[end], rank)) {
          return report(uses[end], rank);
        }
      }
      for (size_t i = first; i < end; ++i) {
        if (uses[i].writes) {
          int64_t begin = uses[i].begin + rank * uses[i].stride;
          written[uses[i].slice].insert(begin, begin + uses[i].bytes);
        }
      }
    }
    return success();
  }

private:
  bool isDefined(const Use &use, int64_t rank) {
    int64_t begin = use.begin + rank * use.stride;
    return written[use.slice].contains(begin, begin + use.bytes);
  }

  LogicalResult report(const Use &use, int64_t rank) {
    Step step = steps[use.step];
    int64_t begin = use.begin + rank * use.stride;
    return step->emitOpError("'")
           << step.getLabel() << "' reads bytes [" << begin << ", "
           << begin + use.bytes << ") of '" << step.slice(use.index).getLabel()
           << "' on rank " << rank << ", which nothing wrote";
  }

  ArrayRef<Step> steps;
  SmallVector<Use> uses; // in the steps' order
  // Says of each slice what this rank has written, and whether ranks access it
  // each in their own way.
  std::vector<ByteSet> written;
  std::vector<bool> differing;
};

} // namespace

LogicalResult mlir::zg::sched::verifyDefinitions(ArrayRef<Step> steps,
                                                 int64_t ranks) {
  Definitions definitions(steps);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (failed(definitions.verify(rank))) {
      return failure();
    }
  }
  return success();
}
