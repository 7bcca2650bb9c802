//===- Loss.cpp - which output is minimized -------------------------------===//

#include "passes/differentiate/Loss.h"

using namespace mlir;
using namespace mlir::zg::nn;

StringRef mlir::zg::nn::outputName(ProgramOp func, unsigned result) {
  auto name = func.getResultAttrOfType<StringAttr>(result, kOutputAttr);
  return name ? name.getValue() : StringRef();
}

bool mlir::zg::nn::isBesideLoss(ProgramOp func, unsigned result) {
  return func.getResultAttr(result, kLossCountAttr) ||
         func.getResultAttr(result, kMetricAttr);
}

namespace {

bool isFloatScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType()) &&
         (tensor.getRank() == 0 ||
          (tensor.getRank() == 1 && tensor.getDimSize(0) == 1));
}

/// Returns whether it is neither a running statistic nor a count nor a metric.
bool isOutput(ProgramOp func, unsigned result) {
  return !func.getResultAttr(result, kNextValueAttr) &&
         !isBesideLoss(func, result);
}

/// The outputs as "'a' tensor<f32>, 'b' tensor<4xf32>".
std::string listOutputs(ProgramOp func) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto outputs =
      llvm::make_filter_range(llvm::seq<unsigned>(0, func.getNumResults()),
                              [&](unsigned i) { return isOutput(func, i); });
  llvm::interleaveComma(outputs, stream, [&](unsigned i) {
    stream << "'" << outputName(func, i) << "' " << func.getResultTypes()[i];
  });
  return text;
}

} // namespace

FailureOr<unsigned> mlir::zg::nn::findLoss(ProgramOp func, StringRef wanted) {
  SmallVector<unsigned> scalars;
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    if (!isOutput(func, i)) {
      continue;
    }
    bool named = outputName(func, i) == (wanted.empty() ? "loss" : wanted);
    bool scalar = isFloatScalar(func.getResultTypes()[i]);
    if (named && scalar) {
      return i;
    }
    if (named && !wanted.empty()) {
      return emitError(func.getLoc(), "output '")
             << wanted << "' has type " << func.getResultTypes()[i]
             << "; a loss is one floating-point number, so reduce it in the "
                "model or choose another output";
    }
    if (scalar) {
      scalars.push_back(i);
    }
  }
  if (wanted.empty() && scalars.size() == 1) {
    return scalars.front();
  }
  auto error = emitError(func.getLoc());
  if (!wanted.empty()) {
    error << "no output is named '" << wanted << "'";
  } else if (scalars.empty()) {
    error << "no output is a floating-point scalar, so there is no loss to "
             "differentiate";
  } else {
    error << "several outputs are floating-point scalars; name the loss "
             "(--loss-output)";
  }
  error << "; outputs are " << listOutputs(func);
  return failure();
}
