//===- Recompute.cpp - what a kernel computes again -----------------------===//

#include "passes/kernels/Materialize.h"

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// A value that needs more ops or buffers than this is not computed again.
constexpr unsigned kMaxRecomputedOps = 16;
constexpr unsigned kMaxRecomputedLeaves = 8;
/// A kernel computes at most so many costly ops again, as tanh is, and only if
/// no buffer at all is needed instead: to write a value and to read it takes as
/// long as one or two of them.
constexpr unsigned kMaxRecomputedCostly = 4;

int64_t bytesOf(Value value) { return nn::tensorBytes(value.getType()); }

/// Returns the bytes of those leaves that have at least as many elements as
/// `value` and that a kernel does not read anyway.
int64_t largeBytes(const llvm::SetVector<Value> &leaves, const Inputs &inputs,
                   Value value) {
  int64_t bytes = 0;
  for (Value leaf : leaves) {
    bool isLarge = elementsOf(leaf) >= elementsOf(value);
    bytes += isLarge && !inputs.leaves.contains(leaf) ? bytesOf(leaf) : 0;
  }
  return bytes;
}

bool haveOneUse(ArrayRef<Operation *> ops) {
  return llvm::all_of(ops, [](Operation *op) { return op->hasOneUse(); });
}

/// Returns whether the value lies in a gathered buffer that is gone, in the
/// original order, when the kernel runs. To read it there would keep the
/// buffer.
bool isReleasedBefore(Value value, const KernelSpec &spec) {
  auto view = value.getDefiningOp<zero::ViewOp>();
  Operation *place = spec.members.empty() ? spec.results.front().getDefiningOp()
                                          : spec.members.back();
  return view && llvm::any_of(view.getFlat().getUsers(), [&](Operation *user) {
           return isa<zero::ReleaseOp>(user) && user->isBeforeInBlock(place);
         });
}

} // namespace

/// The last value of the chain that has a buffer of its own, if one has.
Value Materializer::lastStored(const Source &source) const {
  for (Operation *op : llvm::reverse(source.chain)) {
    Value view = op->getResult(0);
    if (stored.contains(view) || expected.contains(view)) {
      return view;
    }
  }
  return {};
}

bool Materializer::collect(const KernelSpec &spec, Operation *op,
                           bool exclusive, Attempt &attempt) {
  bool single = elementsOf(op->getResult(0)) == 1;
  bool costly = isCostly(op) && !single && !exclusive;
  if (!isElementwise(op) || attempt.ops.size() >= kMaxRecomputedOps ||
      (costly && (!attempt.allowsCostly ||
                  elementsOf(op->getResult(0)) < attempt.elements))) {
    return false;
  }
  attempt.ops.insert(op);
  attempt.costly += costly;
  for (Value operand : op->getOperands()) {
    if (freeValues.contains(operand)) {
      continue;
    }
    Source source = trace(operand);
    bool fromCopy = attempt.fromCopies && isPadded(source.chain);
    if (Value copy = fromCopy ? lastStored(source) : Value()) {
      if (!stored.contains(copy) && isReleasedBefore(source.root, spec)) {
        return false;
      }
      if (attempt.leaves.insert(copy) && !spec.inputs.leaves.contains(copy)) {
        attempt.newBytes += bytesOf(copy);
      }
      continue;
    }
    Operation *root = source.root.getDefiningOp();
    if (attempt.ops.contains(root) || attempt.leaves.contains(source.root) ||
        spec.inputs.recomputed.contains(root)) {
      continue;
    }
    if (isReleasedBefore(source.root, spec)) {
      return false;
    }
    if (isStored(source.root)) {
      attempt.leaves.insert(source.root);
      continue;
    }
    // Readers of what is expected choose alike: where all compute it again,
    // nobody needs it.
    bool isExpected = expected.contains(source.root);
    Attempt deeper = attempt;
    bool again =
        !isPadded(source.chain) &&
        collect(spec, root,
                exclusive && root->hasOneUse() && haveOneUse(source.chain),
                deeper);
    int64_t newBytes = deeper.newBytes - attempt.newBytes;
    int64_t more = largeBytes(deeper.leaves, spec.inputs, source.root) -
                   largeBytes(attempt.leaves, spec.inputs, source.root);
    bool isCheaper = isExpected
                         ? newBytes == 0 && deeper.costly == attempt.costly &&
                               more <= bytesOf(source.root)
                         : newBytes < bytesOf(source.root);
    if (again && isCheaper) {
      attempt = std::move(deeper);
    } else {
      attempt.leaves.insert(source.root);
      attempt.newBytes += isExpected ? 0 : bytesOf(source.root);
    }
  }
  return true;
}

/// Returns whether the attempt costs less than a buffer, and the kernel can
/// read what it needs: `inputs`, which are the kernel's, get it.
bool Materializer::fits(const KernelSpec &spec, const Source &source,
                        Inputs &inputs, const Attempt &attempt) const {
  if (attempt.leaves.size() > kMaxRecomputedLeaves ||
      attempt.newBytes >= bytesOf(source.root) ||
      (attempt.allowsCostly &&
       (attempt.costly > kMaxRecomputedCostly || attempt.newBytes > 0))) {
    return false;
  }
  if (spec.group && spec.form == KernelForm::rows) {
    // One large buffer may be read instead of another, but not several.
    if (largeBytes(attempt.leaves, inputs, source.root) >
        bytesOf(source.root)) {
      return false;
    }
  }
  inputs.leaves.insert(attempt.leaves.begin(), attempt.leaves.end());
  inputs.recomputed.insert(attempt.ops.begin(), attempt.ops.end());
  ArrayRef<Operation *> chain = source.chain;
  return isReadable(chain.empty() ? source.root : chain.back()->getResult(0),
                    inputs);
}

bool Materializer::tryRecompute(KernelSpec &spec, const Source &source) {
  Operation *root = source.root.getDefiningOp();
  if (!isElementwise(root) || isPadded(source.chain)) {
    return false;
  }
  ArrayRef<Operation *> chain = source.chain;
  // A copy is made once, however many read it.
  bool exclusive =
      root->hasOneUse() &&
      haveOneUse(spec.group || chain.empty() ? chain : chain.drop_back());
  unsigned costly = llvm::count_if(spec.inputs.recomputed, isCostly);
  auto fitsSo = [&](bool fromCopies, bool allowsCostly) {
    Attempt attempt;
    attempt.fromCopies = fromCopies;
    attempt.allowsCostly = allowsCostly;
    attempt.costly = costly;
    attempt.elements = elementsOf(
        chain.empty() ? source.root : Value(chain.back()->getResult(0)));
    Inputs inputs = spec.inputs;
    if (!collect(spec, root, exclusive, attempt) ||
        !fits(spec, source, inputs, attempt)) {
      return false;
    }
    spec.inputs = std::move(inputs);
    for (Value leaf : attempt.leaves) {
      demand(leaf);
    }
    return true;
  };
  if (spec.form == KernelForm::rows &&
      fitsSo(/*fromCopies=*/false, /*allowsCostly=*/true)) {
    return true;
  }
  // From a copy only what the views around padding have no formula for.
  return fitsSo(/*fromCopies=*/false, /*allowsCostly=*/false) ||
         fitsSo(/*fromCopies=*/true, /*allowsCostly=*/false);
}
