//===- ShareRows.cpp - rows of loops that were unrolled -------------------===//

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/PackedGradients.h"
#include "passes/ir/nn/Queries.h"
#include "passes/kernels/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SHAREROWS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// Returns whether `dim` is the first dimension of more than one element.
bool isOutermost(ArrayRef<int64_t> shape, int64_t dim) {
  return llvm::all_of(shape.take_front(dim),
                      [](int64_t size) { return size == 1; });
}

/// Returns a shape with `size` elements of one of its dimensions, in front.
SmallVector<int64_t> withFront(ArrayRef<int64_t> shape, int64_t dim,
                               int64_t size) {
  SmallVector<int64_t> moved(shape);
  moved.erase(moved.begin() + dim);
  moved.insert(moved.begin(), size);
  return moved;
}

/// Returns the permutation that moves a dimension there.
SmallVector<int64_t> orderWithFront(size_t rank, int64_t dim) {
  return withFront(llvm::to_vector(llvm::seq<int64_t>(0, int64_t(rank))), dim,
                   dim);
}

/// Returns the one dimension of which a slice takes neighbouring elements, if
/// these are rows, or would be with that dimension in front: all begin at
/// addresses as rows have to.
std::optional<int64_t> rowDimOf(SliceOp slice) {
  RankedTensorType whole = slice.getOperand().getType();
  ArrayRef<int64_t> from = whole.getShape(), to = shapeOf(slice);
  std::optional<int64_t> cut;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    if (from[dim] != to[dim]) {
      if (cut) {
        return std::nullopt;
      }
      cut = dim;
    }
  }
  bool isPlain =
      elementsOf(slice) > 0 &&
      llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
  if (!cut || !isPlain || (to[*cut] != 1 && !isOutermost(from, *cut))) {
    return std::nullopt;
  }
  int64_t row = tensorBytes(whole) / from[*cut];
  return slice.getStarts()[*cut] * row % kRowsAlignment == 0 ? cut
                                                             : std::nullopt;
}

/// Returns whether the value has, or gets, bytes of its own: an input does,
/// what was computed, and what views make of these, but for repetitions, which
/// are read where they come from. Parameters may be released.
bool hasBytes(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isPlainView(op)) {
    if (isa<BroadcastOp>(op)) {
      return false;
    }
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto program = cast<ProgramOp>(argument.getOwner()->getParentOp());
    return bool(program.getArgAttr(argument.getArgNumber(), kInputAttr));
  }
  return !isLiteral(op) && isa<NNDialect>(op->getDialect());
}

/// Returns the bytes of one element of the first dimension.
int64_t rowBytes(RankedTensorType type) {
  return tensorBytes(type) / type.getDimSize(0);
}

/// Says where joined rows lie.
struct JoinedPart {
  JoinRowsOp join;
  size_t index = 0;
  int64_t offset = 0; ///< bytes
};

/// Finds joins of what an earlier one has in the same order.
class Joins {
public:
  /// Returns where the parts of a join lie in another, if they do, one after
  /// the other.
  std::optional<JoinedPart> find(JoinRowsOp join) const {
    auto it = places.find(stripReshapes(join.getParts().front()));
    if (it == places.end()) {
      return std::nullopt;
    }
    JoinRowsOp whole = it->second.join;
    auto parts = whole.getParts().drop_front(it->second.index);
    int64_t row = rowBytes(join.getType());
    bool isPart =
        it->second.offset % row == 0 &&
        tensorBytes(whole.getType()) % row == 0 &&
        join.getParts().size() <= parts.size() &&
        llvm::equal(llvm::map_range(join.getParts(), stripReshapes),
                    llvm::map_range(parts.take_front(join.getParts().size()),
                                    stripReshapes));
    return isPart ? std::optional(it->second) : std::nullopt;
  }

  void add(JoinRowsOp join) {
    int64_t offset = 0;
    for (auto [index, part] : llvm::enumerate(join.getParts())) {
      places.try_emplace(stripReshapes(part), JoinedPart{join, index, offset});
      offset += tensorBytes(part.getType());
    }
  }

private:
  llvm::DenseMap<Value, JoinedPart> places;
};

struct ShareRowsPass : nn::impl::ShareRowsBase<ShareRowsPass> {
  using ShareRowsBase::ShareRowsBase;

  void runOnOperation() override {
    llvm::MapVector<std::pair<Value, int64_t>, SmallVector<SliceOp>> slices;
    SmallVector<ConcatOp> concats;
    // Not what is within attention: it has no bytes.
    for (Operation &op : getOperation().getOps()) {
      if (auto slice = dyn_cast<SliceOp>(op)) {
        std::optional<int64_t> dim = rowDimOf(slice);
        if (dim && hasBytes(slice.getOperand())) {
          slices[{slice.getOperand(), *dim}].push_back(slice);
        }
      } else if (auto concat = dyn_cast<ConcatOp>(op)) {
        concats.push_back(concat);
      }
    }
    for (auto &[key, taken] : slices) {
      if (isWorthTaking(key.second, taken)) {
        take(key.second, taken);
        shared += taken.size();
      }
    }
    llvm::erase_if(concats, [&](ConcatOp concat) {
      return concat.getNumOperands() <= few || elementsOf(concat) == 0 ||
             packedGradients(concat).whole;
    });
    // Decided before any of them is gone.
    llvm::DenseSet<Operation *> own;
    for (ConcatOp concat : concats) {
      if (isMadeOfItsParts(concat)) {
        own.insert(concat);
      }
    }
    for (ConcatOp concat : concats) {
      shared += concat.getNumOperands();
      join(concat, own.contains(concat));
    }
    shareJoins();
  }

private:
  /// Returns whether a tensor has many such slices; if it must be copied, with
  /// the dimension in front, so many that they read half of it.
  bool isWorthTaking(int64_t dim, ArrayRef<SliceOp> slices) {
    SliceOp one = slices.front();
    ArrayRef<int64_t> shape = shapeOf(one.getOperand());
    llvm::DenseSet<int64_t> rows;
    for (SliceOp slice : slices) {
      rows.insert(slice.getStarts()[dim]);
    }
    return rows.size() > few &&
           (isOutermost(shape, dim) || 2 * int64_t(rows.size()) >= shape[dim]);
  }

  static void take(int64_t dim, ArrayRef<SliceOp> slices) {
    // Another value than it was, where that was a slice too.
    SliceOp one = slices.front();
    Value whole = one.getOperand();
    ArrayRef<int64_t> shape = shapeOf(whole);
    OpBuilder builder(one);
    NNBuilder front(builder, whole.getLoc());
    Value rows =
        isOutermost(shape, dim)
            ? front.reshape(whole, withFront(shape, dim, shape[dim]))
            : front.transpose(whole, orderWithFront(shape.size(), dim));
    for (SliceOp slice : slices) {
      OpBuilder at(slice);
      NNBuilder b(at, slice.getLoc());
      ArrayRef<int64_t> taken = shapeOf(slice);
      slice.replaceAllUsesWith(b.reshape(
          b.takeRows(rows, slice.getStarts()[dim], taken[dim]), taken));
      slice.erase();
    }
  }

  /// Takes from an earlier join what a later one would join again: a recurrence
  /// whose states are an output, and a factor of a product of all steps.
  void shareJoins() {
    Joins joins;
    SmallVector<JoinRowsOp> all;
    llvm::append_range(all, getOperation().getOps<JoinRowsOp>());
    for (JoinRowsOp join : all) {
      std::optional<JoinedPart> place = joins.find(join);
      if (!place) {
        joins.add(join);
        continue;
      }
      OpBuilder builder(join);
      NNBuilder b(builder, join.getLoc());
      RankedTensorType type = join.getType();
      int64_t row = rowBytes(type);
      SmallVector<int64_t> shape(type.getShape());
      Value whole = place->join.getResult();
      shape.front() = tensorBytes(whole.getType()) / row;
      Value rows = b.takeRows(b.reshape(whole, shape), place->offset / row,
                              type.getDimSize(0));
      join.replaceAllUsesWith(rows);
      join.erase();
    }
  }

  void join(ConcatOp concat, bool isMadeOfItsParts) {
    OpBuilder builder(concat);
    NNBuilder b(builder, concat.getLoc());
    SmallVector<Value> parts(concat.getOperands());
    Value whole =
        isMadeOfItsParts ? joinRows(b, parts, concat.getDim()) : Value();
    whole = whole ? whole : joinInSteps(b, parts, concat.getDim());
    concat.replaceAllUsesWith(whole);
    concat.erase();
  }

  /// Returns whether most parts are made for this concatenation: others would
  /// be copied, each by a step of its own.
  bool isMadeOfItsParts(ConcatOp concat) const {
    auto parts = llvm::map_range(concat.getOperands(), stripReshapes);
    int64_t made = llvm::count_if(parts, [&](Value part) {
      Operation *op = part.getDefiningOp();
      return op && isa<NNDialect>(op->getDialect()) && !isPlainView(op) &&
             !isLiteral(op) && countConcats(part) == 1;
    });
    return 2 * made > concat.getNumOperands();
  }

  /// Counts how often the value is one of many parts.
  int64_t countConcats(Value value) const {
    int64_t count = 0;
    for (Operation *user : value.getUsers()) {
      if (isa<ReshapeOp>(user)) {
        count += countConcats(user->getResult(0));
      } else if (isa<ConcatOp>(user) && user->getNumOperands() > few) {
        ++count;
      }
    }
    return count;
  }

  static bool isSplat(Value value) {
    return matchPattern(value, m_Constant()) &&
           cast<ConstantOp>(value.getDefiningOp()).getValue().isSplat();
  }

  /// Joins parts whose rows lie together, or of one element along the
  /// dimension, which then is moved. Null for others.
  static Value joinRows(NNBuilder &b, ArrayRef<Value> parts, int64_t dim) {
    SmallVector<int64_t> shape(shapeOf(parts.front()));
    bool isStack = llvm::all_of(parts, [&](Value part) {
      return shapeOf(part)[dim] == 1 || isSplat(part);
    });
    if (!isStack && !isOutermost(shape, dim)) {
      return {};
    }
    int64_t bytes = 0;
    for (Value part : parts) {
      if (bytes % kRowsAlignment != 0) {
        return {};
      }
      bytes += tensorBytes(part.getType());
    }
    SmallVector<Value> rows;
    for (Value part : parts) {
      rows.push_back(
          b.reshape(part, withFront(shape, dim, shapeOf(part)[dim])));
    }
    Value joined = b.joinRows(rows);
    if (isOutermost(shape, dim)) {
      shape[dim] = shapeOf(joined).front();
      return b.reshape(joined, shape);
    }
    return b.transpose(
        joined, invertPermutationVector(orderWithFront(shape.size(), dim)));
  }

  /// Joins a few at a time, then what that gave, so that each element is chosen
  /// among few parts each time.
  Value joinInSteps(NNBuilder &b, SmallVector<Value> parts, int64_t dim) {
    while (parts.size() > 1) {
      SmallVector<Value> next;
      for (ArrayRef<Value> rest = parts; !rest.empty();) {
        ArrayRef<Value> some = rest.take_front(few);
        next.push_back(some.size() > 1 ? b.concat(some, dim) : some.front());
        rest = rest.drop_front(some.size());
      }
      parts = std::move(next);
    }
    return parts.front();
  }
};

} // namespace
