//===- Types.cpp - bytes keep the type they were written with -------------===//
//
// A slice holds one value, so all who say of what type it is say the same: its
// declaration and the steps that touch it; and a copy takes the type along.
// Working space has no type.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/SliceTypes.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {

void checkTypes(const VerifierContext &context, Findings &findings) {
  sliceTypes(context.plan, [&](const std::string &difference) {
    findings.problems.add(finding::kWrongType, difference);
  });
}

} // namespace zerograph::verify
