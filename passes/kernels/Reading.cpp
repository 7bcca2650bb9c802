//===- Reading.cpp - whether a kernel can read a value through views ------===//

#include "passes/kernels/Reading.h"

#include "passes/ir/nn/NNDialect.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

struct Reader {
  const Inputs &inputs;
  std::optional<ArrayRef<int64_t>> shape;
  llvm::function_ref<void(const View &)> onLeaf;
  std::set<std::pair<Operation *, std::vector<Operation *>>> done;

  /// `chain` leads from `value` to the value that is read, outermost first.
  bool read(Value value, SmallVector<Operation *, 4> &chain) {
    Operation *op = value.getDefiningOp();
    bool leaf = !op || inputs.leaves.contains(value);
    if (!leaf && nn::isView(op)) {
      chain.push_back(op);
      bool result = read(op->getOperand(0), chain);
      chain.pop_back();
      return result;
    }
    if (!leaf && isElementwise(op)) {
      // Shared operands would else be followed once for every path to them.
      if (!done.insert({op, {chain.begin(), chain.end()}}).second) {
        return true;
      }
      // Computed from its operands' elements, for which the same views hold.
      return llvm::all_of(op->getOperands(),
                          [&](Value operand) { return read(operand, chain); });
    }
    FailureOr<View> view = identityView(value);
    for (Operation *viewOp : llvm::reverse(chain)) {
      view = applyViewOp(*view, viewOp);
      if (failed(view)) {
        return false;
      }
    }
    if (shape) {
      view = reshapeView(*view, *shape);
    }
    if (succeeded(view) && onLeaf) {
      onLeaf(*view);
    }
    return succeeded(view);
  }
};

} // namespace

bool kernels::isReadable(Value value, const Inputs &inputs,
                         std::optional<ArrayRef<int64_t>> shape,
                         llvm::function_ref<void(const View &)> onLeaf) {
  SmallVector<Operation *, 4> chain;
  return Reader{inputs, shape, onLeaf, {}}.read(value, chain);
}

int64_t kernels::evenRunOf(Value value, const Inputs &inputs) {
  int64_t even = elementsOf(value);
  isReadable(value, inputs, std::nullopt, [&](const View &view) {
    // The last of the merged dimensions is the shortest run.
    for (const ViewDim &dim : llvm::reverse(mergeDims(view).dims)) {
      if (dim.size != 1) {
        even = std::gcd(even, dim.size);
        break;
      }
    }
  });
  return even;
}
