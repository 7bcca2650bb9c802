//===- OwnRows.cpp - whether each sample reads rows of its own ------------===//

#include "passes/ir/nn/OwnRows.h"

#include "mlir/IR/Matchers.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns the part of a concatenation that `slice` takes, or null.
Value slicedPart(SliceOp slice) {
  auto concat = slice.getOperand().getDefiningOp<ConcatOp>();
  if (!concat) {
    return {};
  }
  int64_t dim = concat.getDim(), start = slice.getStarts()[dim];
  for (Value part : concat.getOperands()) {
    int64_t size = shapeOf(part)[dim];
    if (start < size) {
      bool whole = start + shapeOf(slice)[dim] <= size;
      return whole && slice.getSteps()[dim] == 1 ? part : Value();
    }
    start -= size;
  }
  return {};
}

std::optional<int64_t> splatInteger(Value value) {
  DenseElementsAttr attribute;
  if (!matchPattern(value, m_Constant(&attribute)) || !attribute.isSplat() ||
      !isa<IntegerType>(attribute.getElementType())) {
    return std::nullopt;
  }
  return attribute.getSplatValue<APInt>().getSExtValue();
}

/// Returns the numbers of a constant, or of a slice of one, as the parts of an
/// exporter's literal of indices are; null if it is neither.
DenseIntElementsAttr literalOf(Value value) {
  DenseIntElementsAttr whole;
  auto slice = value.getDefiningOp<SliceOp>();
  matchPattern(slice ? slice.getOperand() : value, m_Constant(&whole));
  if (!slice || !whole) {
    return whole;
  }
  ArrayRef<int64_t> from = whole.getType().getShape();
  SmallVector<APInt> numbers;
  for (int64_t i = 0, n = elementsOf(slice); i < n; ++i) {
    int64_t rest = i, place = 0, apart = 1;
    for (int64_t dim = from.size() - 1; dim >= 0; --dim) {
      int64_t at = rest % shapeOf(slice)[dim];
      place += apart * (slice.getStarts()[dim] + at * slice.getSteps()[dim]);
      rest /= shapeOf(slice)[dim];
      apart *= from[dim];
    }
    numbers.push_back(whole.getValues<APInt>()[place]);
  }
  return DenseIntElementsAttr::get(slice.getType(), numbers);
}

std::optional<int64_t> multiplied(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt
                                               : std::optional(result);
}

/// Does for literal data what the other multipleOfPlace does for ops.
std::optional<int64_t> multipleOfPlace(DenseIntElementsAttr literal,
                                       int64_t dim) {
  ArrayRef<int64_t> shape = literal.getType().getShape();
  int64_t after = ShapedType::getNumElements(shape.drop_front(dim + 1));
  int64_t factor = 0;
  for (auto [i, element] : llvm::enumerate(literal.getValues<APInt>())) {
    int64_t place = int64_t(i) / after % shape[dim];
    int64_t number = element.getSExtValue();
    factor = place == 1 && factor == 0 ? number : factor;
    if (multiplied(place, factor) != number) {
      return std::nullopt;
    }
  }
  return factor;
}

/// The number k where each element of `value` is k times its place in dimension
/// `dim`, of as many places as there are samples: an index that is in range
/// already may be checked or moved.
std::optional<int64_t> multipleOfPlace(Value value, int64_t dim,
                                       int64_t samples) {
  Operation *op = value.getDefiningOp();
  if (!op || shapeOf(value)[dim] != samples) {
    return std::nullopt;
  }
  auto follow = [&](Value operand, int64_t of) {
    return multipleOfPlace(operand, of, samples);
  };
  if (DenseIntElementsAttr literal = literalOf(value)) {
    return multipleOfPlace(literal, dim);
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    return int64_t(iota.getDim()) == dim ? std::optional<int64_t>(1)
                                         : std::nullopt;
  }
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    std::optional<int64_t> number = splatInteger(binary.getRhs());
    std::optional<int64_t> place =
        number ? follow(binary.getLhs(), dim) : std::nullopt;
    bool mul = binary.getKind() == BinaryKind::mul;
    bool keeps =
        place && *place >= 0 &&
        ((binary.getKind() == BinaryKind::max && *number <= 0) ||
         (binary.getKind() == BinaryKind::min &&
          multiplied(*place, samples - 1).value_or(INT64_MAX) <= *number));
    return !place  ? place
           : mul   ? multiplied(*place, *number)
           : keeps ? place
                   : std::nullopt;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    ArrayRef<int64_t> from = shapeOf(reshape.getOperand());
    int64_t before = ShapedType::getNumElements(shapeOf(value).take_front(dim));
    for (int64_t i = 0; i < int64_t(from.size()); ++i) {
      if (from[i] == samples &&
          ShapedType::getNumElements(from.take_front(i)) == before) {
        return follow(reshape.getOperand(), i);
      }
    }
    return std::nullopt;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    return follow(transpose.getOperand(), transpose.getPermutation()[dim]);
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (slice.getStarts()[dim] != 0 || slice.getSteps()[dim] != 1) {
      return std::nullopt;
    }
    Value part = slicedPart(slice);
    return follow(part ? part : slice.getOperand(), dim);
  }
  if (auto select = dyn_cast<SelectOp>(op)) {
    // An index counts from the end where it is below 0, which no place is.
    auto negative = select.getCondition().getDefiningOp<CompareOp>();
    bool ofIndex = negative && negative.getKind() == CompareKind::lt &&
                   negative.getLhs() == select.getOnFalse() &&
                   splatInteger(negative.getRhs()) == 0;
    return ofIndex ? follow(select.getOnFalse(), dim) : std::nullopt;
  }
  return isa<ConvertOp, BroadcastOp>(op) ? follow(op->getOperand(0), dim)
                                         : std::nullopt;
}

/// Returns the smallest and the largest element of `value`, if literal data,
/// places and multiples of them tell.
std::optional<std::pair<int64_t, int64_t>> boundsOf(Value value) {
  if (DenseIntElementsAttr literal = literalOf(value)) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const APInt &element : literal.getValues<APInt>()) {
      low = std::min(low, element.getSExtValue());
      high = std::max(high, element.getSExtValue());
    }
    return std::pair(low, high);
  }
  Operation *op = value.getDefiningOp();
  if (auto iota = dyn_cast_or_null<IotaOp>(op)) {
    return std::pair<int64_t, int64_t>(0, shapeOf(iota)[iota.getDim()] - 1);
  }
  if (auto binary = dyn_cast_or_null<BinaryOp>(op)) {
    auto of = boundsOf(binary.getLhs());
    std::optional<int64_t> number = splatInteger(binary.getRhs());
    if (!of || !number || *number < 0 || binary.getKind() != BinaryKind::mul) {
      return std::nullopt;
    }
    auto low = multiplied(of->first, *number);
    auto high = multiplied(of->second, *number);
    return low && high ? std::optional(std::pair(*low, *high)) : std::nullopt;
  }
  if (auto slice = dyn_cast_or_null<SliceOp>(op)) {
    Value part = slicedPart(slice);
    return boundsOf(part ? part : slice.getOperand());
  }
  return isa_and_nonnull<ReshapeOp, TransposeOp, ConvertOp, BroadcastOp>(op)
             ? boundsOf(op->getOperand(0))
             : std::nullopt;
}

/// Returns whether the sum of `terms` without `place` can stay within the
/// `size` rows of a sample. Data are trusted to keep it there.
bool staysWithin(ArrayRef<Value> terms, Value place, int64_t size) {
  int64_t low = 0, high = 0;
  bool known = true;
  for (Value term : terms) {
    auto bounds = boundsOf(term);
    if (term == place) {
      place = {}; // the next one like it counts
    } else if (!bounds) {
      known = false;
    } else if (__builtin_add_overflow(low, bounds->first, &low) ||
               __builtin_add_overflow(high, bounds->second, &high)) {
      return false;
    }
  }
  return known ? low >= 0 && high < size : high - low < size;
}

} // namespace

std::optional<int64_t> mlir::zg::nn::ownRows(Value rows, Samples from,
                                             int64_t samples, int64_t size) {
  SmallVector<Value> sums{rows}, terms;
  while (!sums.empty()) {
    Value value = sums.pop_back_val();
    auto sum = value.getDefiningOp<BinaryOp>();
    if (terms.size() + sums.size() > 64) {
      return std::nullopt; // as many again for each sum of a sum with itself
    }
    if (sum && sum.getKind() == BinaryKind::add) {
      sums.append({sum.getRhs(), sum.getLhs()});
    } else {
      terms.push_back(value);
    }
  }
  for (Value term : terms) {
    for (int64_t dim = 0; dim < int64_t(shapeOf(term).size()); ++dim) {
      bool there =
          from.kind == Samples::None || (from.isAt(dim) && from.outer == 1);
      if (there && multipleOfPlace(term, dim, samples) == size / samples &&
          staysWithin(terms, term, size / samples)) {
        return dim;
      }
    }
  }
  return std::nullopt;
}
