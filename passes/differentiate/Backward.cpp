//===- Backward.cpp - builds the backward graph of one block --------------===//

#include "passes/differentiate/Backward.h"

#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/NNBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::zg::nn;

Location mlir::zg::nn::gradientLocation(Location forward) {
  std::string name = nameOf(forward) + kGradientSuffix.str();
  return NameLoc::get(StringAttr::get(forward.getContext(), name), forward);
}

namespace {

/// Returns zeros around what a part of a value contributes to its gradient,
/// perhaps converted; null if the contribution is anything else.
PadOp paddedPart(Value contribution) {
  if (auto convert = contribution.getDefiningOp<ConvertOp>()) {
    contribution = convert.getOperand();
  }
  auto pad = contribution.getDefiningOp<PadOp>();
  auto border = pad ? dyn_cast<FloatAttr>(pad.getValue()) : FloatAttr();
  return border && border.getValue().isZero() ? pad : PadOp();
}

/// Returns the one dimension that is padded, or none.
std::optional<int64_t> paddedDim(PadOp pad) {
  std::optional<int64_t> found;
  ArrayRef<int64_t> from = shapeOf(pad.getOperand()), to = shapeOf(pad);
  for (int64_t dim = 0; dim < int64_t(to.size()); ++dim) {
    if (from[dim] != to[dim]) {
      if (found) {
        return std::nullopt;
      }
      found = dim;
    }
  }
  return found;
}

/// Returns the sum of contributions as their concatenation, where each is of a
/// part of the value that is none of another's, with zeros between; else null.
Value sideBySide(NNBuilder &b, ArrayRef<Value> contributions) {
  SmallVector<PadOp> pads;
  for (Value contribution : contributions) {
    PadOp pad = paddedPart(contribution);
    PadOp first = pads.empty() ? pad : pads.front();
    if (!pad || pad.getType() != first.getType() ||
        paddedDim(pad) != paddedDim(first)) {
      return {};
    }
    pads.push_back(pad);
  }
  std::optional<int64_t> dim = paddedDim(pads.front());
  if (pads.size() < 2 || !dim) {
    return {};
  }
  llvm::sort(pads, [&](PadOp a, PadOp b) {
    return a.getLow()[*dim] < b.getLow()[*dim];
  });
  SmallVector<Value> parts;
  int64_t end = 0;
  auto fillUpTo = [&](int64_t begin) {
    if (begin > end) {
      SmallVector<int64_t> shape(shapeOf(pads.front()));
      shape[*dim] = begin - end;
      parts.push_back(b.splat(pads.front().getType().clone(shape), 0));
    }
  };
  for (PadOp pad : pads) {
    int64_t begin = pad.getLow()[*dim];
    if (begin < end) {
      return {};
    }
    fillUpTo(begin);
    end = begin + shapeOf(pad.getOperand())[*dim];
    parts.push_back(pad.getOperand());
  }
  fillUpTo(shapeOf(pads.front())[*dim]);
  return b.convert(b.concat(parts, *dim), elementOf(contributions.front()));
}

class Backward {
public:
  Backward(OpBuilder &builder, Block &body, Value loss,
           ArrayRef<BlockArgument> variables, bool scaled, Value given)
      : builder(builder), loss(loss), variables(variables), scaled(scaled),
        given(given) {
    findPath(body);
  }

  FailureOr<SmallVector<Value>> run() {
    if (failed(checkPath())) {
      return failure();
    }
    if (active.contains(loss)) {
      contributions[loss].push_back(seed());
    }
    bool complete = true;
    for (Operation *op : llvm::reverse(path)) {
      complete &= succeeded(visit(op));
    }
    if (!complete) {
      return failure();
    }
    SmallVector<Value> gradients;
    for (BlockArgument variable : variables) {
      gradients.push_back(gradientOf(variable));
    }
    return gradients;
  }

private:
  Value seed() {
    if (given) {
      return given;
    }
    NNBuilder b(builder, gradientLocation(loss.getLoc()));
    if (!scaled) {
      return b.splat(loss, 1);
    }
    Value scale = builder.create<ScalarOp>(
        b.location, RankedTensorType::get({1}, builder.getF32Type()),
        kLossScaleScalar);
    return b.reshape(b.convert(scale, elementOf(loss)), shapeOf(loss));
  }

  /// Ops through which the loss depends on a variable, in block order, and the
  /// values ("active") that carry the dependence.
  void findPath(Block &body) {
    for (BlockArgument variable : variables) {
      if (isFloat(variable)) {
        active.insert(variable);
      }
    }
    for (Operation &op : body.without_terminator()) {
      bool depends = !isa<StopGradientOp>(op) &&
                     llvm::any_of(op.getOperands(),
                                  [&](Value v) { return active.contains(v); });
      for (Value result : op.getResults()) {
        if (depends && isFloat(result)) {
          active.insert(result);
        }
      }
    }
    DenseSet<Value> needed = {loss};
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      if (llvm::none_of(op.getResults(), [&](Value result) {
            return needed.contains(result) && active.contains(result);
          })) {
        continue;
      }
      path.push_back(&op);
      for (Value operand : distinctOperands(&op)) {
        needed.insert(operand);
        ++usesLeft[operand];
      }
    }
    std::reverse(path.begin(), path.end());
  }

  LogicalResult checkPath() {
    bool differentiable = true;
    for (Operation *op : path) {
      if (!isa<DifferentiableOpInterface>(op)) {
        op->emitError() << "node '" << nameOf(op->getLoc())
                        << "' is on the path from a trainable parameter to "
                           "the loss, but '"
                        << op->getName()
                        << "' has no gradient; freeze the parameters before "
                           "it (--freeze) or remove it from the model";
        differentiable = false;
      }
    }
    return success(differentiable);
  }

  LogicalResult visit(Operation *op) {
    SmallVector<Value> ofResults;
    for (Value result : op->getResults()) {
      ofResults.push_back(gradientOf(result));
    }
    // Null everywhere: the ops after it are constant almost everywhere.
    if (llvm::any_of(ofResults, [](Value v) { return v != nullptr; })) {
      auto wanted = [&](unsigned i) {
        return active.contains(op->getOperand(i));
      };
      SmallVector<Value> ofOperands(op->getNumOperands());
      if (failed(cast<DifferentiableOpInterface>(op).buildGradient(
              builder, ofResults, wanted, ofOperands))) {
        return failure();
      }
      // Contributions are collected backwards; within one op too.
      for (unsigned i = op->getNumOperands(); i-- > 0;) {
        if (ofOperands[i] && wanted(i)) {
          contributions[op->getOperand(i)].push_back(ofOperands[i]);
        }
      }
    }
    for (Value operand : distinctOperands(op)) {
      if (--usesLeft[operand] == 0 && isa<BlockArgument>(operand)) {
        gradientOf(operand);
      }
    }
    return success();
  }

  /// The sum of the contributions to a value, in the order of its uses; null
  /// without any. The sum is built once, where it is first asked for.
  /// Contributions to parts that lie side by side are put side by side.
  Value gradientOf(Value value) {
    auto found = contributions.find(value);
    if (found == contributions.end()) {
      return {};
    }
    SmallVector<Value> &parts = found->second;
    NNBuilder sum(builder, gradientLocation(value.getLoc()));
    if (Value whole = sideBySide(sum, parts)) {
      parts = {whole};
    }
    while (parts.size() > 1) {
      Value last = parts.pop_back_val();
      parts.back() = sum.add(last, parts.back());
    }
    return parts.front();
  }

  static SetVector<Value> distinctOperands(Operation *op) {
    SetVector<Value> operands;
    operands.insert(op->operand_begin(), op->operand_end());
    return operands;
  }

  OpBuilder &builder;
  Value loss;
  ArrayRef<BlockArgument> variables;
  bool scaled;
  Value given;
  DenseSet<Value> active;
  SmallVector<Operation *> path;
  /// Ops of the path that use a value and are not yet visited.
  DenseMap<Value, unsigned> usesLeft;
  /// The contributions to each value, last use first. Never iterated.
  DenseMap<Value, SmallVector<Value>> contributions;
};

} // namespace

FailureOr<SmallVector<Value>>
mlir::zg::nn::buildBackward(OpBuilder &builder, Block &body, Value loss,
                            ArrayRef<BlockArgument> variables, bool scaled,
                            Value seed) {
  return Backward(builder, body, loss, variables, scaled, seed).run();
}
