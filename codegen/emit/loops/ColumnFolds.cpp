//===- ColumnFolds.cpp - what a kernel over columns reduces ---------------===//

#include "codegen/emit/loops/ColumnFolds.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

/// [runs, reduced, columns] of a reduction, dimensions of size 1 left out;
/// nothing where what it reduces does not lie together.
static std::optional<Domain> domainOf(nn::ReduceOp reduce) {
  auto type = cast<RankedTensorType>(reduce.getOperand().getType());
  Domain domain;
  int64_t reduced = 1;
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    if (size == 1) {
      continue;
    }
    if (llvm::is_contained(reduce.getDims(), static_cast<int64_t>(d))) {
      if (domain.cols != 1) {
        return std::nullopt;
      }
      reduced *= size;
    } else if (reduced == 1) {
      domain.runs *= size;
    } else {
      domain.cols *= size;
    }
  }
  if (reduced == 1) {
    // Nothing to add up: what is kept are columns of one row.
    std::swap(domain.runs, domain.cols);
  }
  domain.rows = domain.runs * reduced;
  return domain;
}

LogicalResult ColumnFolds::findDomain(nn::KernelOp kernel) {
  bool found = false;
  for (auto reduce : kernel.getBody().front().getOps<nn::ReduceOp>()) {
    std::optional<Domain> own = domainOf(reduce);
    if (!own ||
        (found && (own->rows != domain.rows || own->cols != domain.cols ||
                   own->runs != domain.runs))) {
      return reduce.emitError("'")
             << nn::nameOf(reduce.getLoc())
             << "': all reductions of a kernel of columns reduce the same "
                "neighbouring dimensions of one shape";
    }
    domain = *own;
    found = true;
  }
  if (!found) {
    return kernel.emitError("'") << nn::nameOf(kernel.getLoc())
                                 << "': a kernel of columns reduces something";
  }
  return success();
}

LogicalResult ColumnFolds::findResults(nn::KernelOp kernel) {
  Operation *yield = kernel.getBody().front().getTerminator();
  int64_t all = domain.rows * domain.cols;
  for (auto [number, value] : llvm::enumerate(yield->getOperands())) {
    int64_t elements = nn::elementsOf(value);
    if (elements != columns() && elements != all) {
      return kernel.emitError("'")
             << nn::nameOf(kernel.getLoc()) << "': a kernel of " << columns()
             << " columns has results of " << columns() << " elements, or of "
             << all << ", not of " << elements;
    }
    bool whole = elements != columns();
    FailureOr<Node *> node =
        graph->add(value, whole ? Extent::Full : Extent::Column);
    if (failed(node)) {
      return failure();
    }
    RowResult result{unsigned(number), *node};
    if (whole && failed(setStride(kernel, result, domain.cols))) {
      return failure();
    }
    (whole ? stored : results).push_back(result);
  }
  return success();
}

LogicalResult ColumnFolds::findReductions(nn::KernelOp kernel) {
  for (Node &node : graph->getNodes()) {
    if (domain.runs > 1 && node.extent == Extent::Column && node.view.base) {
      return kernel.emitError("'")
             << nn::nameOf(kernel.getLoc())
             << "': a kernel that reduces a dimension between others reads "
                "nothing after the reduction";
    }
    if (node.kind == Node::Kind::Reduce) {
      if (node.depth > 1) {
        return kernel.emitError("'")
               << nn::nameOf(kernel.getLoc())
               << "': a reduction over rows cannot use another's result";
      }
      reductions.push_back(&node);
    }
  }
  return success();
}

LogicalResult ColumnFolds::find(nn::KernelOp kernel) {
  if (failed(findDomain(kernel))) {
    return failure();
  }
  graph.emplace(domain, /*reducesColumns=*/false);
  return failed(findResults(kernel)) || failed(graph->resolve())
             ? failure()
             : findReductions(kernel);
}
