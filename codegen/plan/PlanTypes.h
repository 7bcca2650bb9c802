//===- PlanTypes.h - types and shapes as a plan has them ------------------===//

#ifndef ZEROGRAPH_CODEGEN_PLAN_PLANTYPES_H
#define ZEROGRAPH_CODEGEN_PLAN_PLANTYPES_H

#include "passes/analysis/TargetInfo.h"
#include "runtime/plan/plan.pb.h"

namespace mlir::zg {

/// ELEMENT_INVALID where the plan has no such type.
zerograph::plan::ElementType planType(Type elementType);

zerograph::plan::Matmul planMatmul(const MatmulShape &shape);

zerograph::plan::Convolution
planConvolution(const nn::Convolution &convolution);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_PLAN_PLANTYPES_H
