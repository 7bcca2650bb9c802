//===- FindLoss.h - which output of a model is its loss -------------------===//

#ifndef ZEROGRAPH_FRONTEND_PARAMETERS_FINDLOSS_H
#define ZEROGRAPH_FRONTEND_PARAMETERS_FINDLOSS_H

#include "frontend/graph/Graph.h"

namespace zerograph::frontend {

/// The output `wanted`; where that is empty the one that PyTorch's exporter
/// marked, the one named 'loss', or the only one that is a single float. Empty:
/// no output can be one. None is chosen that `metrics` names, unless it is
/// called so. Throws ImportError if there is no output `wanted`, or several
/// could be the loss.
std::string findLoss(const Graph &graph, const std::string &wanted,
                     const std::vector<std::string> &metrics = {});

/// Names of all outputs, "a, b".
std::string outputNames(const Graph &graph);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_PARAMETERS_FINDLOSS_H
