//===- PackedGradients.cpp - gradients of attention side by side ----------===//

#include "passes/ir/nn/PackedGradients.h"

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Says where the elements of a tensor lie in what reshapes, transpositions and
/// a concatenation make of it.
class Places {
public:
  explicit Places(ArrayRef<int64_t> shape) {
    for (auto [axis, size] : llvm::enumerate(shape)) {
      dims.push_back({size, 0, {{unsigned(axis), size, 1, 1}}});
    }
  }

  /// Follows an op whose operand `value` is. Fails where its result has no one
  /// distance from an element to the next along each axis.
  bool follow(Operation *op, Value value) {
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      return regroup(shapeOf(reshape));
    }
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<Dim> moved;
      for (int64_t from : transpose.getPermutation()) {
        moved.push_back(dims[from]);
      }
      dims = std::move(moved);
      return true;
    }
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      int64_t dim = concat.getDim();
      for (Value part : concat.getOperands()) {
        if (part == value) {
          break;
        }
        dims[dim].begin += shapeOf(part)[dim];
      }
      dims[dim].size = shapeOf(concat)[dim];
      return true;
    }
    return isa<ConvertOp>(op);
  }

  /// Returns the first element's place, then the distance along each axis; null
  /// where there is no one distance.
  std::optional<SmallVector<int64_t>> distances(unsigned axes) const {
    Dim all = merged();
    SmallVector<int64_t> result(1 + axes, 0);
    result[0] = all.begin;
    for (const Piece &piece : all.pieces) {
      int64_t &distance = result[1 + piece.axis];
      if (piece.size == 1) {
        continue;
      }
      if (piece.stride % piece.weight != 0 ||
          (distance != 0 && distance != piece.stride / piece.weight)) {
        return std::nullopt;
      }
      distance = piece.stride / piece.weight;
    }
    return result;
  }

private:
  /// Is a part of an axis: `size` of its elements that are `weight` apart, and
  /// `stride` apart in a dimension.
  struct Piece {
    unsigned axis;
    int64_t size, weight, stride;
  };
  /// Is a dimension in which the elements lie from `begin` on.
  struct Dim {
    int64_t size, begin = 0;
    SmallVector<Piece, 2> pieces;
  };

  /// Returns all dimensions as one.
  Dim merged() const {
    Dim all{1, 0, {}};
    for (const Dim &dim : llvm::reverse(dims)) {
      for (Piece piece : dim.pieces) {
        piece.stride *= all.size;
        all.pieces.push_back(piece);
      }
      all.begin += dim.begin * all.size;
      all.size *= dim.size;
    }
    return all;
  }

  bool regroup(ArrayRef<int64_t> shape) {
    Dim rest = merged();
    dims.clear();
    for (int64_t size : shape) {
      Dim outer{size, 0, {}};
      if (!split(rest, rest.size / size, outer)) {
        return false;
      }
      dims.push_back(std::move(outer));
    }
    return true;
  }

  /// Leaves places within blocks of `inner` in `rest`, and gives `outer` those
  /// of blocks.
  static bool split(Dim &rest, int64_t inner, Dim &outer) {
    Dim within{inner, rest.begin % inner, {}};
    outer.begin = rest.begin / inner;
    int64_t last = within.begin;
    for (const Piece &piece : rest.pieces) {
      if (piece.size == 1) {
        continue;
      }
      int64_t fits = std::min(piece.size, inner / piece.stride);
      if (piece.size % std::max<int64_t>(fits, 1) != 0 ||
          (fits < piece.size &&
           piece.stride * std::max<int64_t>(fits, 1) % inner != 0)) {
        return false;
      }
      if (fits > 1) {
        within.pieces.push_back({piece.axis, fits, piece.weight, piece.stride});
        last += (fits - 1) * piece.stride;
      }
      int64_t below = std::max<int64_t>(fits, 1);
      if (below < piece.size) {
        outer.pieces.push_back({piece.axis, piece.size / below,
                                piece.weight * below,
                                piece.stride * below / inner});
      }
    }
    rest = std::move(within);
    return last < inner;
  }

  SmallVector<Dim> dims;
};

/// Returns whether the op moves a tensor's elements, all of them.
bool isMove(Operation *op) { return isa<ReshapeOp, TransposeOp>(op); }

/// Returns the gradient of queries, keys or values that a value has, moved and
/// perhaps rounded once from f32 to 16 bits, if nothing else reads it; else
/// null.
OpResult gradientUnder(Value value) {
  bool rounded = false;
  while (value.hasOneUse()) {
    Operation *op = value.getDefiningOp();
    if (auto gradient = dyn_cast_or_null<AttentionGradOp>(op)) {
      return value != gradient.getDbias() ? cast<OpResult>(value) : OpResult();
    }
    bool rounds = isa_and_present<ConvertOp>(op) && !rounded &&
                  isHalf(elementOf(value)) &&
                  elementOf(op->getOperand(0)).isF32();
    if (!op || (!isMove(op) && !rounds)) {
      break;
    }
    rounded |= rounds;
    value = op->getOperand(0);
  }
  return {};
}

/// Returns where a gradient lies in `whole`, which is made of it; null where a
/// kernel cannot write it there.
std::optional<PackedPlace> placeIn(OpResult gradient, Value whole) {
  // A thread stores up to four elements together, at a multiple of their size.
  constexpr int64_t kMultiple = 4;
  Places places(shapeOf(gradient));
  for (Value value = gradient; value != whole;) {
    Operation *user = *value.user_begin();
    if (!places.follow(user, value)) {
      return std::nullopt;
    }
    value = user->getResult(0);
  }
  std::optional<SmallVector<int64_t>> distances = places.distances(4);
  ArrayRef<int64_t> shape = shapeOf(gradient);
  if (!distances || (shape[3] > 1 && (*distances)[4] != 1) ||
      llvm::any_of(ArrayRef(*distances).drop_back(), [](int64_t distance) {
        return distance % kMultiple != 0;
      })) {
    return std::nullopt;
  }
  return PackedPlace{gradient, (*distances)[0], (*distances)[1],
                     (*distances)[2], (*distances)[3]};
}

} // namespace

PackedGradients mlir::zg::nn::packedGradients(ConcatOp concat) {
  SmallVector<OpResult> gradients;
  for (Value part : concat.getOperands()) {
    OpResult gradient = gradientUnder(part);
    if (!gradient || (!gradients.empty() &&
                      gradient.getOwner() != gradients.front().getOwner())) {
      return {};
    }
    gradients.push_back(gradient);
  }
  PackedGradients packed;
  for (Value whole = concat;;) {
    SmallVector<PackedPlace, 3> places;
    for (OpResult gradient : gradients) {
      if (std::optional<PackedPlace> place = placeIn(gradient, whole)) {
        places.push_back(*place);
      }
    }
    if (places.size() == gradients.size()) {
      packed = {whole, std::move(places)};
    }
    if (!whole.hasOneUse() || !isMove(*whole.user_begin())) {
      return packed;
    }
    whole = (*whole.user_begin())->getResult(0);
  }
}

ConcatOp mlir::zg::nn::concatUnder(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      return concat;
    }
    if (!isMove(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  return {};
}
