//===- Validate.cpp - is a plan structurally sound? -----------------------===//

#include "runtime/plan/Validate.h"

#include "options/Optimizers.h"
#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Findings.h"
#include "runtime/plan/HappensBefore.h"
#include "runtime/plan/Hyperparameters.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/schedules/Schedule.h"
#include "runtime/plan/steps/Checks.h"
#include "runtime/plan/steps/Step.h"

#include "absl/strings/ascii.h"

#include <algorithm>
#include <set>

namespace zerograph {
namespace {

using steps::invalid;

/// The most samples of a step: numbers of samples stay far below 64 bits.
constexpr uint64_t kMaxSamplesOfStep = uint64_t(1) << 32;
/// Cache lines; the library's scratch wants no less.
constexpr uint64_t kMinAlignment = 64;

absl::Status validateMesh(const plan::Plan &plan) {
  if (plan.mesh_size() < 1 || plan.mesh_size() > kMaxAxes) {
    return invalid("the plan's ranks form a mesh of ", plan.mesh_size(),
                   " axes; 1 to ", kMaxAxes, " are possible");
  }
  Checked world = 1;
  std::set<std::string> names;
  for (const plan::Axis &axis : plan.mesh()) {
    if (axis.name().empty() || !names.insert(axis.name()).second) {
      return invalid("axis \"", axis.name(),
                     "\" of the mesh has no name or a taken one");
    }
    world = world * axis.size();
  }
  if (world.is(0) || !world.atMost(kMaxWorld)) {
    return invalid("the plan is for ", world.value().value_or(0),
                   " ranks; 1 to ", kMaxWorld, " are possible");
  }
  return absl::OkStatus();
}

absl::Status validateGroups(const plan::Plan &plan) {
  if (isForward(plan) != plan.groups().empty()) {
    return invalid("a plan that trains has an optimizer, and one that runs "
                   "forward has none");
  }
  for (const plan::OptimizerGroup &group : plan.groups()) {
    const options::Optimizer *optimizer = options::findOptimizer(group.kind());
    if (optimizer == nullptr) {
      return invalid("the plan's optimizer is \"", group.kind(), "\"; ",
                     options::namesOf(options::kOptimizers), " exist");
    }
    options::Hyperparameters values = hyperparametersOf(group);
    std::string faults = options::faultsText(*optimizer, values);
    for (const options::Hyperparameter &one : options::kHyperparameters) {
      if (!optimizer->takes(one.number) && values.*one.number != 0) {
        absl::StrAppend(&faults, faults.empty() ? "" : "; ",
                        std::string(one.name), " is ", values.*one.number,
                        ", which it does not take");
      }
    }
    if (!faults.empty()) {
      return invalid("the plan's optimizer ", group.kind(), ": ", faults);
    }
  }
  return plan.has_schedule() ? checkSchedule(plan.schedule())
                             : absl::OkStatus();
}

absl::Status validateHeader(const plan::Plan &plan) {
  ZG_RETURN_IF_ERROR(validateMesh(plan));
  if (plan.accumulate() < 1 || plan.micro_batch() < 1) {
    return invalid("a step of the plan has ", plan.accumulate(),
                   " micro-batches of ", plan.micro_batch(),
                   " samples; both must be at least 1");
  }
  if (!(Checked(worldOf(plan)) * plan.micro_batch() * plan.accumulate())
           .atMost(kMaxSamplesOfStep)) {
    return invalid("a step of the plan takes ", worldOf(plan), " ranks x ",
                   plan.accumulate(), " micro-batches x ", plan.micro_batch(),
                   " samples; at most ", kMaxSamplesOfStep, " are possible");
  }
  if (plan.devices().empty()) {
    return invalid("the plan does not say which device it is for");
  }
  for (const plan::Target &device : plan.devices()) {
    if (device.allow_tf32() && !isGpu(device)) {
      return invalid("the plan allows TF32 on the device ", device.device(),
                     ", which has none; only cuda has");
    }
    if (device.fast_math() && !isGpu(device)) {
      return invalid("the plan has kernels that approximate functions on the "
                     "device ",
                     device.device(), "; only those of cuda do");
    }
  }
  return validateGroups(plan);
}

absl::Status validateStreams(const plan::Plan &plan) {
  if (plan.streams_size() > kMaxStreams) {
    return invalid("the plan has ", plan.streams_size(), " streams; ",
                   kMaxStreams, " are possible");
  }
  for (int i = 0; i < plan.streams_size(); ++i) {
    const plan::Stream &stream = plan.streams(i);
    if (stream.kind() < plan::COMPUTE || stream.kind() > plan::FILE_WRITE ||
        stream.device() >= uint32_t(plan.devices_size())) {
      return invalid("stream ", i, " (", stream.name(), ") is of unknown kind ",
                     stream.kind(), " or of device ", stream.device(), " of ",
                     plan.devices_size());
    }
  }
  return absl::OkStatus();
}

absl::Status validateArenas(const plan::Plan &plan) {
  for (int i = 0; i < plan.arenas_size(); ++i) {
    const plan::Arena &arena = plan.arenas(i);
    uint64_t alignment = arena.alignment();
    if (arena.space() < plan::DEVICE || arena.space() > plan::HOST ||
        arena.device() >= uint32_t(plan.devices_size())) {
      return invalid("arena ", i, " is in unknown space ", arena.space(),
                     " or of device ", arena.device(), " of ",
                     plan.devices_size());
    }
    if (alignment < kMinAlignment || (alignment & (alignment - 1)) != 0 ||
        alignment > (uint64_t(1) << 30)) {
      return invalid("arena ", i, " has alignment ", alignment,
                     "; it must be a power of two from ", kMinAlignment,
                     " bytes to 1 GiB");
    }
    if (arena.space() == plan::NVME && alignment % kFilePage != 0) {
      return invalid("arena ", i, " is a file and has alignment ", alignment,
                     "; it must be a multiple of ", kFilePage,
                     " bytes, so that no page is of two slices");
    }
    if (arena.bytes() > kMaxArenaBytes || arena.bytes() % alignment != 0) {
      return invalid("arena ", i, " has ", arena.bytes(),
                     " bytes; it must be a multiple of its alignment ",
                     alignment, " and at most ", kMaxArenaBytes);
    }
  }
  return absl::OkStatus();
}

absl::Status validateSlice(const plan::Plan &plan, int index) {
  const plan::Slice &slice = plan.slices(index);
  std::string what = describeSlice(plan, index);
  if (slice.arena() >= uint32_t(plan.arenas_size())) {
    return invalid(what, " names arena ", slice.arena(), " of ",
                   plan.arenas_size());
  }
  uint64_t limit = plan.arenas(slice.arena()).bytes();
  if (!(Checked(slice.offset()) + slice.bytes()).atMost(limit)) {
    return invalid(what, ": bytes [", slice.offset(), ", + ", slice.bytes(),
                   ") lie outside its arena of ", limit);
  }
  uint64_t alignment = plan.arenas(slice.arena()).alignment();
  if (slice.offset() % alignment != 0) {
    return invalid(what, " begins at byte ", slice.offset(),
                   " of its arena; it must begin at a multiple of the arena's "
                   "alignment ",
                   alignment);
  }
  if (slice.slice_class() < plan::PARAM_SHARD ||
      slice.slice_class() > plan::OUTPUT) {
    return invalid(what, " has unknown class ", slice.slice_class());
  }
  return absl::OkStatus();
}

absl::Status validateAccess(const plan::Plan &plan, const plan::Step &step,
                            int index) {
  const plan::Access &access = step.accesses(index);
  if (access.slice() >= uint32_t(plan.slices_size())) {
    return invalid("access ", index, " names slice ", access.slice(), " of ",
                   plan.slices_size());
  }
  if (access.mode() < plan::READ || access.mode() > plan::READ_WRITE) {
    return invalid("access ", index, " has unknown mode ", access.mode());
  }
  if (access.bytes() == 0) {
    return invalid("access ", index, " to ",
                   describeSlice(plan, access.slice()), " touches no bytes");
  }
  if (access.strides_size() != 0 && access.strides_size() != plan.mesh_size()) {
    return invalid("access ", index, " has ", access.strides_size(),
                   " strides; the mesh has ", plan.mesh_size(), " axes");
  }
  Checked end = Checked(access.offset()) + access.bytes();
  for (int axis = 0; axis < access.strides_size(); ++axis) {
    end = end + Checked(access.strides(axis)) * (plan.mesh(axis).size() - 1);
  }
  uint64_t limit = plan.slices(access.slice()).bytes();
  if (!end.atMost(limit)) {
    return invalid(
        "access ", index, " to ", describeSlice(plan, access.slice()),
        ": bytes [", describeBegin(access), ", + ", access.bytes(),
        ") of the last of ", worldOf(plan), " ranks lie outside its ", limit);
  }
  return absl::OkStatus();
}

absl::Status validateStep(const plan::Plan &plan, const plan::Step &step,
                          uint32_t index) {
  if (step.stream() >= uint32_t(plan.streams_size())) {
    return invalid("is on stream ", step.stream(), " of ", plan.streams_size());
  }
  for (uint32_t wait : step.waits()) {
    if (wait >= index) {
      return invalid("waits for step ", wait,
                     ", which is not earlier: it would wait for ever");
    }
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    ZG_RETURN_IF_ERROR(validateAccess(plan, step, i));
  }
  if (!isCollective(step) && (step.sequence() != 0 || !step.axes().empty())) {
    return invalid("has a place in the order of collectives, or a group, and "
                   "is none");
  }
  return kindOf(step).validate(plan, step);
}

/// Checks that there is either STEP alone, or MICRO and then UPDATE, each
/// perhaps with EVALUATE after; or FORWARD.
absl::Status validatePrograms(const plan::Plan &plan) {
  bool evaluates = plan.programs_size() > 1 &&
                   plan.programs().rbegin()->kind() == plan::EVALUATE;
  auto are = [&](std::initializer_list<plan::ProgramKind> kinds) {
    return std::equal(plan.programs().begin(),
                      plan.programs().end() - (evaluates ? 1 : 0),
                      kinds.begin(), kinds.end(),
                      [](const plan::Program &program, plan::ProgramKind kind) {
                        return program.kind() == kind;
                      });
  };
  bool split = are({plan::MICRO, plan::UPDATE});
  if (!are({plan::STEP}) && !split && !isForward(plan)) {
    std::string kinds;
    for (const plan::Program &program : plan.programs()) {
      absl::StrAppend(
          &kinds, " ",
          absl::AsciiStrToLower(plan::ProgramKind_Name(program.kind())));
    }
    return invalid("the plan's programs are", kinds.empty() ? " none" : kinds,
                   "; a plan has step, or micro and update, each perhaps with "
                   "evaluate behind, or forward");
  }
  if (evaluates != plan.has_evaluation()) {
    return invalid("the plan has ", evaluates ? "a" : "no",
                   " program that evaluates, and ", evaluates ? "no" : "a",
                   " sum of its losses");
  }
  if (isForward(plan) && worldOf(plan) != 1) {
    return invalid("the plan runs forward, which one rank does, and is for ",
                   worldOf(plan), " ranks");
  }
  if (isForward(plan) && plan.dump_gradients()) {
    return invalid("the plan runs forward, and has gradients to dump");
  }
  if (!split && plan.accumulate() != 1) {
    return invalid("the plan has \"", plan.programs(0).name(),
                   "\", for one micro-batch a step, and accumulates over ",
                   plan.accumulate());
  }
  return absl::OkStatus();
}

absl::Status validateSlices(const plan::Plan &plan) {
  for (int i = 0; i < plan.slices_size(); ++i) {
    ZG_RETURN_IF_ERROR(validateSlice(plan, i));
  }
  return absl::OkStatus();
}

absl::Status validateSteps(const plan::Plan &plan) {
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      absl::Status status = validateStep(plan, plan.programs(p).steps(s), s);
      if (!status.ok()) {
        return annotate(status, describeStep(plan, p, s));
      }
    }
  }
  return absl::OkStatus();
}

struct Check {
  absl::string_view id;
  absl::Status (*run)(const plan::Plan &plan);
};

/// In an order in which each may rely on those before it.
constexpr Check kChecks[] = {
    {finding::kInvalidHeader, validateHeader},
    {finding::kInvalidArena, validateArenas},
    {finding::kInvalidStream, validateStreams},
    {finding::kInvalidProgram, validatePrograms},
    {finding::kInvalidSlice, validateSlices},
    {finding::kInvalidKernel, detail::validateKernels},
    {finding::kInvalidUnit, detail::validateUnits},
    {finding::kInvalidInput, detail::validateInputs},
    {finding::kInvalidScalar, detail::validateScalars},
    {finding::kInvalidSlot, detail::validateSlots},
    {finding::kInvalidTotal, detail::validateTotals},
    {finding::kInvalidOutput, detail::validateOutputs},
    {finding::kAmbiguousSlice, detail::validateMeanings},
    {finding::kInvalidStep, validateSteps},
    {finding::kNotSupported, checkSupported}};

} // namespace

absl::Status validatePlan(const plan::Plan &plan) {
  for (const Check &check : kChecks) {
    if (absl::Status status = check.run(plan); !status.ok()) {
      return annotate(status, check.id);
    }
  }
  return absl::OkStatus();
}

} // namespace zerograph
