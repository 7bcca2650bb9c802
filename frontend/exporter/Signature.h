//===- Signature.h - the metadata of PyTorch's exporter -------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_SIGNATURE_H
#define ZEROGRAPH_FRONTEND_EXPORTER_SIGNATURE_H

#include "frontend/graph/Graph.h"

namespace zerograph::frontend {

/// What PyTorch's exporter wrote about the program it exported.
struct ExporterSignature {
  bool present = false;
  /// Initializer name -> PARAMETER, BUFFER, CONSTANT_TENSOR, ...
  std::map<std::string, std::string> kinds;
  /// PARAMETERs without an initializer that some node was made from: the
  /// exporter's optimizer merged, dropped or renamed them.
  std::vector<std::string> damaged;
  /// What the TorchScript exporter merged or renamed.
  std::vector<std::string> merged;
  /// PARAMETERs without an initializer that no node mentions: another name of
  /// a tied parameter, or unused.
  std::vector<std::string> absent;
};

ExporterSignature readSignature(const Graph &graph);

/// Whether PyTorch's older exporter wrote the model: it leaves no signature.
bool isOfTorchScript(const onnx::ModelProto &model);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_SIGNATURE_H
