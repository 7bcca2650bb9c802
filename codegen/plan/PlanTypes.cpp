//===- PlanTypes.cpp - types and shapes as a plan has them ----------------===//

#include "codegen/plan/PlanTypes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

plan::ElementType mlir::zg::planType(Type type) {
  if (type.isF32()) {
    return plan::F32;
  }
  if (type.isF64()) {
    return plan::F64;
  }
  if (type.isF16()) {
    return plan::F16;
  }
  if (type.isBF16()) {
    return plan::BF16;
  }
  if (type.isUnsignedInteger(8)) {
    return plan::U8;
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || !integer.isSignless()) {
    return plan::ELEMENT_INVALID;
  }
  switch (integer.getWidth()) {
  case 1:
    return plan::BOOL;
  case 8:
    return plan::I8;
  case 16:
    return plan::I16;
  case 32:
    return plan::I32;
  case 64:
    return plan::I64;
  default:
    return plan::ELEMENT_INVALID;
  }
}

plan::Matmul mlir::zg::planMatmul(const MatmulShape &shape) {
  plan::Matmul matmul;
  matmul.set_element_type(planType(shape.elementType));
  matmul.set_batch(shape.batch);
  matmul.set_m(shape.m);
  matmul.set_n(shape.n);
  matmul.set_k(shape.k);
  matmul.set_transpose_a(shape.transposeA);
  matmul.set_transpose_b(shape.transposeB);
  matmul.set_accumulate(shape.accumulate);
  matmul.set_bias(shape.bias);
  if (shape.resultType) {
    matmul.set_result_type(planType(shape.resultType));
  }
  return matmul;
}

plan::Convolution mlir::zg::planConvolution(const nn::Convolution &shape) {
  plan::Convolution convolution;
  switch (shape.kind) {
  case nn::ConvolutionKind::forward:
    convolution.set_kind(plan::CONVOLVE);
    break;
  case nn::ConvolutionKind::input:
    convolution.set_kind(plan::INPUT_GRADIENT);
    break;
  case nn::ConvolutionKind::weights:
    convolution.set_kind(plan::WEIGHTS_GRADIENT);
    break;
  }
  convolution.set_element_type(planType(shape.input.getElementType()));
  convolution.set_samples(shape.samples());
  convolution.set_groups(shape.groups);
  convolution.set_channels(shape.channels());
  convolution.set_features(shape.features());
  for (unsigned i = 0; i < shape.places(); ++i) {
    convolution.add_input(shape.input.getDimSize(i + 2));
    convolution.add_window(shape.weights.getDimSize(i + 2));
    convolution.add_output(shape.output.getDimSize(i + 2));
    convolution.add_strides(shape.strides[i]);
    convolution.add_low(shape.low[i]);
    convolution.add_dilations(shape.dilations[i]);
  }
  return convolution;
}
