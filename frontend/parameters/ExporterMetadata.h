//===- ExporterMetadata.h - what PyTorch's exporters say of a model -------===//

#ifndef ZEROGRAPH_FRONTEND_PARAMETERS_EXPORTERMETADATA_H
#define ZEROGRAPH_FRONTEND_PARAMETERS_EXPORTERMETADATA_H

#include "frontend/graph/Graph.h"

#include "passes/ir/nn/Locations.h"

namespace zerograph::frontend {

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

/// Returns whether PyTorch's older exporter wrote the model: it leaves no
/// signature.
bool isOfTorchScript(const onnx::ModelProto &model);

/// Returns whether the newer exporter's list of parameters is there.
bool hasSignature(const onnx::GraphProto &graph);

/// A line "p_fc_weight: PARAMETER target='fc.weight'" of the list that the
/// newer exporter writes.
struct SignatureEntry {
  std::string placeholder, kind, target;
};

/// Returns the lines of that list; none: the file has no list.
std::vector<SignatureEntry> signatureEntries(const Graph &graph);

/// The parameters that the newer exporter lists.
struct ExporterSignature {
  bool present = false;
  /// Initializer name -> PARAMETER, BUFFER, CONSTANT_TENSOR, ...
  std::map<std::string, std::string> kinds;
  /// PARAMETERs without an initializer that some node was made from: the
  /// exporter's optimizer merged, dropped or renamed them.
  std::vector<std::string> damaged;
  /// PARAMETERs without an initializer that no node mentions: another name of
  /// a tied parameter, or unused.
  std::vector<std::string> absent;

  /// Returns whether the exporter lists the name as this kind.
  bool lists(const std::string &name, const char *kind) const {
    auto found = kinds.find(name);
    return found != kinds.end() && found->second == kind;
  }
};

ExporterSignature readSignature(const Graph &graph);

/// Returns what the exporter says a node was made from, as torch.fx writes it;
/// null if it says nothing.
const std::string *fxNodeOf(const onnx::NodeProto &node);

/// The call of PyTorch that a node was made from, as torch.fx writes it.
struct FxCall {
  std::string target;                 ///< "aten.embedding.default"
  std::vector<std::string> arguments; ///< by position: "%ids", "1", "[0, 1]"

  /// Returns whether it calls this operator of aten, in any overload.
  bool isOf(const std::string &name) const;
  /// Argument i as a number; `otherwise` if there is none, or if it is not one.
  int64_t number(size_t i, int64_t otherwise) const;
  /// Returns whether argument i is given and true.
  bool isTrue(size_t i) const;
};

/// Returns the call that the newer exporter wrote into the node, else an empty
/// one.
FxCall fxCallOf(const onnx::NodeProto &node);

/// Returns the module and the line that PyTorch's exporter says a node was made
/// by. The newer one says both in the node's metadata. The older one says the
/// line if it is called with verbose=True, and puts the module into the node's
/// name, where it stays. The line is the innermost that is not of PyTorch
/// itself.
mlir::zg::nn::CodePlace placeOf(const onnx::NodeProto &node);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_PARAMETERS_EXPORTERMETADATA_H
