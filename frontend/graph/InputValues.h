//===- InputValues.h - inputs that are bound while compiling --------------===//

#ifndef ZEROGRAPH_FRONTEND_GRAPH_INPUTVALUES_H
#define ZEROGRAPH_FRONTEND_GRAPH_INPUTVALUES_H

#include "frontend/base/HostTensor.h"
#include "frontend/graph/Graph.h"

#include <map>
#include <string>

namespace zerograph::frontend {

/// The inputs of `graph` that `values` names, as constants of their own types
/// and shapes. Throws one ImportError with everything that is wrong: a name
/// that no input has, an input of more than one element, a text that is no
/// value of the input's type.
std::map<std::string, HostTensor>
readInputValues(const Graph &graph,
                const std::map<std::string, std::string> &values);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_GRAPH_INPUTVALUES_H
