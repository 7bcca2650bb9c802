//===- ElementLoops.h - how elements of a kernel are computed -------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_ELEMENTLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_ELEMENTLOOPS_H

#include "codegen/emit/Body.h"
#include "codegen/emit/loops/RowSweeps.h"

namespace mlir::zg::emit {

/// A kernel over rows that is elementwise.
class ElementLoops {
public:
  ElementLoops(Body &body, RowSweeps &sweeps) : body(body), sweeps(sweeps) {}

  /// The row of the columns that follow.
  void enterRow(Value row);
  /// `chunks` chunks from `col` on, each under the mask.
  void emit(Value col, int64_t chunks, Value mask);

private:
  Body &body;
  RowSweeps &sweeps;
  Value row;
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_ELEMENTLOOPS_H
