//===- ChangedBuffers.cpp - buffers that a forward pass changes -----------===//

#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/quirks/Quirks.h"

#include "runtime/base/Text.h"

namespace zerograph::frontend {

/// Finds buffers that a forward pass changes and the loss depends on. Those of
/// a normalization in training mode are its outputs.
static std::vector<Finding> findChanged(const TrainedModel &model) {
  const Graph &graph = model.graph;
  std::map<std::string, std::string> changed; // value -> buffer
  for (const auto &[value, kind, buffer] : signatureEntries(graph)) {
    if (kind == "BUFFER_MUTATION" && graph.producer.count(value) != 0 &&
        graph.initializers.count(buffer) != 0) {
      changed[value] = buffer;
    }
  }
  if (changed.empty()) {
    return {};
  }
  std::set<std::string> origins = graph.originsOf(model.loss);
  std::vector<std::string> found;
  for (const auto &[value, buffer] : changed) {
    const onnx::NodeProto &node = graph.proto.node(graph.producer.at(value));
    if (origins.count(buffer) != 0 && node.op_type() != "BatchNormalization") {
      found.push_back(
          absl::StrCat("'", buffer, "' (node '", nodeName(node), "')"));
    }
  }
  if (found.empty()) {
    return {};
  }
  return {{absl::StrCat("each forward pass changes buffers that the loss "
                        "depends on, as a spectral norm does: ",
                        listOf(found, 8)),
           remedy("They would stay as they are, and gradients would flow "
                  "through what PyTorch computes without. Remove what changes "
                  "them before you export "
                  "(torch.nn.utils.parametrize.remove_parametrizations), or "
                  "make them inputs of the model.",
                  "the buffers are not changed")}};
}

const Quirk kChangedBuffers = {.find = findChanged};

} // namespace zerograph::frontend
