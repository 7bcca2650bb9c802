//===- RowSweeps.cpp - how often a kernel goes over its rows --------------===//

#include "codegen/emit/loops/RowSweeps.h"

#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

/// With reductions the domain is theirs; without, the columns are chosen once
/// all accesses are known.
LogicalResult RowSweeps::findDomain(nn::KernelOp kernel) {
  int64_t largest = 1, cols = 1;
  for (Value result : kernel.getResults()) {
    if (nn::elementsOf(result) > largest) {
      largest = nn::elementsOf(result);
      cols = cast<RankedTensorType>(result.getType()).getShape().back();
    }
  }
  domain = {largest / cols, cols};
  for (auto reduce : kernel.getBody().front().getOps<nn::ReduceOp>()) {
    auto type = cast<RankedTensorType>(reduce.getOperand().getType());
    bool reduced = false;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (type.getDimSize(d) == 1) {
        continue;
      }
      if (llvm::is_contained(reduce.getDims(), d)) {
        reduced = true;
      } else if (reduced) {
        return reduce.emitError("'")
               << nn::nameOf(reduce.getLoc())
               << "': a kernel of rows reduces its last dimensions alone";
      }
    }
    int64_t rows = nn::elementsOf(reduce.getResult());
    Domain own{rows, nn::elementsOf(reduce.getOperand()) / rows};
    if (hasReductions && (own.rows != domain.rows || own.cols != domain.cols)) {
      return reduce.emitError("'")
             << nn::nameOf(reduce.getLoc()) << "': reduces " << own.rows
             << " rows of " << own.cols << ", other reductions of its kernel "
             << domain.rows << " of " << domain.cols;
    }
    domain = own;
    hasReductions = true;
  }
  return success();
}

LogicalResult RowSweeps::addResults(nn::KernelOp kernel,
                                    SmallVector<RowResult> &full) {
  graph.emplace(domain, /*reducesColumns=*/true);
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  int64_t elements = domain.rows * domain.cols;
  // Rows that lie apart are those of the domain (`nn-pad-rows`).
  bool choose =
      !hasReductions && llvm::all_of(kernel.getResultTypes(), nn::isDense);
  for (auto [number, value] : llvm::enumerate(yield.getOperands())) {
    Extent extent = Extent::Full;
    if (nn::elementsOf(value) != elements) {
      if (nn::elementsOf(value) != domain.rows) {
        return kernel.emitError("'")
               << nn::nameOf(kernel.getLoc()) << "': result " << number
               << " has " << nn::elementsOf(value) << " elements; a kernel of "
               << domain.rows << " rows of " << domain.cols
               << " has results of " << elements << " or " << domain.rows;
      }
      extent = Extent::Row;
      choose = false;
    }
    FailureOr<Node *> node = graph->add(value, extent);
    if (failed(node)) {
      return failure();
    }
    (extent == Extent::Full ? full : rowResults)
        .push_back({static_cast<unsigned>(number), *node});
  }
  if (choose) {
    graph->chooseColumns();
    domain = graph->getDomain();
  }
  for (RowResult &result : full) {
    if (failed(setStride(kernel, result, domain.cols))) {
      return failure();
    }
  }
  return graph->resolve();
}

void RowSweeps::findSweeps(ArrayRef<RowResult> full) {
  unsigned last = 0;
  for (Node &node : graph->getNodes()) {
    if (node.kind == Node::Kind::Reduce) {
      last = std::max(last, node.depth - 1);
    }
  }
  for (const RowResult &result : full) {
    last = std::max(last, result.node->depth);
  }
  if (!full.empty() || hasReductions) {
    sweeps.resize(last + 1);
    llvm::append_range(sweeps.back().stores, full);
  }
  for (Node &node : graph->getNodes()) {
    if (node.kind == Node::Kind::Reduce) {
      sweeps[node.depth - 1].reductions.push_back(&node);
    }
  }
}

int64_t RowSweeps::unrolled(const Sweep &sweep, int64_t chunks) {
  bool isLong = sweep.reductions.empty() && graph->getNodes().size() > 40;
  return isLong ? std::max<int64_t>(chunks / 2, 1) : chunks;
}

SmallVector<Node *> Sweep::computed() const {
  SmallVector<Node *> nodes;
  for (Node *reduction : reductions) {
    nodes.push_back(reduction->operands[0]);
  }
  for (const RowResult &result : stores) {
    nodes.push_back(result.node);
  }
  return nodes;
}

int64_t RowSweeps::sharedValues() const {
  llvm::DenseSet<Node *> computed, shared;
  for (const Sweep &sweep : sweeps) {
    SmallVector<Node *> stack = sweep.computed(), found;
    llvm::DenseSet<Node *> visited;
    while (!stack.empty()) {
      Node *node = stack.pop_back_val();
      if (node->level != Level::Column || !visited.insert(node).second) {
        continue;
      }
      if (computed.contains(node)) {
        shared.insert(node);
        continue;
      }
      found.push_back(node);
      llvm::append_range(stack, node->operands);
    }
    computed.insert(found.begin(), found.end());
  }
  return int64_t(shared.size());
}

LogicalResult RowSweeps::find(nn::KernelOp kernel) {
  SmallVector<RowResult> full;
  if (failed(findDomain(kernel)) || failed(addResults(kernel, full))) {
    return failure();
  }
  findSweeps(full);
  return success();
}
