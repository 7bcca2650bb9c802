//===- ChangedBuffers.cpp - buffers that a forward pass changes -----------===//

#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/quirks/Quirks.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace zerograph::frontend {

/// Returns whether a buffer is a statistic of normalizations, which in training
/// mode are their outputs, and which nothing else reads.
static bool isStatistic(const Graph &graph, const std::string &buffer) {
  auto users = graph.users.find(buffer);
  return users == graph.users.end() ||
         std::all_of(users->second.begin(), users->second.end(), [&](int n) {
           return graph.proto.node(n).op_type() == "BatchNormalization";
         });
}

/// Finds buffers that a forward pass changes and the loss depends on. The file
/// has no node of the change where only the next pass reads the buffer.
static std::vector<Finding> findChanged(const TrainedModel &model) {
  const Graph &graph = model.graph;
  std::set<std::string> changed;
  for (const auto &[value, kind, buffer] : signatureEntries(graph)) {
    if (kind == "BUFFER_MUTATION" && graph.initializers.count(buffer) != 0) {
      changed.insert(buffer);
    }
  }
  if (changed.empty()) {
    return {};
  }
  std::set<std::string> origins = graph.originsOf(model.loss);
  std::vector<std::string> found;
  for (const std::string &buffer : changed) {
    if (origins.count(buffer) != 0 && !isStatistic(graph, buffer)) {
      found.push_back(absl::StrCat("'", buffer, "'"));
    }
  }
  if (found.empty()) {
    return {};
  }
  return {
      {absl::StrCat("each forward pass changes buffers that the loss "
                    "depends on: ",
                    listOf(found, 8)),
       remedy("They would stay as they are. Make them inputs of the model, "
              "and change them outside; of a spectral norm, remove it before "
              "you export (torch.nn.utils.remove_spectral_norm, or "
              "torch.nn.utils.parametrize.remove_parametrizations of the newer "
              "one), and the weight is trained as it is.",
              "the buffers are not changed")}};
}

const Quirk kChangedBuffers = {.find = findChanged};

} // namespace zerograph::frontend
