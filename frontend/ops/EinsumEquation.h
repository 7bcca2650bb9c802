//===- EinsumEquation.h - the equation of an Einsum -----------------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_EINSUMEQUATION_H
#define ZEROGRAPH_FRONTEND_OPS_EINSUMEQUATION_H

#include "frontend/ops/Ops.h"

namespace zerograph::frontend {

/// The labels of each input's dimensions, and those of the result's. The
/// dimensions that an ellipsis stands for are labelled '0', '1', ... from the
/// last to the first.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

/// Reads the attribute `equation`; fails if it does not fit the inputs.
Equation equationOf(Op &op);

inline bool hasLabel(const std::string &labels, char label) {
  return labels.find(label) != std::string::npos;
}

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_EINSUMEQUATION_H
