//===- Evaluate.h - what an imported program computes ---------------------===//

#ifndef ZEROGRAPH_TESTS_FRONTEND_EVALUATE_H
#define ZEROGRAPH_TESTS_FRONTEND_EVALUATE_H

#include "frontend/emit/Emitter.h"
#include "frontend/file/ModelFile.h"
#include "tests/frontend/Fixture.h"
#include "tests/support/Interpreter.h"

namespace zerograph::frontend::testing {

using Numbers = std::vector<double>;

/// The values of an ONNX tensor, in its own type.
inline mlir::zg::testing::Tensor toTensor(const onnx::TensorProto &proto,
                                          mlir::MLIRContext *context) {
  HostTensor host = readTensor(proto, nullptr);
  mlir::zg::testing::Tensor tensor;
  tensor.shape.assign(host.shape().begin(), host.shape().end());
  tensor.element = elementTypeOf(context, host.type());
  for (int64_t i = 0; i < host.size(); ++i) {
    tensor.values.push_back(host.floatAt(i));
  }
  return tensor;
}

/// All results of the program, run by the interpreter on `values`, given in
/// the order of its arguments.
inline std::vector<Numbers> runAll(const Imported &imported,
                                   const std::vector<Numbers> &values) {
  EXPECT_TRUE(imported.status.ok()) << imported.error();
  if (!imported.status.ok()) {
    return {{}};
  }
  llvm::SmallVector<mlir::zg::testing::Tensor> arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    auto type = mlir::cast<mlir::RankedTensorType>(
        imported.function().getArgumentTypes()[i]);
    arguments.push_back({llvm::SmallVector<int64_t>(type.getShape()),
                         type.getElementType(), values[i]});
  }
  std::vector<Numbers> results;
  for (const auto &tensor :
       mlir::zg::testing::evaluate(imported.function(), arguments)) {
    results.push_back(tensor.values);
  }
  return results;
}

/// The first result.
inline Numbers run(const Imported &imported,
                   const std::vector<Numbers> &values) {
  return runAll(imported, values)[0];
}

} // namespace zerograph::frontend::testing

#endif // ZEROGRAPH_TESTS_FRONTEND_EVALUATE_H
