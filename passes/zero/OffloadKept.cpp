//===- OffloadKept.cpp - activations on the host until backward -----------===//

#include "passes/zero/OffloadKept.h"

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroSpaces.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

namespace {

/// A transfer takes longer than it is worth for fewer bytes.
constexpr int64_t kLeastBytes = 1024;

/// A value that goes to the host after the forward pass of its region and comes
/// back for backward.
struct Crossing {
  Value value;
  size_t reader = 0;              ///< the last region that reads it
  SmallVector<OpOperand *> uses;  ///< of backward
  Operation *firstUser = nullptr; ///< the first of these; null: it stays
};

} // namespace

/// Finds who reads a value. It stays if it is not kept, is small, is read by
/// the last region or by what ends the program, or by nothing of backward.
static Crossing crossingOf(Value value, const ForwardRegions &regions) {
  Crossing crossing;
  crossing.value = value;
  if (!isa<nn::NNDialect>(value.getDefiningOp()->getDialect()) ||
      regions.isLiteral(value) || !regions.isKept(value) ||
      nn::tensorBytes(value.getType()) < kLeastBytes) {
    return crossing;
  }
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    size_t region = regions.of(user).value_or(0);
    if (isa<PackOp, nn::ReturnOp>(user) || region + 1 == regions.size()) {
      crossing.firstUser = nullptr;
      return crossing;
    }
    if (regions.isOfForward(user)) {
      crossing.reader = std::max(crossing.reader, region);
      continue;
    }
    crossing.uses.push_back(&use);
    if (!crossing.firstUser || user->isBeforeInBlock(crossing.firstUser)) {
      crossing.firstUser = user;
    }
  }
  return crossing;
}

/// Returns what crosses, in the order in which backward needs it.
static std::vector<Crossing> crossingsOf(const ForwardRegions &regions) {
  std::vector<Crossing> crossings;
  for (const ForwardRegion &region : regions.all()) {
    for (Operation *op : region.ops) {
      for (Value result : op->getResults()) {
        Crossing crossing = crossingOf(result, regions);
        if (crossing.firstUser) {
          crossings.push_back(std::move(crossing));
        }
      }
    }
  }
  llvm::stable_sort(crossings, [](const Crossing &a, const Crossing &b) {
    return a.firstUser != b.firstUser &&
           a.firstUser->isBeforeInBlock(b.firstUser);
  });
  return crossings;
}

/// Returns about how many multiply-adds an op takes; 0 of one with few.
static double workOf(Operation *op) {
  if (auto product = dyn_cast<nn::MatmulOp>(op)) {
    ArrayRef<int64_t> lhs = nn::shapeOf(product.getLhs());
    int64_t depth = lhs[lhs.size() - (product.getTransposeA() ? 2 : 1)];
    return double(depth) * double(nn::elementsOf(product));
  }
  if (isa<nn::ConvolutionOp>(op)) {
    // The root of (m k) (k n) (m n) is m k n; a window is counted by one side.
    double sizes = 1;
    for (Value matrix :
         {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))}) {
      sizes *= double(nn::elementsOf(matrix));
    }
    return std::sqrt(sizes);
  }
  if (isa<nn::AttentionOp, nn::AttentionGradOp>(op)) {
    double keys = double(nn::shapeOf(op->getOperand(1))[1]);
    auto gradient = dyn_cast<nn::AttentionGradOp>(op);
    double products = !gradient ? 2 : gradient.getDbias() ? 7 : 5;
    return products * keys * double(nn::elementsOf(op->getOperand(0)));
  }
  return 0;
}

/// Returns the op of [begin, end) during which half of their work is done;
/// `end` if there is none, and `begin` if none has work.
static Operation *halfway(Operation *begin, Operation *end) {
  if (!begin->isBeforeInBlock(end)) {
    return end;
  }
  double all = 0, done = 0;
  for (Operation *op = begin; op != end; op = op->getNextNode()) {
    all += workOf(op);
  }
  Operation *half = begin;
  for (Operation *op = begin; op != end && 2 * done < all;
       op = op->getNextNode()) {
    half = op;
    done += workOf(op);
  }
  return half;
}

/// Lets backward read a copy of the value that comes back before `early`.
static void offload(const Crossing &crossing, Operation *early,
                    StringRef unit) {
  Value value = crossing.value;
  OpBuilder builder(early->getContext());
  builder.setInsertionPointAfterValue(value);
  Value down = createTransfer<OffloadOp>(builder, value.getLoc(), value,
                                         "kept for backward");
  builder.setInsertionPoint(early);
  Value up = createTransfer<FetchOp>(builder, value.getLoc(), down,
                                     ("backward of " + unit).str());
  for (OpOperand *use : crossing.uses) {
    use->set(up);
  }
}

void mlir::zg::zero::offloadKept(const ForwardRegions &regions,
                                 const UnitStates &states) {
  // Each begins to come back when half is done of the backward pass of the
  // region after its reader, which comes first. The other half is meant to hide
  // the copy; the first has the MLP, in which most is live.
  Operation *early = regions.firstOfBackward(), *begin = early;
  std::optional<size_t> reader;
  for (const Crossing &crossing : crossingsOf(regions)) {
    if (reader != crossing.reader) {
      Operation *end = regions.beforeViews(crossing.firstUser);
      early = regions.beforeViews(halfway(begin, end));
      begin = end;
      reader = crossing.reader;
    }
    offload(crossing, early, states.name(regions.all()[*reader].unit));
  }
}
