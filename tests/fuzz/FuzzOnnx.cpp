//===- FuzzOnnx.cpp - bytes through the whole frontend --------------------===//

#include "frontend/Import.h"
#include "tests/fuzz/MemoryFile.h"
#include "tests/fuzz/Mutate.h"
#include "tests/fuzz/Require.h"

#include "google/protobuf/stubs/logging.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx/onnx_pb.h"
#include "runtime/io/GraphHash.h"

#include <string>

using namespace zerograph;
using fuzz::require;
using fuzz::requireReason;

ZG_FUZZ_MESSAGES(onnx::ModelProto)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  google::protobuf::LogSilencer silencer;
  fuzz::MemoryFile file(data, size);
  requireReason(graphHash(file.path(), {}).status());
  auto inputs = frontend::readInputs(file.path());
  if (!inputs.ok()) {
    requireReason(inputs.status());
    return 0;
  }
  frontend::ImportOptions options;
  options.allow_exporter_damage = true;
  options.require_loss = size % 2 == 0;
  for (const frontend::InputSignature &input : *inputs) {
    for (const frontend::InputDim &dim : input.dims) {
      if (dim.value < 0) {
        options.dims[dim.name] = 2;
      }
    }
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  frontend::ImportReport report;
  auto module = frontend::importModel(context, file.path(), options, &report);
  requireReason(module.status());
  // The importer verifies what it made; that this fails is no fault of a file.
  require(!absl::IsInternal(module.status()),
          std::string(module.status().message()));
  return 0;
}
