//===- Tensor.h - the values of the reference interpreter -----------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_TENSOR_H
#define ZEROGRAPH_TESTS_SUPPORT_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <vector>

namespace mlir::zg::testing {

/// A tensor in row-major order. Integers are held exactly up to 2^53; i1 is 0
/// or 1. Floats are doubles whatever the element type.
struct Tensor {
  SmallVector<int64_t> shape;
  Type element;
  std::vector<double> values;

  RankedTensorType type() const {
    return RankedTensorType::get(shape, element);
  }
};

/// Every element is `value`.
Tensor filled(Type tensorType, double value);
/// Deterministic numbers in [low, high), whole for integer types.
Tensor randomTensor(Type tensorType, unsigned seed, double low, double high);
/// The value of a constant.
Tensor fromAttribute(ElementsAttr attribute);

/// The place of an index in row-major order.
int64_t linear(ArrayRef<int64_t> shape, ArrayRef<int64_t> index);

/// Calls `visit(index)` for every index of a shape in row-major order.
template <typename Visit>
void forEachIndex(ArrayRef<int64_t> shape, Visit visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t n = ShapedType::getNumElements(shape); n > 0; --n) {
    visit(ArrayRef<int64_t>(index));
    for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
      if (++index[dim] < shape[dim]) {
        break;
      }
      index[dim] = 0;
    }
  }
}

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_TENSOR_H
