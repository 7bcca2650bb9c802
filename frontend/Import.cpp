//===- Import.cpp - the interface of the frontend -------------------------===//

#include "frontend/Import.h"

#include "frontend/base/Guarded.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Inputs.h"
#include "frontend/walk/Program.h"
#include "frontend/walk/Quirk.h"

#include "passes/ir/nn/NNDialect.h"

namespace zerograph::frontend {

/// The model in the file, with what its exporter wrote in a roundabout way
/// rewritten.
static std::unique_ptr<ModelFile> readModel(const std::string &path) {
  std::unique_ptr<ModelFile> file = loadModel(path);
  for (const Quirk *quirk : quirks()) {
    if (quirk->repair != nullptr) {
      quirk->repair(*file);
    }
  }
  checkShapes(file->graph());
  return file;
}

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const std::string &path,
            const ImportOptions &options, ImportReport *report) {
  context.loadDialect<mlir::zg::nn::NNDialect>();
  ImportReport own;
  return guarded(path, [&] {
    std::unique_ptr<ModelFile> file = readModel(path);
    return importProgram(context, *file, options,
                         report != nullptr ? *report : own);
  });
}

absl::StatusOr<std::vector<InputSignature>>
readInputs(const std::string &path) {
  return guarded(path, [&] {
    std::unique_ptr<ModelFile> file = readModel(path);
    Graph graph(file->graph());
    return signaturesOf(fedInputs(graph));
  });
}

absl::StatusOr<std::vector<int64_t>>
readVectorLengths(const std::string &path) {
  return guarded(path, [&] {
    std::unique_ptr<ModelFile> file = readModel(path);
    std::vector<int64_t> lengths;
    for (const onnx::TensorProto &tensor : file->graph().initializer()) {
      bool real = tensor.data_type() == onnx::TensorProto::FLOAT ||
                  tensor.data_type() == onnx::TensorProto::DOUBLE ||
                  tensor.data_type() == onnx::TensorProto::FLOAT16 ||
                  tensor.data_type() == onnx::TensorProto::BFLOAT16;
      if (real && tensor.dims_size() == 1 && tensor.dims(0) > 1) {
        lengths.push_back(tensor.dims(0));
      }
    }
    return lengths;
  });
}

} // namespace zerograph::frontend
