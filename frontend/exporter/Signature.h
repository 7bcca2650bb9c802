//===- Signature.h - the metadata of PyTorch's exporter -------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_SIGNATURE_H
#define ZEROGRAPH_FRONTEND_EXPORTER_SIGNATURE_H

#include "frontend/graph/Graph.h"

namespace zerograph::frontend {

/// An initializer that the exporter computed of a parameter.
struct FoldedWeight {
  std::string name;
  std::string reader;    ///< the node that multiplies by it
  std::string parameter; ///< what it holds the values of; "": one of these,
  std::vector<std::string> candidates; ///< which the file does not hold
};

/// A parameter that the TorchScript exporter merged or renamed.
struct MergedParameter {
  std::string initializer; ///< that the file holds
  std::string what;        ///< for people
};

/// The notes that PyTorch's exporter wrote about the program it exported.
struct ExporterSignature {
  bool present = false;
  /// Initializer name -> PARAMETER, BUFFER, CONSTANT_TENSOR, ...
  std::map<std::string, std::string> kinds;
  /// PARAMETERs without an initializer that some node was made from: the
  /// exporter's optimizer merged, dropped or renamed them.
  std::vector<std::string> damaged;
  std::vector<MergedParameter> merged;
  /// PARAMETERs without an initializer that no node mentions: another name of
  /// a tied parameter, or unused.
  std::vector<std::string> absent;
  /// The weights that findFoldedWeights found.
  std::vector<FoldedWeight> folded;
  /// Other matrices that the exporter computed, most likely of no parameter.
  std::vector<FoldedWeight> computed;
};

ExporterSignature readSignature(const Graph &graph);

/// Returns the buffers that a forward pass changes: value of the graph ->
/// initializer, which has that value in the next pass.
std::map<std::string, std::string> changedBuffers(const Graph &graph);

/// Returns a graph's or a node's metadata of this key, or null.
template <typename Proto>
const std::string *metadata(const Proto &proto, const char *key) {
  for (const auto &entry : proto.metadata_props()) {
    if (entry.key() == key) {
      return &entry.value();
    }
  }
  return nullptr;
}

/// Returns what the exporter says a node was made from, as torch.fx writes it;
/// null if it says nothing.
const std::string *fxNodeOf(const onnx::NodeProto &node);

/// Returns whether PyTorch's older exporter wrote the model: it leaves no
/// signature.
bool isOfTorchScript(const onnx::ModelProto &model);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_SIGNATURE_H
