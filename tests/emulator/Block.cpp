//===- Block.cpp - the threads of a block of CUDA -------------------------===//

#include "tests/emulator/Block.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

using namespace zerograph::emulator;

/// The byte that memory holds that nobody has written: as a float it is no
/// number.
static constexpr int kPoison = 0xff;

/// The block that runs on this thread of the CPU.
static thread_local Block *runningBlock = nullptr;

Block &Block::current() { return *runningBlock; }

Block::Block(Accesses &accesses, const std::vector<SharedArray> &shared,
             TrafficRecorder *recorder)
    : accesses(accesses), recorder(recorder), firstShared(accesses.count()) {
  for (const SharedArray &array : shared) {
    arrays.emplace_back((array.bytes + sizeof(Unit) - 1) / sizeof(Unit));
    accesses.add(
        {array.name, arrays.back().data(), array.bytes, array.element});
  }
}

std::vector<void *> Block::shared() {
  std::vector<void *> places;
  for (std::vector<Unit> &array : arrays) {
    places.push_back(array.data());
  }
  return places;
}

void Block::start(void *argument) {
  auto *block = static_cast<Block *>(argument);
  (*block->kernel)();
  block->onEnd();
}

void Block::fail(const std::string &what) {
  error.Update(absl::InternalError(what));
  for (;;) {
    fibers.yield(); // never resumed
  }
}

/// A thread that has ended counts as arrived at the block's barriers.
void Block::onEnd() {
  if (!copies[running].empty()) {
    fail(absl::StrCat("thread ", running, " of block ", block,
                      " ended before copies that it began"));
  }
  Warp &own = warp();
  own.alive &= ~(1u << running % kWarp);
  --alive;
  if (own.arrived && (own.mask >> running % kWarp & 1)) {
    fail(absl::StrCat("thread ", running, " of block ", block,
                      " ended while others of its warp wait for it in ",
                      own.instruction));
  }
  if (atBarrier > 0 && atBarrier == alive) {
    atBarrier = 0;
    ++barriers;
  }
}

uint64_t Block::progress() const {
  uint64_t sum = barriers;
  for (const Warp &warp : warps) {
    sum += warp.meetings + uint64_t(__builtin_popcount(~warp.alive));
  }
  return sum;
}

absl::Status Block::run(uint32_t number, uint32_t threads,
                        const std::function<void()> &newKernel,
                        std::mt19937 &order) {
  block = number;
  kernel = &newKernel;
  for (std::vector<Unit> &array : arrays) {
    std::memset(array.data(), kPoison, array.size() * sizeof(Unit));
    accesses.forget(array.data());
  }
  error = absl::OkStatus();
  warps.assign((threads + kWarp - 1) / kWarp, Warp());
  for (uint32_t thread = 0; thread < threads; ++thread) {
    warps[thread / kWarp].alive |= 1u << thread % kWarp;
  }
  copies.assign(threads, {});
  alive = threads;
  atBarrier = barriers = 0;
  runningBlock = this;
  fibers.begin(threads, start, this);
  std::vector<uint32_t> turn(threads);
  std::iota(turn.begin(), turn.end(), 0);
  while (alive > 0) {
    std::shuffle(turn.begin(), turn.end(), order);
    uint64_t before = progress();
    for (uint32_t thread : turn) {
      running = thread;
      fibers.resume(thread);
      if (!error.ok()) {
        return error;
      }
    }
    if (progress() == before) {
      return absl::InternalError(absl::StrCat(
          "block ", block, ": ", alive,
          " threads wait for others that never come: a barrier or an exchange "
          "that only some of them reach"));
    }
  }
  if (recorder) {
    recorder->endBlock();
  }
  return absl::OkStatus();
}

void Block::touch(uintptr_t address, uint32_t bytes, Access access,
                  uint32_t site) {
  Accesses::Place place;
  std::string wrong = accesses.touch(now(), address, bytes, access, place);
  if (!wrong.empty()) {
    fail(wrong);
  }
  if (recorder && site != 0) {
    recorder->note(running, site, place.buffer, place.offset, bytes,
                   access == Access::kWrite, place.buffer >= firstShared);
  }
}

const Block::Words *Block::meet(const char *instruction, uint32_t mask,
                                const Words &value) {
  Warp &own = warp();
  uint32_t lane = running % kWarp;
  auto refuse = [&](const char *what, const char *which = "") {
    fail(absl::StrCat("thread ", running, " of block ", block, " in ",
                      instruction, ": ", what, which));
  };
  if (!(mask >> lane & 1)) {
    refuse("the mask leaves it out");
  }
  if (mask & ~own.alive) {
    refuse("the mask names threads that have ended");
  }
  if (own.arrived && own.instruction != instruction) {
    refuse("others of its warp are in ", own.instruction);
  }
  if (own.arrived && own.mask != mask) {
    refuse("others of its warp have another mask");
  }
  own.mask = mask;
  own.instruction = instruction;
  uint64_t meeting = own.meetings;
  Words *values = own.values[meeting % 2];
  values[lane] = value;
  own.arrived |= 1u << lane;
  if (own.arrived == mask) {
    own.arrived = 0;
    ++own.meetings;
  }
  while (own.meetings == meeting) {
    fibers.yield();
  }
  return values;
}

void Block::copyLater(char *to, const char *from, uint32_t bytes,
                      uint32_t site) {
  Copy copy{to, {}};
  if (bytes > 0) {
    touch(reinterpret_cast<uintptr_t>(from), bytes, Access::kRead, site);
  } else if (recorder) {
    recorder->pass(running, site);
  }
  std::memcpy(copy.value.data(), from, bytes);
  // It may be there at any time from now on.
  touch(reinterpret_cast<uintptr_t>(to), 16, Access::kWrite, 0);
  copies[running].push_back(copy);
}

void Block::finishCopies() {
  for (const Copy &copy : copies[running]) {
    touch(reinterpret_cast<uintptr_t>(copy.to), 16, Access::kWrite, 0);
    std::memcpy(copy.to, copy.value.data(), 16);
  }
  copies[running].clear();
}

uint32_t Block::shuffleXor(uint32_t mask, uint32_t value, uint32_t bit) {
  uint32_t from = (running % kWarp) ^ bit;
  const Words *values = meet("shfl.sync", mask, {value});
  if (!(mask >> from & 1)) {
    fail(absl::StrCat("thread ", running, " of block ", block,
                      " reads the value of one outside of the mask"));
  }
  return values[from][0];
}

uint32_t Block::ballot(uint32_t mask, bool condition) {
  const Words *values = meet("vote.sync", mask, {uint32_t(condition)});
  uint32_t bits = 0;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    bits |= (mask >> lane & 1) && values[lane][0] ? 1u << lane : 0;
  }
  return bits;
}

void Block::syncWarp(uint32_t mask) {
  Warp &own = warp();
  uint64_t meeting = own.meetings;
  meet("bar.warp.sync", mask, {});
  // The first to go on counts for all.
  if (own.syncs <= meeting) {
    own.syncs = uint32_t(meeting) + 1;
  }
}

void Block::syncBlock() {
  uint32_t now = barriers;
  if (++atBarrier == alive) {
    atBarrier = 0;
    ++barriers;
  }
  while (barriers == now) {
    fibers.yield();
  }
}

void Block::fence() { accesses.fence(now()); }

uint32_t Block::count(uintptr_t address, uint32_t last) {
  std::string wrong = accesses.change(now(), address);
  if (!wrong.empty()) {
    fail(wrong);
  }
  auto *word = reinterpret_cast<uint32_t *>(address);
  return std::exchange(*word, *word >= last ? 0 : *word + 1);
}
