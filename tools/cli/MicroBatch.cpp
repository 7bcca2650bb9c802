//===- MicroBatch.cpp - how a step's samples are divided ------------------===//

#include "tools/cli/MicroBatch.h"

#include "options/Memory.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "tools/cli/Notes.h"
#include "tools/compiler/LargestThatFits.h"
#include "tools/compiler/MemoryFitCandidates.h"

#include "absl/strings/str_cat.h"

#include <numeric>

namespace zerograph {
namespace {

bool choosesMicroBatch(const CompileOptions &options) {
  return options.micro_batch == kAutoMicroBatch;
}

/// Checks what `--micro-batch auto` goes together with.
absl::Status checkChoice(const CompileOptions &options) {
  auto refused = [](auto &&...why) {
    return absl::InvalidArgumentError(
        absl::StrCat("--micro-batch auto ", why...));
  };
  if (options::parseMemory(options.memory, options.ranks).device == 0) {
    return refused("takes as many samples as fit: give --memory, as --memory "
                   "device=80GiB or the name of a card");
  }
  if (choosesRecomputation(options) || options.offload == "auto") {
    return refused("and ",
                   options.offload == "auto"
                       ? "--offload auto"
                       : absl::StrCat("--recompute ", options.recompute),
                   " compete for the same memory: give one of them a value; "
                   "'zerograph advise' says which is fastest");
  }
  return absl::OkStatus();
}

/// "12 samples need 71.2 GiB".
std::string needText(const SizeRoom &one) {
  return absl::StrCat(counted(one.size, "sample"),
                      one.size == 1 ? " needs " : " need ",
                      options::sizeText(one.room.bytes));
}

std::string choiceText(const CompileOptions &options, const LargestFit &found) {
  std::string text = absl::StrCat(
      "--micro-batch ", found.fits->size, " by auto",
      options.accumulate > 1
          ? absl::StrCat(", accumulated ", options.accumulate, " times")
          : "",
      ": ", needText(*found.fits), " of ",
      options::sizeText(found.fits->room.usable));
  if (found.refused) {
    absl::StrAppend(&text, ", ", needText(*found.refused));
  }
  return text;
}

} // namespace

absl::Status divideStep(CompileOptions &options, const StepBatch &step,
                        int64_t fixed) {
  bool chosen = choosesMicroBatch(options);
  if (chosen && fixed > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--micro-batch auto, but the model has ", fixed,
                     " samples a micro-batch, by its file or by --dim: leave "
                     "one of them out"));
  }
  if (step.samples == 0) {
    return absl::OkStatus();
  }
  int64_t known = options.samples > 0 ? options.samples : fixed;
  int64_t parts = options.ranks * (known > 0 ? known : options.accumulate);
  int64_t each = step.samples / parts;
  bool equal = step.samples % parts == 0;
  if (!equal ||
      (known > 0 && options.accumulate > 1 && options.accumulate != each)) {
    return absl::InvalidArgumentError(absl::StrCat(
        step.from, ": ", counted(uint64_t(options.ranks), "rank"), " x ",
        known > 0 && !equal
            ? "micro-batches"
            : counted(uint64_t(options.accumulate), "micro-batch", "es"),
        known > 0 ? absl::StrCat(" of ", known) : "", " cannot share ",
        counted(uint64_t(step.samples), "sample"),
        " equally; change one of these"));
  }
  if (known > 0) {
    options.accumulate = each;
  } else if (!chosen || options.accumulate > 1) {
    options.samples = each;
  }
  return absl::OkStatus();
}

absl::Status
chooseMicroBatch(CompileOptions &options, const StepBatch &step, uint64_t most,
                 absl::FunctionRef<absl::Status(CompileOptions &)> bind) {
  if (!choosesMicroBatch(options) || options.samples > 0) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(checkChoice(options));
  uint64_t part = uint64_t(step.samples / options.ranks);
  std::vector<uint64_t> sizes = divisorsOf(std::max<uint64_t>(part, 1));
  if (part == 0) {
    sizes.resize(std::max<uint64_t>(most, 1));
    std::iota(sizes.begin(), sizes.end(), 1);
  }
  auto with = [&](uint64_t size) {
    CompileOptions with = options;
    with.samples = int64_t(size);
    with.accumulate = part > 0 ? int64_t(part / size) : options.accumulate;
    return with;
  };
  auto limit =
      uint64_t(options::parseMemory(options.memory, options.ranks).device);
  ZG_ASSIGN_OR_RETURN(
      LargestFit found,
      largestThatFits(sizes, [&](uint64_t size) -> absl::StatusOr<Room> {
        CompileOptions tried = with(size);
        ZG_RETURN_IF_ERROR(bind(tried));
        ZG_ASSIGN_OR_RETURN(DeviceNeed need, deviceNeed(tried));
        return Room{need.bytes, limit, need.fits};
      }));
  options = with(found.fits ? found.fits->size : 1);
  if (found.fits) {
    say(Matter::Run, choiceText(options, found));
  }
  return absl::OkStatus();
}

} // namespace zerograph
