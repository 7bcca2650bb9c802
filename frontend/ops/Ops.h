//===- Ops.h - the tables of operators ------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_OPS_H
#define ZEROGRAPH_FRONTEND_OPS_OPS_H

#include "frontend/ops/Fold.h"
#include "frontend/walk/Op.h"

#include "llvm/ADT/ArrayRef.h"

#include <set>
#include <string>

namespace zerograph::frontend {

#define FAMILY(name) llvm::ArrayRef<OpDef> name##Ops();
#include "frontend/ops/Families.def"
#undef FAMILY

/// The operators that some table has, in some version.
std::set<std::string> operatorNames();

/// Fails unless the inputs first to last hold one number per channel.
void checkPerChannel(Op &op, int first, int last, int64_t channels);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_OPS_H
