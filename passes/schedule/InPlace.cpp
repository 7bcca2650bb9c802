//===- InPlace.cpp - kernels that may write where they read ---------------===//

#include "passes/schedule/InPlace.h"

#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

/// Returns whether element i of two tensors has the same size and place.
bool lieAlike(Value a, Value b) {
  auto first = cast<RankedTensorType>(a.getType());
  auto second = cast<RankedTensorType>(b.getType());
  // An encoding sets rows apart.
  return first == second ||
         (first.getElementType() == second.getElementType() &&
          nn::elementsOf(a) == nn::elementsOf(b) && !first.getEncoding() &&
          !second.getEncoding());
}

/// Returns whether a broadcast repeats the numbers of rows along their row.
bool staysInRow(nn::BroadcastOp op) {
  ArrayRef<int64_t> from = op.getOperand().getType().getShape();
  return !from.empty() &&
         from.drop_back() == op.getType().getShape().drop_back();
}

/// Returns whether a number of a row, which a reduction made, reaches that row
/// alone.
bool isOfOneRow(Value value, DenseSet<Value> &visited) {
  if (!visited.insert(value).second) {
    return true;
  }
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto broadcast = dyn_cast<nn::BroadcastOp>(user)) {
      return staysInRow(broadcast);
    }
    return isa<nn::YieldOp>(user) ||
           (nn::mayOverwrite(user) && isOfOneRow(user->getResult(0), visited));
  });
}

/// Returns whether element i of the value reaches results at place i alone,
/// whichever way it goes, or by a number of its row. All of these are known
/// before results as wide as rows are stored, in the last sweep over the row
/// (codegen/emit/loops/RowSweeps.h).
bool keepsPlaces(Value value, DenseSet<Value> &visited) {
  if (!visited.insert(value).second) {
    return true;
  }
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<nn::ReduceOp>(user)) {
      return isOfOneRow(user->getResult(0), visited);
    }
    return isa<nn::YieldOp>(user) ||
           (nn::mayOverwrite(user) && keepsPlaces(user->getResult(0), visited));
  });
}

/// Returns whether the value, perhaps reshaped, has that one use and no other.
bool usedOnlyBy(Value value, OpOperand &use) {
  while (value.hasOneUse()) {
    OpOperand &only = *value.getUses().begin();
    if (&only == &use) {
      return true;
    }
    auto reshape = dyn_cast<nn::ReshapeOp>(only.getOwner());
    if (!reshape) {
      return false;
    }
    value = reshape.getResult();
  }
  return false;
}

} // namespace

OpOperand *mlir::zg::sched::sharedOperand(Operation *op) {
  if (auto product = dyn_cast<nn::MatmulOp>(op)) {
    return product.getInto() ? &*product.getIntoMutable().begin() : nullptr;
  }
  auto kernel = dyn_cast<nn::KernelOp>(op);
  if (!kernel || kernel.getForm() != nn::KernelForm::scatter) {
    return nullptr;
  }
  Operation *yield = kernel.getBody().front().getTerminator();
  auto scatter = yield->getOperand(0).getDefiningOp<nn::ScatterOp>();
  if (!scatter || !scatter.getInto()) {
    return nullptr;
  }
  OpOperand &into = *scatter.getIntoMutable().begin();
  auto table = dyn_cast<BlockArgument>(nn::stripReshapes(into.get()));
  // Rows that are made of the table would be read after it has changed.
  if (!table || !usedOnlyBy(table, into)) {
    return nullptr;
  }
  return &kernel->getOpOperand(table.getArgNumber());
}

bool mlir::zg::sched::canShareStorage(Operation *op, unsigned operand,
                                      unsigned result) {
  if (OpOperand *shared = sharedOperand(op);
      shared && shared->getOperandNumber() == operand) {
    return true;
  }
  auto kernel = dyn_cast<nn::KernelOp>(op);
  bool overRows = kernel && kernel.getForm() == nn::KernelForm::rows;
  bool overColumns = kernel && kernel.getForm() == nn::KernelForm::columns;
  if (!(overRows || overColumns) ||
      !lieAlike(kernel.getOperand(operand), kernel.getResult(result))) {
    return false;
  }
  Block &body = kernel.getBody().front();
  int64_t size = nn::elementsOf(kernel.getResult(result));
  for (Operation &op : body.without_terminator()) {
    if (nn::isPlainView(&op) || nn::isLiteral(&op)) {
      continue;
    }
    if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
      // The rows are those of the kernel, whatever shape the result has.
      auto type = reduce.getOperand().getType();
      int64_t reduced = type.getRank() - (overRows ? 1 : 2);
      if (type.getNumElements() != size ||
          reduce.getDims() != ArrayRef<int64_t>{reduced}) {
        return false;
      }
      continue;
    }
    // A result of fewer elements than the kernel goes over is stored earlier.
    if (!nn::isElementwise(&op) || nn::elementsOf(op.getResult(0)) > size) {
      return false;
    }
  }
  DenseSet<Value> visited;
  return keepsPlaces(body.getArgument(operand), visited);
}
