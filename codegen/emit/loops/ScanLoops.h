//===- ScanLoops.h - how running sums are computed ------------------------===//
//
// The tensor is [outer, length, inner]. A work item sums as many of the inner
// elements as there are lanes along the length, in order.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCANLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCANLOOPS_H

#include "codegen/emit/Body.h"

#include <optional>

namespace mlir::zg::emit {

/// A kernel of a scan. Row of its domain: outer and length together.
struct ScanLoops {
  nn::CumsumOp cumsum;
  int64_t outer = 1, length = 1, inner = 1;
  std::optional<Graph> graph;
  Node *operand = nullptr;

  /// Once. An error names the op that cannot be in the kernel.
  LogicalResult find(nn::KernelOp kernel);

  /// Work items where a body has so many lanes.
  int64_t items(int64_t width) const {
    return outer * ((inner + width - 1) / width);
  }
  void emitItem(Body &body, Value item);
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCANLOOPS_H
