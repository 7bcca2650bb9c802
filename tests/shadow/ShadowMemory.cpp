//===- ShadowMemory.cpp - what every word of a rank's arenas holds --------===//

#include "tests/shadow/ShadowMemory.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/steps/Step.h"

#include <algorithm>
#include <cstring>

namespace zerograph::testing {
namespace {

constexpr uint64_t kWord = 4;
constexpr uint32_t kNobody = 0;
constexpr uint32_t kBusy = 1u << 31; // and the number of the step

uint32_t ownerOf(uint32_t slice) { return slice + 1; }

} // namespace

ShadowMemory::ShadowMemory(const plan::Plan &plan, uint32_t rank)
    : plan(plan), rank(rank), uses(plan.slices_size()) {}

void ShadowMemory::addArena(std::byte *data, uint64_t bytes) {
  memory.push_back(data);
  owners.emplace_back(bytes / kWord, kNobody);
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    if (slice.arena() + 1 == memory.size() && slice.carried()) {
      claim(i);
    }
  }
}

ShadowMemory::Words ShadowMemory::words(int index) {
  const plan::Slice &slice = plan.slices(index);
  return {&owners[slice.arena()][slice.offset() / kWord],
          (slice.bytes() + kWord - 1) / kWord};
}

ShadowMemory::Words ShadowMemory::words(const plan::Access &access) {
  Range range = arenaRange(plan, access);
  uint64_t begin = range.begin + Mesh(plan).offset(range.strides, rank);
  uint64_t end = begin + range.bytes;
  return {&owners[range.arena][begin / kWord],
          (end + kWord - 1) / kWord - begin / kWord};
}

void ShadowMemory::claim(int slice) {
  Words of = words(slice);
  std::fill_n(of.first, of.count, ownerOf(slice));
}

/// Poisons a slice; what others have written there since stays.
void ShadowMemory::poison(int index) {
  const plan::Slice &slice = plan.slices(index);
  Words of = words(index);
  for (uint64_t i = 0; i < of.count; ++i) {
    if (of.first[i] == ownerOf(index)) {
      of.first[i] = kNobody;
      std::memset(memory[slice.arena()] + slice.offset() + i * kWord, 0xff,
                  kWord);
    }
  }
}

/// Counts the uses of each slice that is not carried.
void ShadowMemory::beginProgram(int program) {
  std::fill(uses.begin(), uses.end(), 0);
  const plan::Program &steps = plan.programs(program);
  steps_left = steps.steps_size();
  collectives = 0;
  for (int s = 0; s < steps.steps_size(); ++s) {
    for (const plan::Access &access : steps.steps(s).accesses()) {
      if (!plan.slices(access.slice()).carried()) {
        ++uses[access.slice()];
      }
    }
  }
}

absl::Status ShadowMemory::expect(int program, int step,
                                  const plan::Access &access, Word or_else) {
  Words of = words(access);
  Word owner = ownerOf(access.slice());
  for (uint64_t i = 0; i < of.count; ++i) {
    Word found = of.first[i];
    if (found != owner && found != or_else) {
      return absl::InternalError(absl::StrCat(
          "rank ", rank, ": ", describeStep(plan, program, step), " uses ",
          describeSlice(plan, access.slice()), kShadowFound, i, " ",
          found == kNobody ? "nothing"
          : found >= kBusy
              ? absl::StrCat("what step ", found - kBusy, " is writing")
              : describeSlice(plan, found - 1)));
    }
  }
  return absl::OkStatus();
}

absl::Status ShadowMemory::begin(int program, int number) {
  std::unique_lock<std::mutex> lock(mutex);
  if (steps_left == 0) {
    beginProgram(program);
  }
  const plan::Step &step = plan.programs(program).steps(number);
  if (isCollective(step)) {
    turn.wait(lock, [&] { return failed || collectives == step.sequence(); });
    if (failed) {
      return absl::CancelledError("another step failed");
    }
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effectOf(step, i).reads) {
      ZG_RETURN_IF_ERROR(expect(program, number, step.accesses(i),
                                ownerOf(step.accesses(i).slice())));
    }
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effectOf(step, i).writes) {
      Words of = words(step.accesses(i));
      std::fill_n(of.first, of.count, kBusy + uint32_t(number));
    }
  }
  return absl::OkStatus();
}

absl::Status ShadowMemory::end(int program, int number) {
  std::lock_guard<std::mutex> lock(mutex);
  const plan::Step &step = plan.programs(program).steps(number);
  // Reads last until the end; and nobody else has written here since.
  for (const plan::Access &access : step.accesses()) {
    ZG_RETURN_IF_ERROR(
        expect(program, number, access, kBusy + uint32_t(number)));
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effectOf(step, i).writes) {
      Words of = words(step.accesses(i));
      std::fill_n(of.first, of.count, ownerOf(step.accesses(i).slice()));
    }
  }
  for (const plan::Access &access : step.accesses()) {
    if (uses[access.slice()] != 0 && --uses[access.slice()] == 0) {
      poison(int(access.slice()));
    }
  }
  if (isCollective(step)) {
    ++collectives;
    turn.notify_all();
  }
  --steps_left;
  return absl::OkStatus();
}

void ShadowMemory::fail() {
  std::lock_guard<std::mutex> lock(mutex);
  failed = true;
  turn.notify_all();
}

} // namespace zerograph::testing
