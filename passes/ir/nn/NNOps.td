//===- NNOps.td - the ops of the nn dialect -------------------------------===//

#ifndef ZEROGRAPH_NN_OPS
#define ZEROGRAPH_NN_OPS

include "passes/ir/nn/NNElementwiseOps.td"
include "passes/ir/nn/NNShapeOps.td"
include "passes/ir/nn/NNReduceOps.td"
include "passes/ir/nn/NNCompositeOps.td"
include "passes/ir/nn/NNAttentionOps.td"
include "passes/ir/nn/NNKernelOps.td"
include "passes/ir/nn/NNProgramOps.td"

#endif // ZEROGRAPH_NN_OPS
