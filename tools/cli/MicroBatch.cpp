//===- MicroBatch.cpp - how a step's samples are divided ------------------===//

#include "tools/cli/MicroBatch.h"

#include "options/Memory.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "tools/cli/Notes.h"
#include "tools/compiler/LargestThatFits.h"
#include "tools/compiler/MemoryFitCandidates.h"

#include "absl/strings/str_cat.h"

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
  bool fits = one.room.bytes <= one.room.usable;
  return absl::StrCat(
      counted(one.size, "sample"), one.size == 1 ? " needs " : " need ",
      fits && !one.room.fits ? "more of the host than it may have"
                             : options::sizeText(one.room.bytes));
}

std::string choiceText(const CompileOptions &options, const LargestFit &found,
                       bool all) {
  std::string text = absl::StrCat(
      "--micro-batch ", found.fits->size, " by auto",
      options.accumulate > 1
          ? absl::StrCat(", accumulated ", options.accumulate, " times")
          : "",
      ": ", needText(*found.fits), " of ",
      options::sizeText(found.fits->room.usable));
  if (found.refused) {
    absl::StrAppend(&text, ", ", needText(*found.refused));
  } else if (all) {
    absl::StrAppend(&text, "; the data have no more");
  }
  return text;
}

} // namespace

absl::Status needNumber(const CompileOptions &options) {
  return choosesMicroBatch(options)
             ? absl::InvalidArgumentError(
                   "--micro-batch auto fits a plan to train with into a "
                   "memory; give a number here")
             : absl::OkStatus();
}

absl::Status divideStep(CompileOptions &options, const GlobalBatch &step,
                        const FixedSamples &fixed) {
  bool chosen = choosesMicroBatch(options);
  if (chosen && fixed.samples > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--micro-batch auto, but a micro-batch has ", fixed.samples,
        " samples ",
        fixed.by_dim ? "by --dim: leave one of them out"
                     : "by the model's file: leave the option out, or export "
                       "the model with a symbolic batch"));
  }
  if (step.samples == 0) {
    return absl::OkStatus();
  }
  if (chosen && !options.open_accumulate) {
    return absl::InvalidArgumentError(
        absl::StrCat("--micro-batch auto chooses how the ",
                     counted(uint64_t(step.samples), "sample"), " of a step (",
                     step.from, ") are divided: leave --accumulate out"));
  }
  int64_t known = options.samples > 0 ? options.samples : fixed.samples;
  int64_t parts = options.ranks * (known > 0 ? known : options.accumulate);
  int64_t each = step.samples / parts;
  bool equal = step.samples % parts == 0;
  bool differs =
      known > 0 && !options.open_accumulate && options.accumulate != each;
  if (!equal || differs) {
    return absl::InvalidArgumentError(absl::StrCat(
        step.from, ": ", counted(uint64_t(options.ranks), "rank"), " x ",
        known > 0 && !equal
            ? "micro-batches"
            : counted(uint64_t(options.accumulate), "micro-batch", "es"),
        known > 0 ? absl::StrCat(" of ", known) : "", " cannot share ",
        counted(uint64_t(step.samples), "sample"),
        " equally; change one of these"));
  }
  if (known == 0 && !chosen) {
    options.samples = each;
  } else if (known > 0 && each <= kMostParts) {
    options.accumulate = each;
  } else if (known > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        step.from, ": ", each, " micro-batches of a rank are more than ",
        kMostParts, "; give more samples to one, by --micro-batch"));
  }
  return absl::OkStatus();
}

absl::Status
chooseMicroBatch(CompileOptions &options, const GlobalBatch &step,
                 uint64_t most,
                 absl::FunctionRef<absl::Status(CompileOptions &)> bind) {
  if (!choosesMicroBatch(options) || options.samples > 0) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(checkChoice(options));
  uint64_t part = uint64_t(step.samples / options.ranks);
  std::vector<uint64_t> sizes =
      microBatchSizes(part, std::max<uint64_t>(most, 1));
  if (sizes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(step.from, ": no micro-batch up to ", kMostSamples,
                     " samples divides a rank's ", part, " of a step"));
  }
  auto with = [&](uint64_t size) {
    CompileOptions with = options;
    with.samples = int64_t(size);
    with.accumulate = part > 0 ? int64_t(part / size) : options.accumulate;
    return with;
  };
  ZG_ASSIGN_OR_RETURN(
      LargestFit found,
      largestThatFits(sizes, [&](uint64_t size) -> absl::StatusOr<Room> {
        CompileOptions tried = with(size);
        ZG_RETURN_IF_ERROR(bind(tried));
        return roomFor(tried);
      }));
  options = with(found.fits ? found.fits->size : 1);
  if (found.fits) {
    bool all = found.fits->size == sizes.back() && part == 0;
    say(Matter::Run, choiceText(options, found, all));
  }
  return absl::OkStatus();
}

} // namespace zerograph
