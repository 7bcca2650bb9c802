//===- Frame.h - the values of one run of the interpreter -----------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_FRAME_H
#define ZEROGRAPH_TESTS_SUPPORT_FRAME_H

#include "passes/ir/nn/NNDialect.h"
#include "tests/support/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::zg::testing {

/// The numbers that `nn.scalar` gives.
inline constexpr double kSeed = 0x1234567890ABC, kStep = 7, kSampleBase = 12;

/// Runs a block op by op; see Interpreter.h.
class Frame {
public:
  std::vector<Tensor> run(Block &block, ArrayRef<Tensor> arguments);

private:
  const Tensor &get(Value value) { return values.find(value)->second; }

  static Tensor empty(Value value) { return filled(value.getType(), 0); }

  /// Fills a result from a function of its index.
  template <typename Function>
  void fill(Value value, Function function) {
    Tensor tensor = empty(value);
    size_t position = 0;
    forEachIndex(tensor.shape, [&](ArrayRef<int64_t> index) {
      tensor.values[position++] = function(index);
    });
    values[value] = std::move(tensor);
  }

  /// Fills a result by reading `from` at a function of the result's index.
  template <typename Function>
  void view(Value value, Value from, Function indexOf) {
    const Tensor source = get(from);
    fill(value, [&](ArrayRef<int64_t> index) {
      return source.values[linear(source.shape, indexOf(index))];
    });
  }

  template <typename RandomOp>
  std::vector<double> numbersOf(RandomOp op, ArrayRef<int64_t> shapeOfAll);

  void execute(Operation *op);
  void run(nn::ConstantOp op);
  void run(nn::IotaOp op);
  void run(nn::UnaryOp op);
  void run(nn::BinaryOp op);
  void run(nn::CompareOp op);
  void run(nn::SelectOp op);
  void run(nn::ConvertOp op);
  void run(nn::ScalarOp op);
  void run(nn::BroadcastOp op);
  void run(nn::ReshapeOp op);
  void run(nn::TransposeOp op);
  void run(nn::SliceOp op);
  void run(nn::TakeRowsOp op);
  void run(nn::JoinRowsOp op);
  void run(nn::PadOp op);
  void run(nn::ConcatOp op);
  void run(nn::ReduceOp op);
  void run(nn::CumsumOp op);
  void run(nn::PoolOp op);
  void run(nn::GatherOp op);
  void run(nn::ScatterOp op);
  void run(nn::RandomUniformOp op);
  void run(nn::RandomLikeOp op);
  void run(nn::DropoutOp op);
  void run(nn::ConvolutionOp op);
  void run(nn::MatmulOp op);
  void run(nn::AttentionOp op);
  void run(nn::AttentionGradOp op);
  void run(nn::SoftmaxOp op);
  void run(nn::SoftmaxGradOp op);
  void run(nn::LayerNormOp op);
  void run(nn::LayerNormGradOp op);
  void run(nn::SoftmaxCrossEntropyOp op);
  void run(nn::SoftmaxCrossEntropyGradOp op);
  void run(nn::KernelOp op);

  llvm::DenseMap<Value, Tensor> values;
};

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_FRAME_H
