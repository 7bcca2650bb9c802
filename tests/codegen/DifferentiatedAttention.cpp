//===- DifferentiatedAttention.cpp - attention and its gradient -----------===//

#include "tests/codegen/DifferentiatedAttention.h"

#include "mlir/Transforms/Passes.h"
#include "passes/kernels/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// Returns a type whose rows are longer.
std::string widened(const std::string &type, int64_t elements) {
  size_t end = type.rfind('x'), begin = type.rfind('x', end - 1) + 1;
  int64_t size = std::stoll(type.substr(begin, end - begin));
  return type.substr(0, begin) + std::to_string(size + elements) +
         type.substr(end);
}

/// Returns the text of an attention.
std::string programOf(const AttentionCase &attention) {
  std::string arguments, slices, extras;
  for (const auto &[name, type] : attention.arguments()) {
    if (name == "mask" || name == "bias") {
      extras += ", %" + name + ": tensor<" + type + ">";
      continue;
    }
    std::string wide = widened(type, attention.between);
    arguments += "%all_" + name + ": tensor<" + wide + ">, ";
    slices += "%" + name + " = nn.slice %all_" + name + " [0, 0, 0, " +
              std::to_string(attention.between) +
              "] step [1, 1, 1, 1] : tensor<" + wide + "> -> tensor<" + type +
              ">\n";
  }
  return "nn.program @f(" + arguments + "%dout: tensor<" + attention.outType() +
         ">" + extras + ") {\n" + slices + attention.text() + "nn.return\n}";
}

} // namespace

Value mlir::zg::testing::packRows(nn::NNBuilder &b, ArrayRef<Value> gradients) {
  SmallVector<Value> parts;
  for (Value gradient : gradients) {
    ArrayRef<int64_t> shape = nn::shapeOf(gradient);
    parts.push_back(
        b.reshape(gradient, {shape[0], shape[1], shape[2] * shape[3]}));
  }
  return b.concat(parts, 2);
}

Value mlir::zg::testing::packHeads(nn::NNBuilder &b,
                                   ArrayRef<Value> gradients) {
  return b.concat(gradients, 3);
}

Value mlir::zg::testing::packPermuted(nn::NNBuilder &b,
                                      ArrayRef<Value> gradients) {
  SmallVector<Value> parts;
  for (Value gradient : gradients) {
    Value turned = b.transpose(gradient, {0, 2, 1, 3});
    SmallVector<int64_t> shape = {1};
    llvm::append_range(shape, nn::shapeOf(turned));
    parts.push_back(b.reshape(turned, shape));
  }
  return b.transpose(b.concat(parts, 0), {1, 3, 0, 2, 4});
}

Value mlir::zg::testing::packSequence(nn::NNBuilder &b,
                                      ArrayRef<Value> gradients) {
  SmallVector<Value> parts;
  for (Value gradient : gradients) {
    Value turned = b.transpose(gradient, {1, 0, 2, 3});
    ArrayRef<int64_t> shape = nn::shapeOf(turned);
    parts.push_back(
        b.reshape(turned, {1, shape[0], shape[1], shape[2] * shape[3]}));
  }
  Value all = b.transpose(b.concat(parts, 0), {1, 2, 0, 3});
  ArrayRef<int64_t> shape = nn::shapeOf(all);
  return b.reshape(all, {shape[0] * shape[1], shape[2] * shape[3]});
}

Differentiated::Differentiated(const AttentionCase &attention, unsigned packed,
                               Pack pack)
    : program(programOf(attention)), packed(packed), pack(pack) {
  if (!program.ok()) {
    ADD_FAILURE() << program.diagnostics();
    return;
  }
  bool hasBias = attention.arguments().back().first == "bias";
  function().walk([&](nn::AttentionOp op) { addGradient(op, hasBias); });
}

void Differentiated::run(std::unique_ptr<Pass> pass) {
  EXPECT_TRUE(succeeded(program.run(std::move(pass))))
      << program.diagnostics() << program.text();
}

void Differentiated::addGradient(nn::AttentionOp op, bool hasBias) {
  Block &body = function().getBody().front();
  OpBuilder builder(body.getTerminator());
  SmallVector<Value> gradients(op->getNumOperands());
  unsigned bias = hasBias ? op->getNumOperands() - 1 : 0;
  auto isWanted = [&](unsigned operand) {
    return operand < 3 || operand == bias;
  };
  EXPECT_TRUE(succeeded(
      cast<nn::DifferentiableOpInterface>(op.getOperation())
          .buildGradient(builder, {body.getArgument(3), Value(), Value()},
                         isWanted, gradients)));
  SmallVector<Value> results(op.getResults());
  llvm::append_range(results, ArrayRef(gradients).take_front(3 - packed));
  if (packed > 0) {
    nn::NNBuilder b(builder, op.getLoc());
    results.push_back(pack(b, ArrayRef(gradients).slice(3 - packed, packed)));
  }
  if (hasBias) {
    results.push_back(gradients[bias]);
  }
  body.getTerminator()->setOperands(results);
  function().setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), ValueRange(results).getTypes()));
}

namespace {

class KeepsAttention : public PlainTargetInfo {
public:
  bool keeps(nn::Composite composite, RankedTensorType) const override {
    return composite == nn::Composite::attention;
  }
};

} // namespace

void mlir::zg::testing::formKernels(Differentiated &program, bool whole) {
  static const KeepsAttention keeps;
  program.run(nn::createDecompose(whole ? keeps : plainTarget()));
  program.run(nn::createFormAttention());
  program.run(nn::createSimplifyMatmul());
  program.run(createCanonicalizerPass());
  program.run(createCSEPass());
  program.run(nn::createFormKernels());
  program.run(nn::createElideCopies());
  program.run(createCSEPass());
  program.run(nn::createVerifyKernels());
}
