//===- Parameters.h - which initializers are parameters, and whose --------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_PARAMETERS_H
#define ZEROGRAPH_FRONTEND_EXPORTER_PARAMETERS_H

#include "frontend/Import.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"

#include "passes/ir/nn/NNDialect.h"

namespace zerograph::frontend {

/// What to do about an LSTM with proj_size.
inline constexpr char kProjectionAdvice[] =
    "ONNX has no such LSTM, and PyTorch's exporter leaves the projection's "
    "weights (weight_hr_l0) out. Use proj_size=0, with a Linear behind the "
    "LSTM if its output is to be smaller; or, to keep the model as it is, "
    "write the cell out in plain operations, in a Python loop over the steps";

/// An initializer that becomes an argument of the program.
struct Parameter {
  const onnx::TensorProto *tensor = nullptr;
  bool trainable = false;
  std::string reason;
  std::string module; ///< dotted path; empty: unknown
  mlir::zg::nn::InitKind init = mlir::zg::nn::InitKind::normal;
};

/// Decides for every initializer; those not returned are constants. In order:
/// --freeze and --train, the exporter's signature, then heuristics over the
/// float initializers that a gradient of `loss` reaches. Throws where a
/// pattern matches nothing, or where the exporter damaged the parameters.
/// `loss` empty: nothing is trained.
std::vector<Parameter> decideParameters(const ModelFile &file,
                                        const Graph &graph,
                                        const std::string &loss,
                                        const ImportOptions &options,
                                        ImportReport &report);

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

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_PARAMETERS_H
