//===- Streams.cpp - waits, and who may do what ---------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {
namespace {

plan::Space spaceOf(const plan::Plan &plan, const plan::Access &access) {
  return plan.arenas(plan.slices(access.slice()).arena()).space();
}

/// The stream a copy between two spaces belongs on; COMPUTE within one (any
/// stream but the file ones will do); STREAM_INVALID where there is no way.
plan::Stream streamOfCopy(plan::Space from, plan::Space to) {
  if (from == to) {
    return from == plan::NVME ? plan::STREAM_INVALID : plan::COMPUTE;
  }
  if (from == plan::NVME || to == plan::NVME) {
    plan::Space other = from == plan::NVME ? to : from;
    plan::Stream way = from == plan::NVME ? plan::NVME_READ : plan::NVME_WRITE;
    return other == plan::PINNED ? way : plan::STREAM_INVALID;
  }
  return from == plan::PINNED ? plan::H2D : plan::D2H;
}

bool isFileStream(plan::Stream stream) {
  return stream == plan::NVME_READ || stream == plan::NVME_WRITE;
}

/// Empty, or what is wrong with the stream a step is on.
std::string wrongStream(const plan::Plan &plan, const plan::Step &step) {
  plan::Stream stream = step.stream();
  if (step.has_launch() || isLibraryCall(step)) {
    return stream == plan::COMPUTE ? "" : "only stream compute computes";
  }
  if (isCollective(step)) {
    return stream == plan::GATHER || stream == plan::SCATTER
               ? ""
               : "collectives are on streams gather and scatter";
  }
  if (step.has_fill()) {
    return isFileStream(stream) ? "file streams only copy" : "";
  }
  plan::Space from = spaceOf(plan, step.accesses(0));
  plan::Space to = spaceOf(plan, step.accesses(1));
  plan::Stream needed = streamOfCopy(from, to);
  if (needed == plan::STREAM_INVALID) {
    return absl::StrCat("nothing copies from ", nameOf(from), " to ",
                        nameOf(to));
  }
  if (from == to ? isFileStream(stream) : stream != needed) {
    return absl::StrCat("copies from ", nameOf(from), " to ", nameOf(to),
                        " are on stream ", nameOf(needed));
  }
  return "";
}

} // namespace

void checkStreams(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      const plan::Step &step = plan.programs(p).steps(s);
      for (uint32_t wait : step.waits()) {
        if (plan.programs(p).steps(wait).stream() == step.stream()) {
          problems.add("useless wait: ", describeStep(plan, p, s),
                       " waits for ", describeStep(plan, p, wait),
                       " of its own stream ", nameOf(step.stream()));
        }
      }
      if (std::string wrong = wrongStream(plan, step); !wrong.empty()) {
        problems.add("wrong stream: ", describeStep(plan, p, s), " is on ",
                     nameOf(step.stream()), "; ", wrong);
      }
      for (const plan::Access &access : step.accesses()) {
        if (!step.has_copy() && spaceOf(plan, access) == plan::NVME) {
          problems.add("wrong space: ", describeStep(plan, p, s), " touches ",
                       describeSlice(plan, access.slice()),
                       " in nvme, which only copies reach");
        }
      }
    }
  }
}

} // namespace zerograph::verify
