//===- Describe.cpp - what parts of a plan are called ---------------------===//

#include "runtime/plan/Describe.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

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

std::string nameOf(plan::ElementType type) {
  return lower(plan::ElementType_Name(type), type);
}
std::string nameOf(plan::Space space) {
  return lower(plan::Space_Name(space), space);
}
std::string nameOf(plan::SliceClass slice_class) {
  return lower(plan::SliceClass_Name(slice_class), slice_class);
}
std::string nameOf(plan::Stream stream) {
  return lower(plan::Stream_Name(stream), stream);
}
std::string nameOf(plan::Mode mode) {
  return lower(plan::Mode_Name(mode), mode);
}

absl::string_view opName(const plan::Step &step) {
  switch (step.op_case()) {
  case plan::Step::kLaunch:
    return "launch";
  case plan::Step::kMatmul:
    return "matmul";
  case plan::Step::kConvolution:
    return "convolution";
  case plan::Step::kAllGather:
    return "all_gather";
  case plan::Step::kReduceScatter:
    return "reduce_scatter";
  case plan::Step::kAllReduce:
    return "all_reduce";
  case plan::Step::kCopy:
    return "copy";
  case plan::Step::kFill:
    return "fill";
  case plan::Step::OP_NOT_SET:
    break;
  }
  return "nothing";
}

bool isCollective(const plan::Step &step) {
  return step.has_all_gather() || step.has_reduce_scatter() ||
         step.has_all_reduce();
}

bool isLibraryCall(const plan::Step &step) {
  return step.has_matmul() || step.has_convolution();
}

bool isForward(const plan::Plan &plan) {
  return plan.programs_size() == 1 && plan.programs(0).name() == "forward";
}

plan::ElementType floatType(const plan::Plan &plan, uint32_t slice) {
  return slice < uint32_t(plan.slices_size()) &&
                 plan.slices(int(slice)).bytes() == elementSize(plan::F64)
             ? plan::F64
             : plan::F32;
}

uint64_t runsPerStep(const plan::Plan &plan, const plan::Program &program) {
  return program.name() == "micro" ? plan.accumulate() : 1;
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

} // namespace zerograph
