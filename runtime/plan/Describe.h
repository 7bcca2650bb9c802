//===- Describe.h - what parts of a plan are called -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_DESCRIBE_H
#define ZEROGRAPH_RUNTIME_PLAN_DESCRIBE_H

#include "runtime/plan/plan.pb.h"

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// Bytes of one element; 0 for a value that is no element type.
uint64_t elementSize(plan::ElementType type);

/// Lower-case names as in reports: "f32", "device", "gathered", "compute",
/// "read". "?" and the number for a value this build doesn't know.
std::string nameOf(plan::ElementType type);
std::string nameOf(plan::Space space);
std::string nameOf(plan::SliceClass slice_class);
std::string nameOf(plan::Stream stream);
std::string nameOf(plan::Mode mode);

/// "launch", "all_gather", ...; "nothing" where the step has no operation.
absl::string_view opName(const plan::Step &step);
bool isCollective(const plan::Step &step);
/// Whether a step is a call of the device's library: two operands, a result
/// and, if there are four accesses, scratch.
bool isLibraryCall(const plan::Step &step);

/// Whether a plan of valid programs trains nothing: it has "forward" alone.
bool isForward(const plan::Plan &plan);

/// Of the one number in a slice, the loss or what the optimizer reads: F64
/// where the slice has the bytes of one, else F32. Any index is safe.
plan::ElementType floatType(const plan::Plan &plan, uint32_t slice);

/// How often a program runs in one step of training: `accumulate` times for
/// "micro", once for the others.
uint64_t runsPerStep(const plan::Plan &plan, const plan::Program &program);

/// `step 12 of "micro" (all_gather, h.0)`. Any indices are safe.
std::string describeStep(const plan::Plan &plan, size_t program, size_t step);
/// `slice 7 (h.0/param)`. Any index is safe.
std::string describeSlice(const plan::Plan &plan, size_t slice);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_DESCRIBE_H
