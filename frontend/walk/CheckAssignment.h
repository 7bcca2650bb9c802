//===- CheckAssignment.h - shapes of x[mask] = value ----------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_CHECKASSIGNMENT_H
#define ZEROGRAPH_FRONTEND_WALK_CHECKASSIGNMENT_H

#include "frontend/walk/Op.h"

namespace zerograph::frontend {

/// Checks a node that selectMaskedAssignments made, once shapes are known:
/// throws ImportError unless each operand has one element or the shape of what
/// is assigned to. (A Where also takes one row, if its mask chooses whole
/// rows.) With any other shape the node would not compute what the file says.
void checkMaskedAssignment(Op &op);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_CHECKASSIGNMENT_H
