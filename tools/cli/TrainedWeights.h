//===- TrainedWeights.h - where the weights of `export` come from ---------===//

#ifndef ZEROGRAPH_TOOLS_CLI_TRAINEDWEIGHTS_H
#define ZEROGRAPH_TOOLS_CLI_TRAINEDWEIGHTS_H

#include "frontend/export/Export.h"
#include "runtime/io/Overwrite.h"

namespace zerograph {

/// The weights that `path` holds, and the files that are read for them: a
/// .safetensors file, as --save-weights writes it, or a checkpoint, or the
/// newest in a folder of them. `names`: what a file calls them, a map as
/// StateDictNames reads it; or empty. Nothing but headers is read now.
struct WeightSource {
  frontend::TrainedWeights weights;
  std::vector<NamedFile> files;
};
absl::StatusOr<WeightSource> openTrainedWeights(const std::string &path,
                                                const std::string &names);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_TRAINEDWEIGHTS_H
