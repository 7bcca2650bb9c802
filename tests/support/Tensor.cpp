//===- Tensor.cpp - the values of the reference interpreter ---------------===//

#include "tests/support/Tensor.h"

#include "tests/support/Scalar.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::zg::testing;

Tensor mlir::zg::testing::filled(Type tensorType, double value) {
  auto type = cast<RankedTensorType>(tensorType);
  return {SmallVector<int64_t>(type.getShape()), type.getElementType(),
          std::vector<double>(type.getNumElements(), value)};
}

Tensor mlir::zg::testing::randomTensor(Type tensorType, unsigned seed,
                                       double low, double high) {
  Tensor tensor = filled(tensorType, 0);
  std::mt19937_64 engine(seed);
  for (double &value : tensor.values) {
    double unit = static_cast<double>(engine() >> 11) * 0x1p-53;
    value = low + (high - low) * unit;
    if (isa<IntegerType>(tensor.element)) {
      value = std::floor(value);
    }
  }
  return tensor;
}

Tensor mlir::zg::testing::fromAttribute(ElementsAttr attribute) {
  Tensor tensor = filled(attribute.getShapedType(), 0);
  auto dense = cast<DenseElementsAttr>(attribute);
  for (auto [value, element] :
       llvm::zip(tensor.values, dense.getValues<Attribute>())) {
    value = scalarValue(cast<TypedAttr>(element));
  }
  return tensor;
}

int64_t mlir::zg::testing::linear(ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [size, i] : llvm::zip(shape, index)) {
    position = position * size + i;
  }
  return position;
}
