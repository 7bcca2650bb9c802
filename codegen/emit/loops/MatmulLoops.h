//===- MatmulLoops.h - how elements of a product are computed -------------===//
//
// For what no library serves, or may not. Each element is a chain of fma in the
// order of k, in the elements' own type, to which `into` or the bias is added.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_MATMULLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_MATMULLOOPS_H

#include "codegen/emit/Body.h"

namespace mlir::zg::emit {

/// Rows are those of the result, all batches together.
struct MatmulLoops {
  /// Fails on the op where no code can be generated for its elements.
  static FailureOr<MatmulLoops> of(nn::MatmulOp matmul);

  Type element;
  int64_t rows, m, n, k;
  bool transposeA, transposeB;
  /// Operand 2 is added: a number an element of the result, or a column.
  bool accumulate, bias;

  /// Elements of lhs and rhs that the products of row `row` begin with, and of
  /// the result.
  struct RowStart {
    Value lhs, rhs, result;
  };
  RowStart enterRow(Body &body, Value row) const;

  /// `chunks` times as many columns of a row as there are lanes.
  void emitColumns(Body &body, const RowStart &row, Value col, int64_t chunks,
                   Value mask) const;

private:
  Value loadRhs(Body &body, const RowStart &row, Value i, Value col,
                Value mask) const;
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_MATMULLOOPS_H
