//===- Exported.h - models written from models ----------------------------===//

#ifndef ZEROGRAPH_TESTS_FRONTEND_EXPORTED_H
#define ZEROGRAPH_TESTS_FRONTEND_EXPORTED_H

#include "frontend/export/Export.h"
#include "tests/frontend/Fixture.h"

namespace zerograph::frontend::testing {

/// One export: its model and files, or its error.
struct Exported {
  absl::Status status;
  ExportedModel files;
  onnx::ModelProto model;

  const onnx::GraphProto &graph() const { return model.graph(); }
  const onnx::TensorProto &initializer(const std::string &name) const {
    for (const onnx::TensorProto &tensor : graph().initializer()) {
      if (tensor.name() == name) {
        return tensor;
      }
    }
    static const onnx::TensorProto none;
    return none;
  }
  std::vector<std::string> outputs() const { return names(graph().output()); }
  std::vector<std::string> inputs() const { return names(graph().input()); }
  std::vector<std::string> operators() const {
    std::vector<std::string> types;
    for (const auto &node : graph().node()) {
      types.push_back(node.op_type());
    }
    return types;
  }
  template <typename Field>
  static std::vector<std::string> names(const Field &field) {
    std::vector<std::string> result;
    for (const auto &each : field) {
      result.push_back(each.name());
    }
    return result;
  }
};

/// Exports a file to folder/out.onnx.
Exported exportFile(const std::string &path, const TrainedWeights &weights,
                    const ExportOptions &options = {});
/// Exports a model in ONNX's text format.
Exported exportText(const std::string &text, const TrainedWeights &weights,
                    const ExportOptions &options = {});

} // namespace zerograph::frontend::testing

#endif // ZEROGRAPH_TESTS_FRONTEND_EXPORTED_H
