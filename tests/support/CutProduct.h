//===- CutProduct.h - a product by the parts that it is cut into ----------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_CUTPRODUCT_H
#define ZEROGRAPH_TESTS_SUPPORT_CUTPRODUCT_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph::testing {

/// Returns a product of `type`, F32 or BF16, whose rows end at no multiple of
/// 16 bytes and begin at multiples of 64.
plan::Matmul oddProduct(plan::ElementType type, bool transpose_a,
                        bool transpose_b);

/// Computes all its parts by cuBLASLt on the first GPU, or the emulated one.
/// Returns the largest difference from float64, relative to the largest number.
/// An error where a part writes between rows.
absl::StatusOr<double> errorOfParts(const plan::Matmul &matmul);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_CUTPRODUCT_H
