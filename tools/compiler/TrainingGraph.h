//===- TrainingGraph.h - from a model file to its gradient graph ----------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_TRAININGGRAPH_H
#define ZEROGRAPH_TOOLS_COMPILER_TRAININGGRAPH_H

#include "frontend/export/Export.h"
#include "tools/compiler/Compile.h"

namespace zerograph {

/// A model that computes loss and gradients of another one.
struct TrainingGraph {
  frontend::ExportedModel model;
  /// The parameters' values, of the model that it was made from.
  frontend::TrainedWeights weights;
  std::vector<std::string> warnings;
  std::vector<std::string> notes; ///< worth knowing, nothing is wrong
};

/// The gradient graph of `options.model`, for the file `options.output`. Of the
/// options, those of the model and of its loss count.
absl::StatusOr<TrainingGraph> makeTrainingGraph(const CompileOptions &options);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_TRAININGGRAPH_H
