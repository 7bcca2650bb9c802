//===- Probabilities.h - probabilities that pass for scores ---------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_PROBABILITIES_H
#define ZEROGRAPH_FRONTEND_WALK_PROBABILITIES_H

#include "frontend/emit/AddedLoss.h"
#include "frontend/graph/Graph.h"

#include <string>

namespace zerograph::frontend {

/// Throws ImportError where the value that an added loss is of holds what a
/// softmax or a sigmoid made: what PyTorch would compute of that is no loss
/// that anybody wants, and nothing would show it. The error names the scores.
void checkScores(const Graph &graph, const std::string &name,
                 const AddedLoss &wanted);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_PROBABILITIES_H
