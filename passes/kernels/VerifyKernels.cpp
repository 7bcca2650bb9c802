//===- VerifyKernels.cpp - checks what nn-form-kernels promises -----------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/PackedGradients.h"
#include "passes/kernels/Members.h"
#include "passes/kernels/Passes.h"
#include "passes/kernels/Reading.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

InFlightDiagnostic report(Operation *op) {
  return op->emitError("'") << nn::nameOf(op->getLoc()) << "': ";
}

StringRef formOf(nn::KernelOp kernel) {
  return nn::stringifyKernelForm(kernel.getForm());
}

bool isMember(Operation *op) {
  return isElementwise(op) || isa<nn::ReduceOp>(op);
}

/// Returns whether views move what an attention makes, as a packed gradient,
/// not what the kernel reads.
bool isWritten(Value value) {
  Operation *root = trace(value).root.getDefiningOp();
  return root && (isa<nn::ConcatOp>(root) ||
                  nn::ownForm(root) == nn::KernelForm::attention);
}

/// Verifies what the kernels of every form obey.
LogicalResult verifyCommon(nn::KernelOp kernel) {
  LogicalResult result = success();
  for (Operation &op : kernel.getBody().front()) {
    std::optional<nn::KernelForm> own = nn::ownForm(&op);
    bool packs =
        isa<nn::ConcatOp>(op) && kernel.getForm() == nn::KernelForm::attention;
    if (!isMember(&op) && !nn::isView(&op) && !own && !isLiteral(&op) &&
        !isa<nn::YieldOp>(op) && !packs) {
      result = report(&op) << op.getName() << " has no place in a kernel";
      continue;
    }
    if (own && *own != kernel.getForm()) {
      result = report(&op) << op.getName() << " in a kernel of the form '"
                           << formOf(kernel) << "'";
    }
    if (auto scatter = dyn_cast<nn::ScatterOp>(op)) {
      Value table = scatter.getInto();
      if (table && !isa<BlockArgument>(stripReshapes(table))) {
        result = report(&op) << "goes into a table that its own kernel makes";
      }
    }
    if (nn::isView(&op) && !isWritten(op.getResult(0)) &&
        !isReadable(op.getResult(0), Inputs())) {
      result = report(&op) << "a chain of views without one address formula";
    }
    if (auto gather = dyn_cast<nn::GatherOp>(op)) {
      Operation *index = trace(gather.getIndices()).root.getDefiningOp();
      if (index && !isLiteral(index)) {
        result = report(&op)
                 << "the indices of a gather are computed in its own kernel";
      }
    }
  }
  return result;
}

/// A reduction of one dimension, counted from the last one, and the same for
/// all reductions of a kernel.
LogicalResult verifyReductions(nn::KernelOp kernel, int64_t fromLast) {
  LogicalResult result = success();
  std::optional<ArrayRef<int64_t>> shape;
  kernel.getBody().walk([&](nn::ReduceOp reduce) {
    ArrayRef<int64_t> own = shapeOf(reduce.getOperand());
    int64_t rank = own.size();
    if (reduce.getDims().size() != 1 ||
        reduce.getDims().front() != rank - fromLast) {
      result = report(reduce)
               << "a kernel of the form '" << formOf(kernel)
               << "' reduces dimension " << rank - fromLast << " of " << own
               << ", not [" << reduce.getDims() << "]";
    } else if (shape && own != *shape) {
      result = report(reduce) << "reductions of one kernel run over one shape, "
                              << *shape << ", not " << own;
    }
    shape = own;
  });
  return result;
}

LogicalResult verifyRows(nn::KernelOp kernel) {
  LogicalResult result = verifyReductions(kernel, 1);
  if (failed(result)) {
    return result;
  }
  auto [elements, columns] = rowSpaceOf(kernel);
  for (Value value : kernel.getBody().front().getTerminator()->getOperands()) {
    int64_t own = elementsOf(value);
    if (own != elements && (columns == 0 || own * columns != elements)) {
      result = report(kernel) << "a result of " << own
                              << " elements is neither the whole space of "
                              << elements << " nor one element a row";
    }
  }
  return result;
}

LogicalResult verifyColumns(nn::KernelOp kernel) {
  LogicalResult result = verifyReductions(kernel, 2);
  if (kernel.getBody().front().getOps<nn::ReduceOp>().empty()) {
    result = report(kernel)
             << "a kernel of the form 'columns' has no reduction";
  }
  for (Value value : kernel.getBody().front().getTerminator()->getOperands()) {
    if (!value.getDefiningOp<nn::ReduceOp>() &&
        elementsOf(value) != rowSpaceOf(kernel).elements) {
      result = report(kernel) << "a result of the form 'columns' is neither a "
                                 "reduction nor the whole space";
    }
  }
  kernel.getBody().walk([&](nn::ReduceOp reduce) {
    for (Operation *user : reduce->getUsers()) {
      if (!isa<nn::YieldOp>(user)) {
        result = report(user) << "computes with a reduction of its own kernel "
                                 "of the form 'columns'";
      }
    }
  });
  return result;
}

LogicalResult verifyAlone(nn::KernelOp kernel) {
  unsigned count = 0;
  LogicalResult result = success();
  Operation *yield = kernel.getBody().front().getTerminator();
  for (Operation &op : kernel.getBody().front()) {
    count += nn::ownForm(&op).has_value();
    if (isa<nn::ReduceOp>(op)) {
      result = report(&op) << "a reduction beside the one op of the form '"
                           << formOf(kernel) << "'";
    }
  }
  // A kernel may yield packed gradients first; other results are in their
  // order.
  SmallVector<OpResult> yielded;
  bool packs = false;
  for (Value value : yield->getOperands()) {
    auto convert = value.getDefiningOp<nn::ConvertOp>();
    if (nn::ConcatOp concat = nn::concatUnder(value)) {
      packs = true;
      for (const auto &place : nn::packedGradients(concat).places) {
        yielded.push_back(place.gradient);
      }
    } else if (convert && kernel.getForm() == nn::KernelForm::attention) {
      yielded.push_back(dyn_cast<OpResult>(convert.getOperand()));
    } else {
      yielded.push_back(dyn_cast<OpResult>(value));
    }
  }
  bool all = !yielded.empty() && llvm::all_of(yielded, [](OpResult result) {
    return result && nn::ownForm(result.getOwner());
  });
  if (all) {
    SmallVector<OpResult> results(yielded.front().getOwner()->getResults());
    all = packs ? std::is_permutation(results.begin(), results.end(),
                                      yielded.begin(), yielded.end())
                : results == yielded;
  }
  if (count != 1 || !all) {
    result = report(kernel) << "the form '" << formOf(kernel)
                            << "' has one op and its results";
  }
  return result;
}

LogicalResult verifyForm(nn::KernelOp kernel) {
  switch (kernel.getForm()) {
  case nn::KernelForm::rows:
    return verifyRows(kernel);
  case nn::KernelForm::columns:
    return verifyColumns(kernel);
  case nn::KernelForm::scan:
  case nn::KernelForm::scatter:
  case nn::KernelForm::attention:
    return verifyAlone(kernel);
  }
  llvm_unreachable("every form has a case");
}

LogicalResult verifyKernel(nn::KernelOp kernel) {
  LogicalResult common = verifyCommon(kernel);
  LogicalResult form = verifyForm(kernel);
  return success(succeeded(common) && succeeded(form));
}

struct VerifyKernelsPass : nn::impl::VerifyKernelsBase<VerifyKernelsPass> {
  void runOnOperation() override {
    bool failures = false;
    for (Block &block : getOperation().getBody()) {
      for (Operation &op : block) {
        if (auto kernel = dyn_cast<nn::KernelOp>(op)) {
          failures |= failed(verifyKernel(kernel));
        } else if (!isOutside(&op) && !isa<nn::ReshapeOp>(op) &&
                   (op.use_empty() || !llvm::all_of(op.getUses(), isFilled))) {
          report(&op) << op.getName() << " is in no kernel";
          failures = true;
        }
      }
    }
    if (failures) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
