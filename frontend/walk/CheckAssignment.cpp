//===- CheckAssignment.cpp - shapes of x[mask] = value --------------------===//

#include "frontend/walk/CheckAssignment.h"

namespace zerograph::frontend {

/// Returns whether a value of shape `row` is one row of x, and the mask chooses
/// whole rows: the last dims are x's in `row`, and 1 in `mask`.
static bool isRowOf(Shape row, Shape mask, const Shape &x) {
  if (row.size() > x.size() || mask.size() > x.size()) {
    return false;
  }
  row.insert(row.begin(), x.size() - row.size(), 1);
  mask.insert(mask.begin(), x.size() - mask.size(), 1);
  size_t begin = 0;
  while (begin < row.size() && row[begin] == 1) {
    ++begin;
  }
  for (size_t dim = begin; dim < row.size(); ++dim) {
    if (row[dim] != x[dim] || mask[dim] != 1) {
      return false;
    }
  }
  return true;
}

void checkMaskedAssignment(Op &op) {
  bool isWhere = op.proto().op_type() == "Where";
  Shape whole = op.shape(isWhere ? 2 : 0);
  if (isWhere && broadcastShapes(op.shape(0), whole) != whole) {
    fail("a mask of shape ", shapeText(op.shape(0)),
         " assigns within the smaller shape ", shapeText(whole));
  }
  for (int i = 1; i < op.inputCount() && !isWhere; ++i) {
    whole = broadcastShapes(whole, op.shape(i));
  }
  for (int i = isWhere ? 1 : 0; i < op.inputCount(); ++i) {
    if (op.shape(i) != whole && elementCount(op.shape(i)) != 1 &&
        !(isWhere && isRowOf(op.shape(i), op.shape(0), whole))) {
      fail("assigns, where a mask says so, values of shape ",
           shapeText(op.shape(i)), " within shape ", shapeText(whole),
           "; only one number, one row by a mask of rows, or values of the "
           "whole shape can be assigned by a mask that data decides");
    }
  }
}

} // namespace zerograph::frontend
