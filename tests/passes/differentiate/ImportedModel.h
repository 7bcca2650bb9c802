//===- ImportedModel.h - @micro of a model of the repository --------------===//

#ifndef ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_IMPORTEDMODEL_H
#define ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_IMPORTEDMODEL_H

#include "runtime/io/TensorFile.h"
#include "tests/support/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <nlohmann/json.hpp>

namespace mlir::zg::testing {

/// A model of `models/`, imported, differentiated and brought to the form that
/// kernels are made of, with what PyTorch computed on it. What goes wrong is a
/// test failure; then `ok()` is false.
class ImportedModel {
public:
  ImportedModel(const std::string &folder, const std::string &file,
                const std::map<std::string, int64_t> &dims);

  bool ok() const { return static_cast<bool>(micro); }
  nn::ProgramOp function() const { return micro; }
  const nlohmann::json &reference() const { return references; }
  std::string path(const std::string &file) const;

  /// The arguments of @micro: the weights in the model's file, and zeros for
  /// the inputs.
  std::vector<Tensor> weights() const;
  /// Puts batch `number` of batches.safetensors into the inputs.
  void setBatch(std::vector<Tensor> &arguments, int number) const;
  /// The name of the parameter that result `result` is the gradient of; empty
  /// where it is a next value.
  std::string gradientName(unsigned result) const;
  /// The name of the parameter whose next value it is, or empty.
  std::string nextValueName(unsigned result) const;
  /// The number of the argument of a parameter.
  unsigned argumentOf(const std::string &parameter) const;
  /// A tied weight may have another name in the file than in the reference.
  std::string referenceName(const std::string &parameter) const;

private:
  std::string folder;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  nn::ProgramOp micro;
  nlohmann::json references;
};

/// Fills a tensor from plain little-endian bytes of its type.
void readTensor(const zerograph::File &file, uint64_t offset, Tensor &tensor);
/// Fills a tensor from a named array, beginning at its element `first`.
void readTensor(const zerograph::TensorFile &arrays, const std::string &name,
                Tensor &tensor, int64_t first = 0);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_PASSES_DIFFERENTIATE_IMPORTEDMODEL_H
