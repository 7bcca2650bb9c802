//===- Describe.h - what parts of a plan are called, and what they are ----===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_DESCRIBE_H
#define ZEROGRAPH_RUNTIME_PLAN_DESCRIBE_H

#include "runtime/plan/Mesh.h"

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// Bytes of one element; 0 for a value that is no element type.
uint64_t elementSize(plan::ElementType type);

/// Returns the type of the elements of C.
plan::ElementType resultType(const plan::Matmul &matmul);
/// A parameter's own type, in which files hold it.
plan::ElementType ownType(const plan::Unit &unit,
                          const plan::Parameter &parameter);
/// The type in which a parameter is changed: its own, or F32 for 16 bits.
plan::ElementType trainedType(const plan::Unit &unit,
                              const plan::Parameter &parameter);

/// Lower-case names as in reports: "f32", "device", "gathered", "compute",
/// "read", "learning_rate". "?" and the number for a value this build doesn't
/// know.
std::string nameOf(plan::ElementType type);
std::string nameOf(plan::Space space);
std::string nameOf(plan::SliceClass slice_class);
std::string nameOf(plan::StreamKind kind);
std::string nameOf(plan::Mode mode);
std::string nameOf(plan::Scalar::Kind kind);

/// "launch", "all_gather", ...; "nothing" where the step has no operation.
absl::string_view opName(const plan::Step &step);

/// The name of a step's stream. Any index is safe.
std::string streamName(const plan::Plan &plan, const plan::Step &step);

/// Returns whether a plan of valid programs trains nothing: it has a program
/// FORWARD.
bool isForward(const plan::Plan &plan);

/// How often a program runs in one step of training: `accumulate` times for
/// MICRO, never for EVALUATE, once for the others.
uint64_t runsPerStep(const plan::Plan &plan, const plan::Program &program);

/// `step 12 of "micro" (all_gather, h.0)`. Any indices are safe.
std::string describeStep(const plan::Plan &plan, size_t program, size_t step);
/// `slice 7 (h.0/param)`. Any index is safe.
std::string describeSlice(const plan::Plan &plan, size_t slice);
/// "256 + rank * 128": where something begins on each rank; of several axes,
/// each coordinate by its number: "256 + [0] * 128 + [1] * 64".
std::string describeBegin(uint64_t begin, const Strides &strides);
std::string describeBegin(const plan::Access &access);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_DESCRIBE_H
