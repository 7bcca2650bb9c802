//===- Ops.h - the tables of operators ------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_OPS_H
#define ZEROGRAPH_FRONTEND_OPS_OPS_H

#include "frontend/ops/Fold.h"
#include "frontend/walk/Op.h"

#include "llvm/ADT/ArrayRef.h"

#include <set>
#include <string>

namespace zerograph::frontend {

// One table per family of operators; findOp searches them all.
llvm::ArrayRef<OpDef> unaryOps();
llvm::ArrayRef<OpDef> binaryOps();
llvm::ArrayRef<OpDef> variadicOps();
llvm::ArrayRef<OpDef> trigonometryOps();
llvm::ArrayRef<OpDef> activationOps();
llvm::ArrayRef<OpDef> logicOps();
llvm::ArrayRef<OpDef> bitsOps();
llvm::ArrayRef<OpDef> castOps();
llvm::ArrayRef<OpDef> shapeOps();
llvm::ArrayRef<OpDef> expandOps();
llvm::ArrayRef<OpDef> sliceOps();
llvm::ArrayRef<OpDef> padOps();
llvm::ArrayRef<OpDef> triluOps();
llvm::ArrayRef<OpDef> constantOps();
llvm::ArrayRef<OpDef> reduceOps();
llvm::ArrayRef<OpDef> cumSumOps();
llvm::ArrayRef<OpDef> matmulOps();
llvm::ArrayRef<OpDef> einsumOps();
llvm::ArrayRef<OpDef> normOps();
llvm::ArrayRef<OpDef> batchNormOps();
llvm::ArrayRef<OpDef> lossOps();
llvm::ArrayRef<OpDef> gatherOps();
llvm::ArrayRef<OpDef> selectOps();
llvm::ArrayRef<OpDef> scatterOps();
llvm::ArrayRef<OpDef> orderOps();
llvm::ArrayRef<OpDef> sequenceOps();
llvm::ArrayRef<OpDef> convolutionOps();
llvm::ArrayRef<OpDef> poolOps();
llvm::ArrayRef<OpDef> imageOps();
llvm::ArrayRef<OpDef> col2ImOps();
llvm::ArrayRef<OpDef> resizeOps();
llvm::ArrayRef<OpDef> gridSampleOps();
llvm::ArrayRef<OpDef> randomOps();
llvm::ArrayRef<OpDef> recurrentOps();
llvm::ArrayRef<OpDef> controlFlowOps();
llvm::ArrayRef<OpDef> scanOps();

/// The operators that some table has, in some version.
std::set<std::string> operatorNames();

/// Fails unless the inputs first to last hold one number per channel.
void checkPerChannel(Op &op, int first, int last, int64_t channels);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_OPS_H
