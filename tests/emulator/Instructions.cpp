//===- Instructions.cpp - what kernels of CUDA call on the CPU ------------===//

#include "tests/emulator/Instructions.h"

#include "tests/emulator/Block.h"
#include "tests/emulator/TensorInstructions.h"

using namespace zerograph::emulator;

namespace {

void touch(uint64_t address, int32_t bytes, int32_t write) {
  Block::current().touch(address, uint32_t(bytes), write != 0);
}

int32_t threadInBlock() { return int32_t(Block::current().thread()); }
int32_t blockInGrid() { return int32_t(Block::current().number()); }

int32_t shuffle(int32_t mask, int32_t value, int32_t bit, int32_t) {
  return int32_t(Block::current().shuffleXor(uint32_t(mask), uint32_t(value),
                                             uint32_t(bit)));
}

/// The other bits of an i1 mean nothing.
int32_t ballot(int32_t mask, int32_t condition) {
  return int32_t(Block::current().ballot(uint32_t(mask), condition & 1));
}

void *shared(int32_t number) {
  return Block::current().shared(uint32_t(number));
}

void syncWarp(int32_t mask) { Block::current().syncWarp(uint32_t(mask)); }
void syncBlock() { Block::current().syncBlock(); }

} // namespace

const std::vector<Instruction> &zerograph::emulator::instructions() {
  static const std::vector<Instruction> all = [] {
    std::vector<Instruction> own = {
        {"emulator.touch", pointerTo(touch)},
        {"emulator.shared", pointerTo(shared)},
        {"emulator.read.ptx.sreg.tid.x", pointerTo(threadInBlock)},
        {"emulator.read.ptx.sreg.ctaid.x", pointerTo(blockInGrid)},
        {"emulator.shfl.sync.bfly.i32", pointerTo(shuffle)},
        {"emulator.vote.ballot.sync", pointerTo(ballot)},
        {"emulator.bar.warp.sync", pointerTo(syncWarp)},
        {"emulator.barrier0", pointerTo(syncBlock)},
    };
    own.insert(own.end(), tensorInstructions().begin(),
               tensorInstructions().end());
    return own;
  }();
  return all;
}
