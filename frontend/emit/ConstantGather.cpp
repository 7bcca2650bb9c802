//===- ConstantGather.cpp - the elements of an axis in a constant order ---===//

#include "frontend/emit/ConstantGather.h"

using mlir::Value;

namespace zerograph::frontend {

namespace {

/// More slices than this are slower than a gather.
constexpr size_t kMaxRuns = 16;

/// first, first + step, ...
struct Run {
  int64_t first, step, count;
};

std::vector<Run> runsOf(const std::vector<int64_t> &indices) {
  std::vector<Run> runs;
  for (size_t i = 0; i < indices.size() && runs.size() <= kMaxRuns;) {
    Run run{indices[i], 1, 1};
    if (i + 1 < indices.size()) {
      run.step = indices[i + 1] - indices[i];
    }
    while (i + run.count < indices.size() &&
           indices[i + run.count] == run.first + run.step * run.count) {
      ++run.count;
    }
    i += run.count;
    runs.push_back(run);
  }
  return runs;
}

/// How often each index is repeated; 1 unless all are equally often.
size_t repetitions(const std::vector<int64_t> &indices) {
  size_t count = 1;
  while (count < indices.size() && indices[count] == indices[0]) {
    ++count;
  }
  if (indices.size() % count != 0) {
    return 1;
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] != indices[i / count * count]) {
      return 1;
    }
  }
  return count;
}

/// Each element `count` times in a row.
Value repeat(Emitter &emit, Value x, int64_t axis, int64_t count) {
  Shape shape = Emitter::shapeOf(x), open = shape, wide = shape;
  open.insert(open.begin() + axis + 1, 1);
  wide.insert(wide.begin() + axis + 1, count);
  shape[axis] *= count;
  return emit.reshape(emit.broadcastTo(emit.reshape(x, open), wide), shape);
}

} // namespace

Value gatherConstant(Emitter &emit, Value x, int64_t axis,
                     const std::vector<int64_t> &indices) {
  if (size_t count = repetitions(indices); count > 1) {
    std::vector<int64_t> once;
    for (size_t i = 0; i < indices.size(); i += count) {
      once.push_back(indices[i]);
    }
    return repeat(emit, gatherConstant(emit, x, axis, once), axis,
                  static_cast<int64_t>(count));
  }
  std::vector<Run> runs = runsOf(indices);
  if (runs.size() <= kMaxRuns) {
    std::vector<Value> parts;
    for (const Run &run : runs) {
      parts.push_back(
          run.step == 0
              ? repeat(emit, emit.sliceAxis(x, axis, run.first, 1), axis,
                       run.count)
              : emit.sliceAxis(x, axis, run.first, run.count, run.step));
    }
    return parts.size() == 1 ? parts[0] : emit.concat(parts, axis);
  }
  Value table = emit.moveAxis(x, axis, 0);
  Value rows = emit.gather(table, emit.constant(HostTensor::ints(indices)));
  return emit.moveAxis(rows, 0, axis);
}

} // namespace zerograph::frontend
