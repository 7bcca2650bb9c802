//===- Findings.h - ids of the faults of plans ----------------------------===//
//
// The line of a finding begins with its id and a colon: "race: step 3 ...".
// Users quote and search for ids; tests name them, and not the text after.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_FINDINGS_H
#define ZEROGRAPH_RUNTIME_PLAN_FINDINGS_H

#include "absl/strings/string_view.h"

namespace zerograph::finding {

// verifyPlan: the order of steps, and the bytes that they share.
inline constexpr absl::string_view kRace = "race";
inline constexpr absl::string_view kMissingWait = "missing wait";
inline constexpr absl::string_view kOrderOfCollectives = "order of collectives";
inline constexpr absl::string_view kWrongStream = "wrong stream";
inline constexpr absl::string_view kWrongSpace = "wrong space";
inline constexpr absl::string_view kWrongType = "wrong type";
inline constexpr absl::string_view kSharedBytes = "shared bytes";
inline constexpr absl::string_view kReadBeforeItIsWritten =
    "read before it is written";
inline constexpr absl::string_view kCopiedInTwice = "copied in twice";
inline constexpr absl::string_view kLateInput = "late input";
inline constexpr absl::string_view kOverwritten = "overwritten";
inline constexpr absl::string_view kWrongSlot = "wrong slot";

// verifyPlan: values that ranks compute together.
inline constexpr absl::string_view kMissingGather = "missing gather";
inline constexpr absl::string_view kWrongGather = "wrong gather";
inline constexpr absl::string_view kSharedStatistics = "shared statistics";
inline constexpr absl::string_view kWrongCopy = "wrong copy";
inline constexpr absl::string_view kEarlyCopy = "early copy";
inline constexpr absl::string_view kWrongUnit = "wrong unit";
inline constexpr absl::string_view kWrongGroup = "wrong group";
inline constexpr absl::string_view kWrongGradients = "wrong gradients";
inline constexpr absl::string_view kNotLinear = "not linear";
inline constexpr absl::string_view kLateGradients = "late gradients";
inline constexpr absl::string_view kLostGradients = "lost gradients";
inline constexpr absl::string_view kUnusedGradients = "unused gradients";
inline constexpr absl::string_view kGradientsNotReduced =
    "gradients not reduced";
inline constexpr absl::string_view kGradientsNotZeroed = "gradients not zeroed";
inline constexpr absl::string_view kMissingReduction = "missing reduction";
inline constexpr absl::string_view kDoubledReduction = "doubled reduction";
inline constexpr absl::string_view kDoubledZeroing = "doubled zeroing";
inline constexpr absl::string_view kMissingUpdate = "missing update";
inline constexpr absl::string_view kDoubledUpdate = "doubled update";
inline constexpr absl::string_view kEarlyUpdate = "early update";
inline constexpr absl::string_view kLateUpdate = "late update";
inline constexpr absl::string_view kFrozenState = "frozen state";
inline constexpr absl::string_view kEvaluationThatTrains =
    "evaluation that trains";
inline constexpr absl::string_view kNoAgreement = "no agreement";

// findWaste.
inline constexpr absl::string_view kUselessWait = "useless wait";
inline constexpr absl::string_view kNeedlessGather = "needless gather";
inline constexpr absl::string_view kNeedlessReduction = "needless reduction";
inline constexpr absl::string_view kNeedlessStep = "needless step";
inline constexpr absl::string_view kUnusedMemory = "unused memory";

// validatePlan: the part of the plan that is unsound.
inline constexpr absl::string_view kInvalidHeader = "invalid header";
inline constexpr absl::string_view kInvalidArena = "invalid arena";
inline constexpr absl::string_view kInvalidStream = "invalid stream";
inline constexpr absl::string_view kInvalidProgram = "invalid program";
inline constexpr absl::string_view kInvalidSlice = "invalid slice";
inline constexpr absl::string_view kInvalidKernel = "invalid kernel";
inline constexpr absl::string_view kInvalidUnit = "invalid unit";
inline constexpr absl::string_view kInvalidInput = "invalid input";
inline constexpr absl::string_view kInvalidScalar = "invalid scalar";
inline constexpr absl::string_view kInvalidSlot = "invalid slot";
inline constexpr absl::string_view kInvalidTotal = "invalid total";
inline constexpr absl::string_view kInvalidOutput = "invalid output";
inline constexpr absl::string_view kAmbiguousSlice = "ambiguous slice";
inline constexpr absl::string_view kInvalidStep = "invalid step";
inline constexpr absl::string_view kNotSupported = "not supported";

} // namespace zerograph::finding

#endif // ZEROGRAPH_RUNTIME_PLAN_FINDINGS_H
