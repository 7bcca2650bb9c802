//===- Rows.cpp - kernels over independent rows ---------------------------===//
//
// One thread computes a row, in vectors of sixteen lanes. One long row without
// reductions is cut anywhere.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/loops/RowLoops.h"
#include "codegen/host/forms/Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// Stack that kept values of a row may take together.
constexpr int64_t kScratchBytes = 48 * 1024;

class HostRowLoops final : public RowLoops {
public:
  using RowLoops::RowLoops;

  /// Costly values that a later sweep needs again are kept on the stack by the
  /// first sweep that computes them.
  void planScratch();

protected:
  Value combineChains(ArrayRef<Value> chains, Combine combine) override {
    Value sum =
        combine(combine(chains[0], chains[1]), combine(chains[2], chains[3]));
    return body.lanes.horizontal(sum, combine);
  }

private:
  /// Room for the elements of a row; null where `left` bytes are too few.
  Value allocate(Node *node, int64_t &left);
};

Value HostRowLoops::allocate(Node *node, int64_t &left) {
  int64_t elements = (sweeps.domain.cols + kLanes - 1) / kLanes * kLanes;
  Type storage = storageType(node->element);
  int64_t bytes = elements * storage.getIntOrFloatBitWidth() / 8;
  if (bytes > left) {
    return {};
  }
  left -= bytes;
  return host::allocate(body.lanes, storage, elements);
}

void HostRowLoops::planScratch() {
  llvm::DenseSet<Node *> earlier;
  int64_t left = kScratchBytes;
  for (const Sweep &sweep : sweeps.sweeps) {
    llvm::DenseSet<Node *> visited;
    SmallVector<Node *> stack = sweep.computed();
    while (!stack.empty()) {
      Node *node = stack.pop_back_val();
      if (node->level != Level::Column || !visited.insert(node).second) {
        continue;
      }
      if (earlier.contains(node) && node->costly) {
        if (!body.scratch.count(node)) {
          if (Value pointer = allocate(node, left)) {
            body.scratch[node].pointer = pointer;
          }
        }
        if (body.scratch.count(node)) {
          continue;
        }
      }
      llvm::append_range(stack, node->operands);
    }
    earlier.insert(visited.begin(), visited.end());
  }
}

/// Columns [begin, end) of one row.
void emitFlat(HostBody &body, RowSweeps &sweeps) {
  Lanes &l = body.lanes;
  ElementLoops loops(body, sweeps);
  loops.enterRow(l.index(0));
  int64_t chunks = sweeps.unrolled(sweeps.sweeps.front(), 4);
  Value step = l.index(chunks * kLanes);
  Value count = l.sub(body.end, body.begin);
  Value whole = l.mul(l.b.create<arith::DivUIOp>(count, step), step);
  Value middle = l.add(body.begin, whole);
  body.loop(body.begin, middle, chunks * kLanes, {},
            [&](Value first, ValueRange) {
              loops.emit(first, chunks, {});
              return SmallVector<Value>();
            });
  body.loop(middle, body.end, kLanes, {}, [&](Value col, ValueRange) {
    loops.emit(col, 1, l.maskBelow(l.sub(body.end, col)));
    return SmallVector<Value>();
  });
}

} // namespace

FailureOr<WorkRange> host::emitRows(ImplicitLocOpBuilder &b,
                                    nn::KernelOp kernel, StringRef name) {
  RowSweeps sweeps;
  if (failed(sweeps.find(kernel))) {
    return failure();
  }
  HostBody body(b, kernel, *sweeps.graph, name);
  HostRowLoops loops(body, sweeps);
  loops.planScratch();
  body.enterKernel();
  if (sweeps.isFlat()) {
    emitFlat(body, sweeps);
    body.finish();
    return WorkRange{sweeps.domain.cols, nn::kRowChains};
  }
  body.loop(body.begin, body.end, 1, {}, [&](Value row, ValueRange) {
    loops.emitRow(row);
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{sweeps.domain.rows, 1};
}
