//===- Groups.h - gradients of elements that come together ----------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_GROUPS_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_GROUPS_H

#include "passes/differentiate/rules/Rule.h"

#include <functional>

namespace mlir::zg::nn {

/// The groups of an op whose every result element is the extremum or the
/// product of a group of operand elements: what is reduced, or scattered to one
/// place.
struct Groups {
  struct Member {
    unsigned operand; ///< its number, for Gradient
    Value value;
  };
  SmallVector<Member, 2> members;
  /// The groups' elements, brought together; one value a member.
  std::function<Value(ReduceKind, ArrayRef<Value>)> combine;
  /// Gives what each element's group has, for the elements of member `i`.
  std::function<Value(Value, unsigned)> spread;
};

/// Elements equal to the extremum share its gradient evenly, as in PyTorch's
/// amax, amin and scatter_reduce.
void setExtremumGradients(Gradient &g, const Groups &groups, Value extremum);

/// Each gets the product of the others, also where one or several are zero.
void setProductGradients(Gradient &g, const Groups &groups);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_RULES_GROUPS_H
