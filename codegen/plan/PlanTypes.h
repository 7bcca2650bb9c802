//===- PlanTypes.h - types and shapes as a plan has them ------------------===//

#ifndef ZEROGRAPH_CODEGEN_PLAN_PLANTYPES_H
#define ZEROGRAPH_CODEGEN_PLAN_PLANTYPES_H

#include "passes/analysis/TargetInfo.h"
#include "runtime/plan/plan.pb.h"

namespace mlir::zg {

/// Returns the case of a plan's enum that is named as a case of the IR's is, or
/// as a program; the invalid one if none is.
template <typename Enum>
Enum planCase(StringRef name) {
  const auto *found =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByName(
          name.upper());
  return found ? Enum(found->number()) : Enum();
}

/// Returns ELEMENT_INVALID where the plan has no such type.
zerograph::plan::ElementType planType(Type elementType);

zerograph::plan::Matmul planMatmul(const MatmulShape &shape);

zerograph::plan::Convolution
planConvolution(const nn::Convolution &convolution);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_PLAN_PLANTYPES_H
