//===- TensorInstructions.cpp - tensor cores on the CPU -------------------===//

#include "tests/emulator/TensorInstructions.h"

#include "tests/emulator/Block.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace zerograph::emulator;

namespace {

float fromHalf(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }
float fromBrain(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

uint32_t toHalf(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}
uint32_t toBrain(float value) {
  if (std::isnan(value)) {
    return 0x7fff;
  }
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// Returns element `place` of a thread's words.
uint16_t half(const Block::Words &words, uint32_t first, uint32_t place) {
  return uint16_t(words[first + place / 2] >> place % 2 * 16);
}

constexpr const char kMultiplyHalf[] = "mma.sync of f16";
constexpr const char kMultiplyBrain[] = "mma.sync of bf16";
constexpr const char kLoad[] = "ldmatrix";
constexpr const char kLoadTransposed[] = "ldmatrix.trans";

/// Adds a product of 16 by 16 by 8 numbers. A thread has its group's row and
/// the eighth after it, and two neighbouring columns.
void multiply(const char *instruction, float *sums, const Block::Words &own,
              const float *before, float (*toFloat)(uint16_t)) {
  Block &block = Block::current();
  const Block::Words *all = block.together(instruction, own);
  uint32_t group = block.lane() / 4, place = block.lane() % 4;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t col = 2 * place + i % 2;
    float sum = before[i];
    for (uint32_t depth = 0; depth < 16; ++depth) {
      uint32_t lane = depth % 8 / 2, upper = depth / 8, side = depth % 2;
      uint16_t left =
          half(all[group * 4 + lane], 0, upper * 4 + i / 2 * 2 + side);
      uint16_t right = half(all[col * 4 + lane], 4, upper * 2 + side);
      sum += toFloat(left) * toFloat(right);
    }
    sums[i] = sum;
  }
}

/// Operands: four words, two, and the four numbers that a product is added to.
template <const char *instruction, float (*toFloat)(uint16_t)>
void multiplyWords(uint32_t *results, const uint64_t *operands, uint32_t,
                   uint32_t) {
  Block::Words own;
  float before[4], sums[4];
  for (uint32_t i = 0; i < own.size(); ++i) {
    own[i] = uint32_t(operands[i]);
  }
  for (uint32_t i = 0; i < 4; ++i) {
    before[i] = std::bit_cast<float>(uint32_t(operands[own.size() + i]));
  }
  multiply(instruction, sums, own, before, toFloat);
  std::memcpy(results, sums, sizeof sums);
}

/// Loads four matrices of 8 by 8 numbers, of each of which 8 threads say where
/// rows begin.
template <bool transposed>
void loadMatrices(uint32_t *words, const uint64_t *operands, uint32_t,
                  uint32_t site) {
  Block &block = Block::current();
  uint64_t address = operands[0];
  block.touch(address, 16, Access::kRead, site);
  const Block::Words *all =
      block.together(transposed ? kLoadTransposed : kLoad,
                     {uint32_t(address), uint32_t(address >> 32)});
  auto read = [&](uint32_t matrix, uint32_t line, uint32_t col) {
    const Block::Words &from = all[matrix * 8 + line];
    uint16_t bits = 0;
    std::memcpy(&bits,
                std::bit_cast<const char *>(from[0] | uint64_t(from[1]) << 32) +
                    2 * col,
                sizeof bits);
    return uint32_t(bits);
  };
  uint32_t group = block.lane() / 4, pair = block.lane() % 4 * 2;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t low = transposed ? read(i, pair, group) : read(i, group, pair);
    uint32_t high =
        transposed ? read(i, pair + 1, group) : read(i, group, pair + 1);
    words[i] = low | high << 16;
  }
}

/// Operands: to, from, 16, and how many bytes are not zeros.
void copy(uint32_t *, const uint64_t *operands, uint32_t count, uint32_t site) {
  Block::current().copyLater(std::bit_cast<char *>(operands[0]),
                             std::bit_cast<const char *>(operands[1]),
                             count > 3 ? uint32_t(operands[3]) : 16, site);
}
void finishCopies(uint32_t *, const uint64_t *, uint32_t, uint32_t) {
  Block::current().finishCopies();
}

/// Operands: the upper half of the result, and the lower one.
template <uint32_t (*round)(float)>
void roundPair(uint32_t *result, const uint64_t *operands, uint32_t, uint32_t) {
  auto half = [](uint64_t bits) {
    return round(std::bit_cast<float>(uint32_t(bits)));
  };
  *result = half(operands[0]) << 16 | half(operands[1]);
}

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

/// These have zeros in place of subnormal numbers.
float power(float x) { return flushed(std::exp2(flushed(x))); }
float reciprocal(float x) { return flushed(1 / flushed(x)); }

template <float (*function)(float)>
void approximate(uint32_t *result, const uint64_t *operands, uint32_t,
                 uint32_t) {
  float x = std::bit_cast<float>(uint32_t(operands[0]));
  *result = std::bit_cast<uint32_t>(function(x));
}

} // namespace

const std::vector<Instruction> &zerograph::emulator::tensorInstructions() {
  static const std::vector<Instruction> all = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 10, 10,
       multiplyWords<kMultiplyBrain, fromBrain>},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 10, 10,
       multiplyWords<kMultiplyHalf, fromHalf>},
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", 4, 1, 1,
       loadMatrices<false>},
      {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 4, 1, 1,
       loadMatrices<true>},
      {"cp.async.cg.shared.global", 0, 3, 4, copy},
      {"cp.async.wait_all", 0, 0, 0, finishCopies},
      {"cvt.rn.bf16x2.f32", 1, 2, 2, roundPair<toBrain>},
      {"cvt.rn.f16x2.f32", 1, 2, 2, roundPair<toHalf>},
      {"ex2.approx.ftz.f32", 1, 1, 1, approximate<power>},
      {"rcp.approx.ftz.f32", 1, 1, 1, approximate<reciprocal>},
  };
  return all;
}
