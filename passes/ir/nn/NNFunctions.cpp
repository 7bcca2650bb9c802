//===- NNFunctions.cpp - what is known of each elementwise function -------===//

#include "passes/ir/nn/NNFunctions.h"

using namespace mlir;
using namespace mlir::zg;

// The generated look-ups ask whether an unsigned number is below 0.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
namespace mlir::zg::nn {
namespace {
#define GET_UnaryFunctions_IMPL
#define GET_BinaryFunctions_IMPL
#include "passes/ir/nn/NNFunctions.inc"
} // namespace
} // namespace mlir::zg::nn
#pragma GCC diagnostic pop

bool nn::FunctionFacts::accepts(Type element) const {
  switch (takes) {
  case Takes::Floats:
    return isa<FloatType>(element);
  case Takes::Numbers:
    return !element.isInteger(1);
  case Takes::Bools:
    return element.isInteger(1);
  }
  llvm_unreachable("no other elements");
}

const nn::FunctionFacts &nn::factsOf(UnaryKind kind) {
  return *lookupUnary(static_cast<uint8_t>(kind));
}

const nn::FunctionFacts &nn::factsOf(BinaryKind kind) {
  return *lookupBinary(static_cast<uint8_t>(kind));
}
