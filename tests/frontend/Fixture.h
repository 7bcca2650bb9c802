//===- Fixture.h - importing models from files and from text --------------===//

#ifndef ZEROGRAPH_TESTS_FRONTEND_FIXTURE_H
#define ZEROGRAPH_TESTS_FRONTEND_FIXTURE_H

#include "frontend/Import.h"
#include "passes/ir/nn/NNDialect.h"

#include "onnx/onnx_pb.h"
#include "gtest/gtest.h"

namespace zerograph::frontend::testing {

/// One import: its module or its error, and its report.
struct Imported {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  absl::Status status;
  ImportReport report;

  mlir::zg::nn::ProgramOp function() const;
  /// The whole program as text.
  std::string text() const;
  /// Number of ops with this name ("nn.gather").
  int count(const std::string &name) const;
  bool has(const std::string &part) const {
    return text().find(part) != std::string::npos;
  }
  std::string error() const { return std::string(status.message()); }
  mlir::zg::nn::InputAttr input(unsigned i) const;
  /// The parameter attribute of that name, or null.
  mlir::zg::nn::ParameterAttr parameter(const std::string &name) const;
  /// Returns whether the parameter is there and trained.
  bool isTrained(const std::string &name) const;
};

Imported importFile(const std::string &path, const ImportOptions &options = {});

/// Parses textual ONNX. "<ir_version: 10, opset_import: [\"\" : 18]>" is put
/// before a text that begins with a graph.
onnx::ModelProto parse(const std::string &text);
/// Writes the model into a folder of its own; returns the path.
std::string write(const onnx::ModelProto &model,
                  const std::string &name = "model.onnx");
std::string writeBytes(const std::string &bytes,
                       const std::string &name = "model.onnx");
/// parse, write, importFile; without require_loss unless an output is "loss".
Imported import(const std::string &text, ImportOptions options = {});

/// The import failed, with all `parts` in its error.
void expectRefused(const Imported &imported,
                   const std::vector<std::string> &parts);
/// Expects that a model in ONNX's text format is refused.
void expectRefused(const std::string &text,
                   const std::vector<std::string> &parts,
                   const ImportOptions &options = {});

/// With --allow-exporter-damage the file is imported, with one warning.
void expectAllowed(const std::string &path);

/// A model with one float parameter, "w", for damaging.
extern const char *const kSmall;

/// Path of a model of the repository.
std::string model(const std::string &name);

} // namespace zerograph::frontend::testing

#endif // ZEROGRAPH_TESTS_FRONTEND_FIXTURE_H
