//===- Exported.cpp - models written from models --------------------------===//

#include "tests/frontend/Exported.h"

namespace zerograph::frontend::testing {

Exported exportFile(const std::string &path, const TrainedWeights &weights,
                    const ExportOptions &options) {
  Exported exported;
  auto made = exportModel(path, "folder/out.onnx", weights, options);
  exported.status = made.status();
  if (made.ok()) {
    exported.files = *std::move(made);
    EXPECT_TRUE(exported.model.ParseFromString(exported.files.bytes));
  }
  return exported;
}

Exported exportText(const std::string &text, const TrainedWeights &weights,
                    const ExportOptions &options) {
  return exportFile(write(parse(text)), weights, options);
}

} // namespace zerograph::frontend::testing
