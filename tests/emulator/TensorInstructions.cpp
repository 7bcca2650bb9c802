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

template <const char *instruction, float (*toFloat)(uint16_t)>
void multiplyWords(float *sums, uint32_t a0, uint32_t a1, uint32_t a2,
                   uint32_t a3, uint32_t b0, uint32_t b1, float c0, float c1,
                   float c2, float c3) {
  const float before[] = {c0, c1, c2, c3};
  multiply(instruction, sums, {a0, a1, a2, a3, b0, b1}, before, toFloat);
}

/// Loads four matrices of 8 by 8 numbers, of each of which 8 threads say where
/// rows begin.
template <bool transposed>
void loadMatrices(uint32_t *words, const char *row) {
  Block &block = Block::current();
  uint64_t address = std::bit_cast<uint64_t>(row);
  block.touch(address, 16, /*write=*/false);
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

void copy(char *to, const char *from) {
  Block::current().copyLater(to, from, 16);
}
void copyPart(char *to, const char *from, int32_t bytes) {
  Block::current().copyLater(to, from, uint32_t(bytes));
}
void finishCopies() { Block::current().finishCopies(); }

template <uint32_t (*round)(float)>
uint32_t roundPair(float high, float low) {
  return round(high) << 16 | round(low);
}

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

/// These have zeros in place of subnormal numbers.
float power(float x) { return flushed(std::exp2(flushed(x))); }
float reciprocal(float x) { return flushed(1 / flushed(x)); }

} // namespace

const std::vector<Instruction> &zerograph::emulator::tensorInstructions() {
  static const std::vector<Instruction> all = {
      {"emulator.mma.m16n8k16.row.col.bf16",
       pointerTo(multiplyWords<kMultiplyBrain, fromBrain>)},
      {"emulator.mma.m16n8k16.row.col.f32.f32",
       pointerTo(multiplyWords<kMultiplyHalf, fromHalf>)},
      {"emulator.ldmatrix.sync.aligned.m8n8.x4.b16.p3",
       pointerTo(loadMatrices<false>)},
      {"emulator.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3",
       pointerTo(loadMatrices<true>)},
      {"emulator.cp.async.cg.shared.global.16", pointerTo(copy)},
      {"emulator.cp.async.cg.shared.global.16.s", pointerTo(copyPart)},
      {"emulator.cp.async.wait.all", pointerTo(finishCopies)},
      {"emulator.ff2bf16x2.rn", pointerTo(roundPair<toBrain>)},
      {"emulator.ff2f16x2.rn", pointerTo(roundPair<toHalf>)},
      {"emulator.ex2.approx.ftz.f", pointerTo(power)},
      {"emulator.rcp.approx.ftz.f", pointerTo(reciprocal)},
  };
  return all;
}
