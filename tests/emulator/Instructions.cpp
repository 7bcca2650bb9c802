//===- Instructions.cpp - what kernels of CUDA call on the CPU ------------===//

#include "tests/emulator/Instructions.h"

#include "tests/emulator/Block.h"
#include "tests/emulator/TensorInstructions.h"

using namespace zerograph::emulator;

void zerograph::emulator::touch(uint64_t address, uint32_t bytes,
                                uint32_t access, uint32_t site) {
  Block::current().touch(address, bytes, Access(access), site);
}

namespace {

/// Operands: the value, the bit, the last lane and the mask.
void shuffle(uint32_t *result, const uint64_t *operands, uint32_t, uint32_t) {
  if (operands[1] >= kWarp || operands[2] != kWarp - 1) {
    Block::current().fail("shfl.sync among a part of a warp");
  }
  *result = Block::current().shuffleXor(
      uint32_t(operands[3]), uint32_t(operands[0]), uint32_t(operands[1]));
}

void ballot(uint32_t *result, const uint64_t *operands, uint32_t, uint32_t) {
  *result = Block::current().ballot(uint32_t(operands[1]), operands[0] != 0);
}

void syncWarp(uint32_t *, const uint64_t *operands, uint32_t, uint32_t) {
  Block::current().syncWarp(uint32_t(operands[0]));
}

void syncBlock(uint32_t *, const uint64_t *operands, uint32_t, uint32_t) {
  if (operands[0] != 0) {
    Block::current().fail("bar.sync of another barrier than 0");
  }
  Block::current().syncBlock();
}

void fence(uint32_t *, const uint64_t *, uint32_t, uint32_t) {
  Block::current().fence();
}

/// Operands: the address, and the value after which 0 comes.
void countUp(uint32_t *result, const uint64_t *operands, uint32_t, uint32_t) {
  *result = Block::current().count(operands[0], uint32_t(operands[1]));
}

} // namespace

const std::vector<Instruction> &zerograph::emulator::instructions() {
  static const std::vector<Instruction> all = [] {
    std::vector<Instruction> own = {
        {"shfl.sync.bfly.b32", 1, 4, 4, shuffle},
        {"vote.sync.ballot.b32", 1, 2, 2, ballot},
        {"bar.warp.sync", 0, 1, 1, syncWarp},
        {"bar.sync", 0, 1, 1, syncBlock},
        {"membar.gl", 0, 0, 0, fence},
        {"atom.global.inc.u32", 1, 2, 2, countUp},
    };
    own.insert(own.end(), tensorInstructions().begin(),
               tensorInstructions().end());
    return own;
  }();
  return all;
}
