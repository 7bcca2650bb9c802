//===- NNOps.cpp - verifiers of the core ops ------------------------------===//

#include "passes/ir/nn/Convolution.h"
#include "passes/ir/nn/NNFunctions.h"

using namespace mlir;
using namespace mlir::zg::nn;

#define GET_OP_CLASSES
#include "passes/ir/nn/NNOps.cpp.inc"

namespace {

RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult verifyDim(Operation *op, int64_t dim, RankedTensorType type) {
  if (dim >= 0 && dim < type.getRank()) {
    return success();
  }
  return op->emitOpError("dim ") << dim << " is not a dimension of " << type;
}

LogicalResult verifySameElement(Operation *op, RankedTensorType a,
                                RankedTensorType b) {
  if (a.getElementType() == b.getElementType()) {
    return success();
  }
  return op->emitOpError("element types differ: ") << a << " and " << b;
}

/// Shape of gather's result and of scatter's updates.
SmallVector<int64_t> gatheredShape(RankedTensorType indices,
                                   RankedTensorType table) {
  SmallVector<int64_t> shape(indices.getShape());
  llvm::append_range(shape, table.getShape().drop_front());
  return shape;
}

} // namespace

LogicalResult ConstantOp::verify() {
  if (getValue().isSplat() || tensorBytes(getType()) <= kMaxConstantBytes) {
    return success();
  }
  return emitOpError("holds ")
         << tensorBytes(getType()) << " bytes, more than the limit of "
         << kMaxConstantBytes;
}

LogicalResult IotaOp::verify() {
  return verifyDim(*this, getDim(), tensor(getResult()));
}

LogicalResult UnaryOp::verify() {
  Type from = tensor(getOperand()).getElementType();
  Type to = tensor(getResult()).getElementType();
  const FunctionFacts &facts = factsOf(getKind());
  if (facts.isTest ? !to.isInteger(1) : from != to) {
    return emitOpError() << stringifyUnaryKind(getKind()) << " of " << from
                         << " does not give " << to;
  }
  if (!facts.accepts(from)) {
    return emitOpError() << stringifyUnaryKind(getKind()) << " does not take "
                         << from;
  }
  return success();
}

LogicalResult BinaryOp::verify() {
  Type element = tensor(getResult()).getElementType();
  if (!factsOf(getKind()).accepts(element)) {
    return emitOpError() << stringifyBinaryKind(getKind()) << " does not take "
                         << element;
  }
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = tensor(getOperand()), to = tensor(getResult());
  if (failed(verifySameElement(*this, from, to))) {
    return failure();
  }
  if (from.getRank() != to.getRank()) {
    return emitOpError("ranks differ: ") << from << " and " << to;
  }
  for (auto [dim, sizes] :
       llvm::enumerate(llvm::zip(from.getShape(), to.getShape()))) {
    auto [a, b] = sizes;
    if (a != 1 && a != b) {
      return emitOpError("dimension ")
             << dim << " of size " << a << " cannot become " << b;
    }
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = tensor(getOperand()), to = tensor(getResult());
  if (failed(verifySameElement(*this, from, to))) {
    return failure();
  }
  if (from.getNumElements() != to.getNumElements()) {
    return emitOpError("has ")
           << from.getNumElements() << " elements, but the result has "
           << to.getNumElements();
  }
  bool sameRows = from.getRank() > 0 && to.getRank() > 0 &&
                  from.getShape().back() == to.getShape().back() &&
                  rowStrideOf(from) == rowStrideOf(to);
  if (!sameRows && !(isDense(from) && isDense(to))) {
    return emitOpError("has other rows than its result, which lie apart: ")
           << from << " and " << to;
  }
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType from = tensor(getOperand()), to = tensor(getResult());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, from.getRank()))) {
    return emitOpError("[")
           << getPermutation() << "] is not a permutation of the dimensions of "
           << from;
  }
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation()) {
    shape.push_back(from.getDimSize(dim));
  }
  auto expected = from.clone(shape);
  if (to != expected) {
    return emitOpError("gives ") << expected << ", not " << to;
  }
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType from = tensor(getOperand()), to = tensor(getResult());
  if (failed(verifySameElement(*this, from, to))) {
    return failure();
  }
  int64_t rank = from.getRank();
  if (to.getRank() != rank ||
      static_cast<int64_t>(getStarts().size()) != rank ||
      static_cast<int64_t>(getSteps().size()) != rank) {
    return emitOpError("needs a start, a step and a size for each of the ")
           << rank << " dimensions";
  }
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = to.getDimSize(dim);
    if (getSteps()[dim] == 0) {
      return emitOpError("step of dimension ") << dim << " is 0";
    }
    int64_t first = getStarts()[dim];
    int64_t last = first + (size - 1) * getSteps()[dim];
    int64_t bound = from.getDimSize(dim);
    if (size > 0 &&
        (first < 0 || first >= bound || last < 0 || last >= bound)) {
      return emitOpError("dimension ") << dim << " reads " << first << " to "
                                       << last << " of size " << bound;
    }
  }
  return success();
}

LogicalResult PadOp::verify() {
  RankedTensorType from = tensor(getOperand()), to = tensor(getResult());
  if (failed(verifySameElement(*this, from, to))) {
    return failure();
  }
  if (getValue().getType() != from.getElementType()) {
    return emitOpError("value has type ")
           << getValue().getType() << ", not " << from.getElementType();
  }
  if (to.getRank() != from.getRank() ||
      static_cast<int64_t>(getLow().size()) != from.getRank()) {
    return emitOpError("needs one low padding for each of the ")
           << from.getRank() << " dimensions";
  }
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    if (getLow()[dim] < 0 ||
        getLow()[dim] + from.getDimSize(dim) > to.getDimSize(dim)) {
      return emitOpError("dimension ")
             << dim << " of size " << from.getDimSize(dim) << " after "
             << getLow()[dim] << " does not fit into " << to.getDimSize(dim);
    }
  }
  return success();
}

/// Checks that `part` has rows of `whole` from row `first` on, which begin at
/// an address that every access may rely on.
static LogicalResult verifyRows(Operation *op, RankedTensorType part,
                                int64_t first, RankedTensorType whole) {
  if (whole.getRank() == 0 || whole.getDimSize(0) == 0 ||
      part.getRank() != whole.getRank() ||
      part.getElementType() != whole.getElementType() ||
      part.getShape().drop_front() != whole.getShape().drop_front()) {
    return op->emitOpError("needs rows of one kind, not ")
           << part << " and " << whole;
  }
  if (first < 0 || first + part.getDimSize(0) > whole.getDimSize(0)) {
    return op->emitOpError("has rows ")
           << first << " to " << first + part.getDimSize(0) << " of " << whole;
  }
  int64_t begin = first * tensorBytes(whole) / whole.getDimSize(0);
  if (begin % kRowsAlignment != 0) {
    return op->emitOpError("has rows from ")
           << first << " on, which begin at byte " << begin << " of " << whole
           << ", at no multiple of " << kRowsAlignment;
  }
  return success();
}

LogicalResult TakeRowsOp::verify() {
  return verifyRows(*this, tensor(getResult()), getFirst(),
                    tensor(getOperand()));
}

LogicalResult JoinRowsOp::verify() {
  RankedTensorType whole = tensor(getResult());
  int64_t first = 0;
  for (Value part : getParts()) {
    if (failed(verifyRows(*this, tensor(part), first, whole))) {
      return failure();
    }
    first += tensor(part).getDimSize(0);
  }
  if (first != whole.getDimSize(0)) {
    return emitOpError("joins ") << first << " rows, not those of " << whole;
  }
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getOperands().empty()) {
    return emitOpError("needs at least one operand");
  }
  RankedTensorType to = tensor(getResult());
  int64_t dim = getDim();
  if (failed(verifyDim(*this, dim, to))) {
    return failure();
  }
  int64_t sum = 0;
  for (Value operand : getOperands()) {
    RankedTensorType from = tensor(operand);
    if (failed(verifySameElement(*this, from, to))) {
      return failure();
    }
    SmallVector<int64_t> shape(from.getShape());
    if (from.getRank() == to.getRank()) {
      sum += shape[dim];
      shape[dim] = to.getDimSize(dim);
    }
    if (ArrayRef<int64_t>(shape) != to.getShape()) {
      return emitOpError("operand ") << from << " does not fit into " << to;
    }
  }
  if (sum != to.getDimSize(dim)) {
    return emitOpError("sizes along dimension ")
           << dim << " add up to " << sum << ", not " << to.getDimSize(dim);
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  RankedTensorType from = tensor(getOperand()), to = tensor(getResult());
  SmallVector<int64_t> shape(from.getShape());
  int64_t previous = -1;
  for (int64_t dim : getDims()) {
    if (failed(verifyDim(*this, dim, from))) {
      return failure();
    }
    if (dim <= previous) {
      return emitOpError("dims must be distinct and ascending");
    }
    previous = dim;
    shape[dim] = 1;
  }
  auto expected = from.clone(shape);
  if (to != expected) {
    return emitOpError("gives ") << expected << ", not " << to;
  }
  if (getFirst() && getKind() != ReduceKind::max &&
      getKind() != ReduceKind::min) {
    return emitOpError("takes the first of max or min, not of ")
           << stringifyReduceKind(getKind());
  }
  return success();
}

LogicalResult CumsumOp::verify() {
  return verifyDim(*this, getDim(), tensor(getResult()));
}

LogicalResult PoolOp::verify() {
  RankedTensorType from = tensor(getOperand()), to = tensor(getResult());
  bool isMax = getKind() == ReduceKind::max;
  if (!isMax && getKind() != ReduceKind::sum) {
    return emitOpError("pools by sum or max, not by ")
           << stringifyReduceKind(getKind());
  }
  if (failed(verifyDim(*this, getDim(), from))) {
    return failure();
  }
  if (from.getElementType().isInteger(1)) {
    return emitOpError("pools numbers, not ") << from;
  }
  int64_t low = getLow();
  if (llvm::any_of(ArrayRef<int64_t>{int64_t(getWindow()), int64_t(getStride()),
                                     int64_t(getDilation())},
                   [](int64_t n) { return n < 1; }) ||
      low < 0) {
    return emitOpError("window, stride and dilation are at least 1, low at "
                       "least 0");
  }
  SmallVector<int64_t> shape(from.getShape());
  if (to.getRank() == from.getRank()) {
    shape[getDim()] = to.getDimSize(getDim());
  }
  if (to != from.clone(shape)) {
    return emitOpError("changes more than dim ")
           << getDim() << ": " << from << " to " << to;
  }
  if (isMax && !getPlace()) {
    return emitOpError("needs a result for the maxima's places");
  }
  if (!isMax && getPlace()) {
    return emitOpError("has places of maxima, but adds");
  }
  if (isMax) {
    RankedTensorType place = tensor(getPlace());
    auto integer = dyn_cast<IntegerType>(place.getElementType());
    if (place.getShape() != to.getShape() || !integer ||
        integer.getWidth() < 8 || integer.getWidth() > 32 ||
        !llvm::isIntN(integer.getWidth(), getLastPlace())) {
      return emitOpError("places up to ")
             << getLastPlace() << " do not fit " << place;
    }
  }
  return success();
}

LogicalResult MatmulOp::verify() {
  RankedTensorType a = tensor(getLhs()), b = tensor(getRhs());
  RankedTensorType c = tensor(getResult());
  bool widens = isHalf(a.getElementType()) && c.getElementType().isF32();
  if (failed(verifySameElement(*this, a, b)) ||
      (!widens && failed(verifySameElement(*this, a, c)))) {
    return failure();
  }
  int64_t rank = c.getRank();
  if (rank < 2 || a.getRank() != rank || b.getRank() != rank) {
    return emitOpError("operands and result need one rank, at least 2, not ")
           << a << ", " << b << ", " << c;
  }
  if (a.getShape().drop_back(2) != c.getShape().drop_back(2) ||
      b.getShape().drop_back(2) != c.getShape().drop_back(2)) {
    return emitOpError("batch dimensions differ: ")
           << a << ", " << b << ", " << c;
  }
  auto sizes = [rank](RankedTensorType type, bool transposed) {
    int64_t rows = type.getDimSize(rank - 2), cols = type.getDimSize(rank - 1);
    return transposed ? std::pair(cols, rows) : std::pair(rows, cols);
  };
  auto [m, k] = sizes(a, getTransposeA());
  auto [k2, n] = sizes(b, getTransposeB());
  if (k != k2) {
    return emitOpError("inner sizes differ: ") << k << " and " << k2;
  }
  if (c.getDimSize(rank - 2) != m || c.getDimSize(rank - 1) != n) {
    return emitOpError("gives ") << m << "x" << n << " matrices, not " << c;
  }
  if (getInto() && getInto().getType() != c) {
    return emitOpError("adds ") << c << " to " << getInto().getType();
  }
  auto bias = RankedTensorType::get({n}, c.getElementType());
  if (getBias() && (getInto() || getBias().getType() != bias)) {
    return emitOpError("needs a bias of type ")
           << bias << ", and no `into` beside it, found "
           << getBias().getType();
  }
  return success();
}

LogicalResult ConvolutionOp::verify() {
  return Convolution(*this).verify(*this);
}

LogicalResult GatherOp::verify() {
  RankedTensorType table = tensor(getTable()), indices = tensor(getIndices());
  if (table.getRank() < 1) {
    return emitOpError("needs a table of rank 1 or more");
  }
  auto expected = table.clone(gatheredShape(indices, table));
  if (tensor(getResult()) != expected) {
    return emitOpError("gives ") << expected << ", not " << getType();
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  RankedTensorType table = tensor(getResult()), indices = tensor(getIndices());
  if (table.getRank() < 1) {
    return emitOpError("needs a result of rank 1 or more");
  }
  auto expected = table.clone(gatheredShape(indices, table));
  if (tensor(getUpdates()) != expected) {
    return emitOpError("needs updates ")
           << expected << ", not " << getUpdates().getType();
  }
  if (!getInto() && getKind() != ScatterKind::sum) {
    return emitOpError("of the kind '")
           << stringifyScatterKind(getKind())
           << "' needs a table: only a sum begins as zeros";
  }
  return success();
}

std::optional<ReduceKind> ScatterOp::getCombine() {
  switch (getKind()) {
  case ScatterKind::sum:
    return ReduceKind::sum;
  case ScatterKind::max:
    return ReduceKind::max;
  case ScatterKind::min:
    return ReduceKind::min;
  case ScatterKind::prod:
    return ReduceKind::prod;
  case ScatterKind::set:
    return std::nullopt;
  }
  llvm_unreachable("a kind without a case");
}
