//===- UpdateProgram.cpp - runs one optimizer's update --------------------===//

#include "tests/passes/differentiate/UpdateProgram.h"

#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;
using zerograph::options::Scalar;

namespace {

constexpr double kGradientParts = 4; // ranks * micro-batches

std::string emptyFunction(const OptimizerOptions &options, int64_t size) {
  std::string type = "tensor<" + std::to_string(size) + "xf64>";
  std::string text = "nn.program @update(%p: " + type + ", %g: " + type;
  for (StringRef name : optimizerStates(options)) {
    text += ", %" + name.str() + ": " + type;
  }
  return text + ") {\n  nn.return\n}";
}

/// The scalars as options/Optimizers.h defines them. They keep their precision:
/// the interpreter rounds nothing but conversions to narrower types.
double scalarAt(const OptimizerOptions &o, Scalar scalar, int step) {
  switch (scalar) {
  case Scalar::none:
    return 1 / kGradientParts; // the gradient's scale
  case Scalar::learning_rate:
    return o.lr;
  case Scalar::step_size:
    return o.lr / (1 - std::pow(o.beta1, step));
  case Scalar::bias_correction2_sqrt:
    return std::sqrt(1 - std::pow(o.beta2, step));
  case Scalar::decay:
    return 1 - o.lr * o.weight_decay;
  case Scalar::one_minus_beta1:
    return 1 - o.beta1;
  }
  return NAN;
}

} // namespace

UpdateProgram::UpdateProgram(const OptimizerOptions &options, int64_t size)
    : options(options), program(emptyFunction(options, size)) {
  zg::nn::ProgramOp func = program.function("update");
  Block &body = func.getBody().front();
  // A copy, since arguments are added.
  SmallVector<Value> states(body.getArguments().drop_front(2));
  OpBuilder builder(body.getTerminator());
  Type scalar = RankedTensorType::get(1, builder.getF32Type());
  auto argument = [&](Scalar one) -> Value {
    EXPECT_FALSE(llvm::is_contained(scalars, one)) << int(one);
    scalars.push_back(one);
    return body.addArgument(scalar, func.getLoc());
  };
  Value scale = argument(Scalar::none);
  Update update =
      buildUpdate(builder, func.getLoc(), options, body.getArgument(0),
                  body.getArgument(1), scale, states, [&](Scalar one) {
                    EXPECT_TRUE(options.kind->reads(one)) << int(one);
                    return argument(one);
                  });
  SmallVector<Value> results = {update.parameter};
  llvm::append_range(results, update.states);
  body.getTerminator()->setOperands(results);
  func.setFunctionType(builder.getFunctionType(body.getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  EXPECT_TRUE(succeeded(verify(program.getModule())));
}

Type UpdateProgram::type() {
  return program.function("update").getArgumentTypes()[0];
}

std::vector<Tensor> UpdateProgram::start(Tensor parameter) {
  std::vector<Tensor> persistent = {filled(type(), 0)};
  persistent[0].values = parameter.values;
  persistent.resize(1 + optimizerStates(options).size(), filled(type(), 0));
  return persistent;
}

std::vector<Tensor> UpdateProgram::step(std::vector<Tensor> persistent,
                                        Tensor gradient, int number) {
  zg::nn::ProgramOp func = program.function("update");
  gradient.shape = persistent[0].shape;
  gradient.element = persistent[0].element;
  for (double &value : gradient.values) {
    value *= kGradientParts;
  }
  persistent.insert(persistent.begin() + 1, gradient);
  for (Scalar scalar : scalars) {
    persistent.push_back(filled(func.getArgumentTypes()[persistent.size()],
                                scalarAt(options, scalar, number)));
  }
  return evaluate(func, persistent);
}
