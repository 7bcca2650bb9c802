//===- Samples.cpp - which dimension of a value holds the samples ---------===//

#include "passes/ir/nn/Samples.h"

#include "mlir/IR/Matchers.h"
#include "passes/ir/nn/NNBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

int64_t product(ArrayRef<int64_t> shape) {
  return ShapedType::getNumElements(shape);
}

} // namespace

SampleAnalysis::SampleAnalysis(ProgramOp forward) {
  SmallVector<Value> inputs;
  for (BlockArgument argument : forward.getArguments()) {
    auto input = forward.getArgAttrOfType<InputAttr>(argument.getArgNumber(),
                                                     kInputAttr);
    if (input && input.getPerSample()) {
      inputs.push_back(argument);
    }
  }
  follow(forward.getBody().front(), inputs);
}

SampleAnalysis::SampleAnalysis(Block &body, ValueRange inputs) {
  follow(body, inputs);
}

void SampleAnalysis::follow(Block &body, ValueRange inputs) {
  for (Value input : inputs) {
    samples = shapeOf(input).front();
    known[input] = Samples::at(0);
  }
  for (Operation &op : body) {
    if (op.getNumResults() == 0) {
      continue; // the end of the program
    }
    Samples all = compute(&op);
    for (Value value : op.getResults()) {
      // Statistics of rows that span several samples, for example, are mixed.
      bool has = all.kind != Samples::At ||
                 shapeOf(value)[all.dim] % (all.outer * samples) == 0;
      known[value] = has ? all : Samples::mixedBy(&op);
    }
  }
}

Operation *SampleAnalysis::mixerBehind(Value value) const {
  SetVector<Operation *> ops;
  auto visit = [&](Value operand) {
    if (Operation *op = operand.getDefiningOp()) {
      ops.insert(op);
    }
  };
  visit(value);
  Operation *first = nullptr;
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *op = ops[i];
    llvm::for_each(op->getOperands(), visit);
    Samples all = of(op->getResult(0));
    auto sum = dyn_cast<ReduceOp>(op);
    bool adds = sum && sum.getKind() == ReduceKind::sum;
    bool mixes = all.kind == Samples::At ? all.mixer != nullptr
                                         : all.mixer == op && !adds;
    if (mixes && (!first || all.mixer->isBeforeInBlock(first))) {
      first = all.mixer;
    }
  }
  return first;
}

Samples SampleAnalysis::compute(Operation *op) const {
  if (llvm::all_of(op->getOperands(), [&](Value operand) {
        return of(operand).kind == Samples::None;
      })) {
    return {};
  }
  if (samples == 1) {
    // All elements are the one sample's, whichever dimension one counts from.
    return shapeOf(op->getResult(0)).empty() ? Samples::mixedBy(op)
                                             : Samples::at(0);
  }
  if (isa<SoftmaxOp, SoftmaxCrossEntropyOp, LayerNormOp>(op)) {
    return throughRows(op);
  }
  if (keepsSamples(op)) {
    return joinOperands(op);
  }
  return llvm::TypeSwitch<Operation *, Samples>(op)
      .Case<AttentionOp, ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatOp,
            ReduceOp, CumsumOp, PoolOp, MatmulOp, ConvolutionOp, GatherOp,
            ScatterOp>([&](auto concrete) { return through(concrete); })
      // It depends on where samples are, not on what they hold.
      .Case([&](RandomLikeOp random) {
        Samples like = of(random.getOperand());
        return like.kind == Samples::At ? like : Samples();
      })
      .Default([&](auto) { return Samples::mixedBy(op); });
}

/// Joins the parts of an elementwise op, such as statistics over samples and
/// the values they normalize. If the samples of a part are known, so are those
/// of the whole.
Samples SampleAnalysis::join(Operation *op, ArrayRef<Samples> parts) const {
  Samples result;
  for (const Samples &part : parts) {
    if (part.kind == Samples::At && result.kind == Samples::At &&
        (part.dim != result.dim || part.outer != result.outer)) {
      return Samples::mixedBy(op);
    }
    Operation *mixer = result.mixer ? result.mixer : part.mixer;
    if (part.kind == Samples::At || result.kind == Samples::None) {
      result = part;
    }
    result.mixer = mixer;
  }
  return result;
}

Samples SampleAnalysis::joinOperands(Operation *op) const {
  SmallVector<Samples> parts;
  for (Value operand : op->getOperands()) {
    parts.push_back(of(operand));
  }
  return join(op, parts);
}

/// Follows an op that computes with rows, the last dimension of its operands.
Samples SampleAnalysis::throughRows(Operation *op) const {
  Samples all = joinOperands(op);
  int64_t last = shapeOf(op->getOperand(0)).size() - 1;
  return all.isAt(last) ? all.alsoMixedBy(op) : all;
}

/// The dimension that holds the samples and what of it lies before them, so
/// that there is as much before them as there was.
Samples SampleAnalysis::through(ReshapeOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind != Samples::At) {
    return from;
  }
  int64_t before =
      product(shapeOf(op.getOperand()).take_front(from.dim)) * from.outer;
  ArrayRef<int64_t> shape = shapeOf(op);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t leading = product(shape.take_front(dim));
    int64_t outer = before / leading;
    if (outer * leading == before && size % (outer * samples) == 0) {
      from.dim = dim;
      from.outer = outer;
      return from;
    }
  }
  return Samples::mixedBy(op);
}

Samples SampleAnalysis::through(TransposeOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind == Samples::At) {
    from.dim =
        llvm::find(op.getPermutation(), from.dim) - op.getPermutation().begin();
  }
  return from;
}

Samples SampleAnalysis::through(SliceOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind == Samples::At &&
      (op.getStarts()[from.dim] != 0 || op.getSteps()[from.dim] != 1 ||
       shapeOf(op)[from.dim] != shapeOf(op.getOperand())[from.dim])) {
    return Samples::mixedBy(op);
  }
  return from;
}

/// Follows scores through the region, in which samples must stay in front.
Samples SampleAnalysis::through(AttentionOp op) const {
  Samples ofProducts = join(op, {of(op.getQ()), of(op.getK()), of(op.getV())});
  Block &region = op.getScores().front();
  SmallVector<Value> inputs;
  for (BlockArgument argument : region.getArguments()) {
    unsigned number = argument.getArgNumber();
    Samples own = number == 0 ? ofProducts : of(op.getExtras()[number - 1]);
    if (own.kind != Samples::None && !own.isAt(0)) {
      return own.kind == Samples::Mixed ? own : Samples::mixedBy(op);
    }
    if (own.isAt(0)) {
      inputs.push_back(argument);
    }
  }
  SampleAnalysis inside(region, inputs);
  return inside.of(region.getTerminator()->getOperand(0)).isAt(0)
             ? joinOperands(op)
             : Samples::mixedBy(op);
}

Samples SampleAnalysis::through(PadOp op) const {
  Samples from = of(op.getOperand());
  if (from.kind == Samples::At &&
      shapeOf(op)[from.dim] != shapeOf(op.getOperand())[from.dim]) {
    return Samples::mixedBy(op);
  }
  return from;
}

Samples SampleAnalysis::through(ConcatOp op) const {
  Samples joined = joinOperands(op);
  return joined.isAt(op.getDim()) ? Samples::mixedBy(op) : joined;
}

Samples SampleAnalysis::through(ReduceOp op) const {
  Samples from = of(op.getOperand());
  bool reduced =
      from.kind == Samples::At && llvm::is_contained(op.getDims(), from.dim);
  return reduced ? Samples::mixedBy(op) : from;
}

Samples SampleAnalysis::through(CumsumOp op) const {
  Samples from = of(op.getOperand());
  return from.isAt(op.getDim()) ? Samples::mixedBy(op) : from;
}

Samples SampleAnalysis::through(PoolOp op) const {
  Samples from = of(op.getOperand());
  return from.isAt(op.getDim()) ? Samples::mixedBy(op) : from;
}

Samples SampleAnalysis::through(MatmulOp op) const {
  int64_t rank = shapeOf(op).size();
  // Rows of the left and columns of the right become the result's.
  auto moved = [&](Value operand, bool transposed, bool isLeft) {
    Samples from = of(operand);
    if (from.kind == Samples::At && from.dim >= rank - 2) {
      bool isRow = (from.dim == rank - 2) != transposed;
      if (isRow != isLeft) {
        return Samples::mixedBy(op);
      }
      from.dim = isLeft ? rank - 2 : rank - 1;
    }
    return from;
  };
  Samples left = moved(op.getLhs(), op.getTransposeA(), true);
  Samples right = moved(op.getRhs(), op.getTransposeB(), false);
  for (const Samples &factor : {left, right}) {
    if (factor.kind == Samples::Mixed) {
      return factor;
    }
  }
  return join(op, {left, right});
}

Samples SampleAnalysis::through(ConvolutionOp op) const {
  bool kept = op.getKind() != ConvolutionKind::weights &&
              of(op.getLhs()).isAt(0) && of(op.getRhs()).kind == Samples::None;
  return kept ? of(op.getLhs()) : Samples::mixedBy(op);
}

/// Returns the part of a concatenation that `slice` takes, or null.
static Value slicedPart(SliceOp slice) {
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

static std::optional<int64_t> splatInteger(Value value) {
  DenseElementsAttr attribute;
  if (!matchPattern(value, m_Constant(&attribute)) || !attribute.isSplat() ||
      !isa<IntegerType>(attribute.getElementType())) {
    return std::nullopt;
  }
  return attribute.getSplatValue<APInt>().getSExtValue();
}

/// Returns the numbers of a constant, or of a slice of one, as the parts of an
/// exporter's literal of indices are; null if it is neither.
static DenseIntElementsAttr literalOf(Value value) {
  DenseIntElementsAttr whole;
  auto slice = value.getDefiningOp<SliceOp>();
  matchPattern(slice ? slice.getOperand() : value, m_Constant(&whole));
  if (!slice || !whole) {
    return whole;
  }
  ArrayRef<int64_t> from = whole.getType().getShape();
  SmallVector<APInt> numbers;
  for (int64_t i = 0, n = product(shapeOf(slice)); i < n; ++i) {
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

static std::optional<int64_t> multiplied(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt
                                               : std::optional(result);
}

/// Does for literal data what the other multipleOfPlace does for ops.
static std::optional<int64_t> multipleOfPlace(DenseIntElementsAttr literal,
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
static std::optional<int64_t> multipleOfPlace(Value value, int64_t dim,
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
    int64_t before = product(shapeOf(value).take_front(dim));
    for (int64_t i = 0; i < int64_t(from.size()); ++i) {
      if (from[i] == samples && product(from.take_front(i)) == before) {
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
static std::optional<std::pair<int64_t, int64_t>> boundsOf(Value value) {
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
static bool staysWithin(ArrayRef<Value> terms, Value place, int64_t size) {
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

/// Returns the dimension of the row numbers `rows` by which each sample reads
/// rows of its own in a table of `size` rows, in whose front the samples are: a
/// term of the sum is the place of the sample times the rows that it has, and
/// the others stay within these.
std::optional<int64_t> SampleAnalysis::ownRows(Value rows, int64_t size) const {
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
  Samples from = of(rows);
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

/// The dimensions of the indices, then the table's but its first.
Samples SampleAnalysis::through(GatherOp op) const {
  Samples table = of(op.getTable()), indices = of(op.getIndices());
  if (table.kind == Samples::None) {
    return indices;
  }
  if (table.kind == Samples::At && table.dim > 0 &&
      indices.kind == Samples::None) {
    table.dim += shapeOf(op.getIndices()).size() - 1;
    return table;
  }
  if (table.isAt(0) && table.outer == 1) {
    if (auto dim = ownRows(op.getIndices(), shapeOf(op.getTable())[0])) {
      return join(op, {Samples::at(*dim).alsoMixedBy(table.mixer), indices});
    }
  }
  return Samples::mixedBy(op);
}

/// Elements within a row of the updates keep their place, and so does what the
/// table has already.
Samples SampleAnalysis::through(ScatterOp op) const {
  Samples updates = of(op.getUpdates()), indices = of(op.getIndices());
  int64_t leading = shapeOf(op.getIndices()).size();
  auto own = ownRows(op.getIndices(), shapeOf(op)[0]);
  if (own && (updates.kind == Samples::None || updates.isAt(*own))) {
    updates = Samples::at(0).alsoMixedBy(join(op, {indices, updates}).mixer);
  } else if (indices.kind != Samples::None ||
             (updates.kind == Samples::At && updates.dim < leading)) {
    updates = Samples::mixedBy(op);
  } else {
    updates.dim += 1 - leading;
  }
  return op.getInto() ? join(op, {of(op.getInto()), updates}) : updates;
}
