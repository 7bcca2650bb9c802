//===- SliceProducts.cpp - some rows of a product of those rows -----------===//

#include "passes/differentiate/Passes.h"
#include "passes/differentiate/RowTile.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SLICEPRODUCTS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// A slice that takes some rows and leaves each as it is.
class RowSlice {
public:
  explicit RowSlice(SliceOp slice) : slice(slice) {
    ArrayRef<int64_t> from = shapeOf(slice.getOperand()), to = shapeOf(slice);
    for (auto [dim, sizes] : llvm::enumerate(llvm::zip_equal(from, to))) {
      auto [whole, part] = sizes;
      if (whole != part || slice.getSteps()[dim] != 1) {
        rowDims = dim + 1;
      }
    }
    rows = ShapedType::getNumElements(from.take_front(rowDims));
    part = ShapedType::getNumElements(to.take_front(rowDims));
    if (rowDims > 0 && rowDims < from.size()) {
      collect(slice.getOperand());
    }
  }

  /// Returns whether fewer numbers are sliced before a product than after it.
  bool gains() const {
    return llvm::any_of(ops, [](Operation *op) {
      auto product = dyn_cast<MatmulOp>(op);
      return product &&
             shapeOf(product).back() > shapeOf(product.getLhs()).back();
    });
  }

  void hoist() {
    OpBuilder builder(slice);
    IRMapping sliced;
    for (Operation *op : llvm::reverse(ops)) {
      computeRows(builder, op, *rowRuleOf(op, rows), rows, part, sliced,
                  [&](Value value) { return rowsOf(builder, value); });
    }
    Value result = sliced.lookup(slice.getOperand());
    slice.replaceAllUsesWith(
        NNBuilder(builder, slice.getLoc()).reshape(result, shapeOf(slice)));
    slice.erase();
    for (Operation *op : ops) {
      if (op->use_empty()) { // else it is an output too
        op->erase();
      }
    }
  }

private:
  /// Returns whether one op reads a value, besides outputs other than the loss,
  /// which `nn-differentiate` drops.
  static bool hasOneReader(Value value) {
    return llvm::count_if(value.getUses(), [](OpOperand &use) {
             auto output = dyn_cast<ReturnOp>(use.getOwner());
             return !output || output->getParentOfType<ProgramOp>().getName() !=
                                   kForwardFunction;
           }) == 1;
  }

  /// Adds the op that makes a value, if nothing else reads it, and after it
  /// those that make what it reads by row.
  void collect(Value value) {
    Operation *op = value.getDefiningOp();
    std::optional<RowRule> rule;
    if (op && op->getNumResults() == 1 && hasOneReader(value)) {
      rule = rowRuleOf(op, rows);
    }
    if (!rule || rule->sums) {
      return;
    }
    ops.insert(op);
    if (isa<MatmulOp>(op)) {
      return; // what it reads is sliced
    }
    for (auto [byRow, operand] : llvm::zip(rule->byRow, op->getOperands())) {
      if (byRow) {
        collect(operand);
      }
    }
  }

  /// Returns the rows that are taken of a value, as one dimension.
  Value rowsOf(OpBuilder &builder, Value value) {
    NNBuilder b(builder, slice.getLoc());
    ArrayRef<int64_t> rest = shapeOfRow(value, rows);
    auto withRest = [&](ArrayRef<int64_t> rowNumbers,
                        ArrayRef<int64_t> others) {
      SmallVector<int64_t> all(rowNumbers.take_front(rowDims));
      llvm::append_range(all, others);
      return all;
    };
    SmallVector<int64_t> zeros(rest.size(), 0), ones(rest.size(), 1);
    Value whole = b.reshape(value, withRest(shapeOf(slice.getOperand()), rest));
    Value taken = b.slice(whole, withRest(slice.getStarts(), zeros),
                          withRest(slice.getSteps(), ones),
                          withRest(shapeOf(slice), rest));
    // The number of rows does not say which dims they are: [4, 1, 16] has four
    // in one dim, and in two.
    SmallVector<int64_t> shape = {part};
    llvm::append_range(shape, rest);
    return shapeOf(taken) == ArrayRef(shape) ? taken : b.reshape(taken, shape);
  }

  SliceOp slice;
  unsigned rowDims = 0;
  int64_t rows = 0, part = 0;
  llvm::SetVector<Operation *> ops;
};

struct SliceProductsPass
    : mlir::zg::nn::impl::SliceProductsBase<SliceProductsPass> {
  void runOnOperation() override {
    SmallVector<SliceOp> slices;
    getOperation().walk([&](SliceOp slice) { slices.push_back(slice); });
    for (SliceOp slice : slices) {
      if (RowSlice rows(slice); rows.gains()) {
        rows.hoist();
        ++hoisted;
      }
    }
  }
};

} // namespace
