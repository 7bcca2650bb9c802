//===- Describe.cpp - what parts of a plan are called ---------------------===//

#include "runtime/plan/Describe.h"

#include "runtime/plan/steps/Step.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include <algorithm>

namespace zerograph {
namespace {

std::string lower(const std::string &name, int value) {
  return name.empty() ? absl::StrCat("?", value) : absl::AsciiStrToLower(name);
}

} // namespace

uint64_t elementSize(plan::ElementType type) {
  switch (type) {
  case plan::F64:
  case plan::I64:
    return 8;
  case plan::F32:
  case plan::I32:
    return 4;
  case plan::F16:
  case plan::BF16:
  case plan::I16:
    return 2;
  case plan::I8:
  case plan::U8:
  case plan::BOOL:
    return 1;
  default:
    return 0;
  }
}

plan::ElementType resultType(const plan::Matmul &matmul) {
  return matmul.result_type() == plan::ELEMENT_INVALID ? matmul.element_type()
                                                       : matmul.result_type();
}

plan::ElementType ownType(const plan::Unit &unit,
                          const plan::Parameter &parameter) {
  return parameter.type() == plan::ELEMENT_INVALID ? unit.type()
                                                   : parameter.type();
}

plan::ElementType trainedType(const plan::Unit &unit,
                              const plan::Parameter &parameter) {
  plan::ElementType own = ownType(unit, parameter);
  return own == plan::F16 || own == plan::BF16 ? plan::F32 : own;
}

std::string nameOf(plan::ElementType type) {
  return lower(plan::ElementType_Name(type), type);
}
std::string nameOf(plan::Space space) {
  return lower(plan::Space_Name(space), space);
}
std::string nameOf(plan::SliceClass slice_class) {
  return lower(plan::SliceClass_Name(slice_class), slice_class);
}
std::string nameOf(plan::StreamKind kind) {
  return lower(plan::StreamKind_Name(kind), kind);
}
std::string nameOf(plan::Mode mode) {
  return lower(plan::Mode_Name(mode), mode);
}
std::string nameOf(plan::Scalar::Kind kind) {
  return lower(plan::Scalar::Kind_Name(kind), kind);
}

absl::string_view opName(const plan::Step &step) { return kindOf(step).name(); }

std::string streamName(const plan::Plan &plan, const plan::Step &step) {
  return step.stream() < uint32_t(plan.streams_size())
             ? plan.streams(int(step.stream())).name()
             : absl::StrCat("?", step.stream());
}

bool isForward(const plan::Plan &plan) {
  return plan.programs_size() == 1 && plan.programs(0).kind() == plan::FORWARD;
}

uint64_t runsPerStep(const plan::Plan &plan, const plan::Program &program) {
  return program.kind() == plan::MICRO      ? plan.accumulate()
         : program.kind() == plan::EVALUATE ? 0
                                            : 1;
}

std::string describeStep(const plan::Plan &plan, size_t program, size_t step) {
  if (program >= size_t(plan.programs_size())) {
    return absl::StrCat("step ", step, " of program ", program);
  }
  const plan::Program &in = plan.programs(program);
  if (step >= size_t(in.steps_size())) {
    return absl::StrCat("step ", step, " of \"", in.name(), "\"");
  }
  const plan::Step &it = in.steps(step);
  return absl::StrCat("step ", step, " of \"", in.name(), "\" (", opName(it),
                      it.name().empty() ? "" : ", ", it.name(), ")");
}

std::string describeSlice(const plan::Plan &plan, size_t slice) {
  if (slice >= size_t(plan.slices_size()) ||
      plan.slices(slice).name().empty()) {
    return absl::StrCat("slice ", slice);
  }
  return absl::StrCat("slice ", slice, " (", plan.slices(slice).name(), ")");
}

std::string describeBegin(uint64_t begin, const Strides &strides) {
  bool several = std::any_of(strides.begin() + 1, strides.end(),
                             [](uint64_t stride) { return stride != 0; });
  std::string text = absl::StrCat(begin);
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    if (strides[axis] != 0) {
      absl::StrAppend(&text, " + ",
                      several ? absl::StrCat("[", axis, "]") : "rank", " * ",
                      strides[axis]);
    }
  }
  return text;
}

std::string describeBegin(const plan::Access &access) {
  Strides strides{};
  for (int i = 0; i < std::min(access.strides_size(), kMaxAxes); ++i) {
    strides[i] = access.strides(i);
  }
  return describeBegin(access.offset(), strides);
}

} // namespace zerograph
