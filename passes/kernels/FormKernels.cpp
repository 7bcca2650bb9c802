//===- FormKernels.cpp - groups nn ops into kernels -----------------------===//

#include "passes/ir/zero/ZeroDialect.h"
#include "passes/kernels/Grouping.h"
#include "passes/kernels/KernelWriter.h"
#include "passes/kernels/Materialize.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// Rewrites a block by the specs of its kernels: kernels are written from the
/// beginning to the end, then the ops they stand for are erased.
class Rewriter {
public:
  Rewriter(Block &block, const Grouping &grouping,
           const Materializer &materializer)
      : block(block), grouping(grouping), materializer(materializer),
        builder(block.getParentOp()->getContext()) {}

  void run() {
    SmallVector<Operation *> ops;
    for (Operation &op : block) {
      ops.push_back(&op);
    }
    ArrayRef<const Group *> order = grouping.getOrder();
    for (auto [number, op] : llvm::enumerate(ops)) {
      builder.setInsertionPoint(op);
      if (isOutside(op)) {
        for (OpOperand &operand : op->getOpOperands()) {
          if (!isFilled(operand)) {
            operand.set(bufferOf(operand.get()));
          }
        }
      } else {
        replaced.push_back(op);
      }
      // No group stands after the terminator.
      for (; !order.empty() && order.front()->position == number;
           order = order.drop_front()) {
        builder.setInsertionPoint(ops[number + 1]);
        if (const KernelSpec *spec = materializer.specOf(order.front())) {
          write(*spec);
          fused += spec->members.size();
        }
      }
    }
    for (Operation *op : llvm::reverse(replaced)) {
      if (!llvm::any_of(op->getUses(), isFilled)) {
        op->erase();
      }
    }
  }

  unsigned kernels = 0, copies = 0, fused = 0;

private:
  /// The value that holds the elements of an original value, of its type.
  Value bufferOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &block) {
      return value;
    }
    if (Value known = buffers.lookup(value)) {
      return known;
    }
    if (const KernelSpec *copy = materializer.copySpecOf(value)) {
      write(*copy);
      ++copies;
      return buffers.lookup(value);
    }
    if (isa<nn::ReshapeOp>(op)) {
      return buffers[value] =
                 reshaped(bufferOf(op->getOperand(0)), value.getType());
    }
    return value;
  }

  Value reshaped(Value buffer, Type type) {
    if (buffer.getType() == type) {
      return buffer;
    }
    while (auto inner = buffer.getDefiningOp<nn::ReshapeOp>()) {
      buffer = inner.getOperand();
    }
    if (buffer.getType() == type) {
      return buffer;
    }
    return builder.create<nn::ReshapeOp>(buffer.getLoc(), type, buffer);
  }

  void write(const KernelSpec &spec) {
    nn::KernelOp kernel = KernelWriter(builder, spec, [&](Value leaf) {
                            return bufferOf(leaf);
                          }).write();
    for (auto [value, result] :
         llvm::zip_equal(spec.results, kernel.getResults())) {
      buffers[value] = reshaped(result, value.getType());
    }
    ++kernels;
  }

  Block &block;
  const Grouping &grouping;
  const Materializer &materializer;
  OpBuilder builder;
  /// Original values and what holds them now.
  llvm::DenseMap<Value, Value> buffers;
  SmallVector<Operation *> replaced;
};

/// The last op that reads a buffer, itself or through what shares its bytes.
Operation *lastUser(Value buffer, Operation *last) {
  for (Operation *user : buffer.getUsers()) {
    if (last->isBeforeInBlock(user) && !isa<zero::ReleaseOp>(user)) {
      last = user;
    }
    if (isa<zero::ViewOp, zero::ShardOp, nn::ReshapeOp>(user)) {
      last = lastUser(user->getResult(0), last);
    }
  }
  return last;
}

/// The gathers begun between `first` and `last` and not awaited there.
SmallVector<Operation *> prefetchesBetween(Operation *first, Operation *last) {
  SmallVector<Operation *> prefetches;
  for (Operation *op = first; op != last; op = op->getNextNode()) {
    bool awaited = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user == last || user->isBeforeInBlock(last);
    });
    if (isa<zero::PrefetchOp>(op) && !awaited) {
      prefetches.push_back(op);
    }
  }
  return prefetches;
}

/// A kernel stands where its last member stood, which may be after the
/// release of a buffer that another member reads. Gathers that were to begin
/// after the release still do: else one buffer more would be alive.
void sinkReleases(Block &block) {
  for (auto release :
       llvm::make_early_inc_range(block.getOps<zero::ReleaseOp>())) {
    Operation *last = lastUser(release.getFlat(), release);
    if (last == release) {
      continue;
    }
    SmallVector<Operation *> prefetches = prefetchesBetween(release, last);
    release->moveAfter(last);
    for (Operation *prefetch : llvm::reverse(prefetches)) {
      prefetch->moveAfter(release);
    }
  }
}

struct FormKernelsPass : nn::impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    if (getOperation().isExternal()) {
      return;
    }
    for (Block &block : getOperation().getBody()) {
      FreeValues freeValues;
      Grouping grouping(block, freeValues,
                        {maxOperands, maxMembers, maxColumnResults});
      if (failed(grouping.run())) {
        return signalPassFailure();
      }
      Materializer materializer(block, grouping, freeValues);
      materializer.run();
      Rewriter rewriter(block, grouping, materializer);
      rewriter.run();
      sinkReleases(block);
      kernels += rewriter.kernels;
      copies += rewriter.copies;
      fused += rewriter.fused;
    }
  }
};

} // namespace
