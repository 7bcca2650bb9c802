//===- FuzzOnnx.cpp - bytes through the whole frontend --------------------===//

#include "frontend/Import.h"
#include "tests/fuzz/MemoryFile.h"
#include "tests/fuzz/Mutate.h"

#include "google/protobuf/stubs/logging.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx/onnx_pb.h"

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace zerograph;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  onnx::ModelProto model;
  return fuzz::mutateMessage(model, data, size, maxSize, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *dataA, size_t sizeA,
                                            const uint8_t *dataB, size_t sizeB,
                                            uint8_t *out, size_t maxSize,
                                            unsigned seed) {
  onnx::ModelProto a, b;
  return fuzz::crossMessages(a, b, dataA, sizeA, dataB, sizeB, out, maxSize,
                             seed);
}

/// A failure must say why, and what was imported must be valid.
static void require(bool good, const char *what) {
  if (!good) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  google::protobuf::LogSilencer silencer;
  fuzz::MemoryFile file(data, size);
  auto inputs = frontend::readInputs(file.path());
  if (!inputs.ok()) {
    require(!inputs.status().message().empty(), "an error without a message");
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
  require(module.ok() || !module.status().message().empty(),
          "an error without a message");
  // The importer verifies what it made; that this fails is no fault of a file.
  require(!absl::IsInternal(module.status()),
          "the imported program is not valid");
  return 0;
}
