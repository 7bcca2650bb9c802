//===- RecurrentTest.cpp - LSTM, GRU, RNN ---------------------------------===//
//
// ONNX's node tests cover the cells; this is what they leave out: directions,
// lengths, clipping, activations.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Evaluate.h"

#include <cmath>

namespace zerograph::frontend::testing {

namespace {

/// Numbers between -1 and 1, all different.
Numbers numbers(size_t count, double seed) {
  Numbers result;
  for (size_t i = 0; i < count; ++i) {
    result.push_back(std::sin(seed + 1.7 * static_cast<double>(i)));
  }
  return result;
}

constexpr int kSteps = 3, kBatch = 2, kInput = 2, kHidden = 2;

struct Cell {
  const char *op;
  int gates;
};
const Cell kCells[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};

/// A model with one cell; its inputs are x, w, r, b and, if `lengths` is set,
/// those.
std::string graph(const Cell &cell, const std::string &attributes,
                  int directions = 1, bool lengths = false,
                  int steps = kSteps) {
  auto size = [](int n) { return std::to_string(n); };
  std::string d = size(directions), rows = size(cell.gates * kHidden);
  std::string text = "g (float[" + size(steps) + ", 2, 2] x, float[" + d +
                     ", " + rows + ", 2] w, float[" + d + ", " + rows +
                     ", 2] r, float[" + d + ", " +
                     size(2 * cell.gates * kHidden) + "] b";
  text += lengths ? ", int32[2] n" : "";
  text += ") => (float[" + size(steps) + ", " + d + ", 2, 2] y, float[" + d +
          ", 2, 2] h) { [cell] y, h = " + cell.op + " <hidden_size = 2" +
          attributes + "> (x, w, r, b" + (lengths ? ", n" : "") + ") }";
  return text;
}

struct Data {
  Numbers x = numbers(kSteps * kBatch * kInput, 0.3), w, r, b;
  explicit Data(const Cell &cell, int directions = 1)
      : w(numbers(directions * cell.gates * kHidden * kInput, 1.1)),
        r(numbers(directions * cell.gates * kHidden * kHidden, 2.9)),
        b(numbers(directions * 2 * cell.gates * kHidden, 5.3)) {}
};

/// The rows [steps] of a sequence in the other order.
Numbers backwards(const Numbers &x, int steps) {
  size_t row = x.size() / steps;
  Numbers result;
  for (int t = steps; t-- > 0;) {
    result.insert(result.end(), x.begin() + t * row, x.begin() + (t + 1) * row);
  }
  return result;
}

TEST(Recurrent, ReverseRunsFromTheEnd) {
  for (const Cell &cell : kCells) {
    Data data(cell);
    auto forward = runAll(import(graph(cell, "")),
                          {backwards(data.x, kSteps), data.w, data.r, data.b});
    auto reverse = runAll(import(graph(cell, ", direction = \"reverse\"")),
                          {data.x, data.w, data.r, data.b});
    EXPECT_EQ(backwards(forward[0], kSteps), reverse[0]) << cell.op;
    EXPECT_EQ(forward[1], reverse[1]) << cell.op;
  }
}

TEST(Recurrent, BothDirectionsAreTwoRuns) {
  for (const Cell &cell : kCells) {
    Data data(cell, 2);
    auto both =
        runAll(import(graph(cell, ", direction = \"bidirectional\"", 2)),
               {data.x, data.w, data.r, data.b});
    auto half = [](const Numbers &list, bool second) {
      size_t n = list.size() / 2;
      return Numbers(list.begin() + (second ? n : 0),
                     list.begin() + (second ? 2 * n : n));
    };
    for (bool second : {false, true}) {
      auto one =
          runAll(import(graph(cell, second ? ", direction = \"reverse\"" : "")),
                 {data.x, half(data.w, second), half(data.r, second),
                  half(data.b, second)});
      EXPECT_EQ(half(both[1], second), one[1]) << cell.op;
      // [T, 2, B, H]: every other block of B x H.
      Numbers own;
      for (int t = 0; t < kSteps; ++t) {
        auto begin = both[0].begin() + (2 * t + second) * kBatch * kHidden;
        own.insert(own.end(), begin, begin + kBatch * kHidden);
      }
      EXPECT_EQ(own, one[0]) << cell.op;
    }
  }
}

TEST(Recurrent, BehindItsLengthASequenceStandsStill) {
  for (const Cell &cell : kCells) {
    for (const char *direction : {"", ", direction = \"reverse\""}) {
      Data data(cell);
      // The first sample ends after one step, the second is whole.
      auto found = runAll(import(graph(cell, direction, 1, true)),
                          {data.x, data.w, data.r, data.b, {1, kSteps}});
      auto whole = runAll(import(graph(cell, direction)),
                          {data.x, data.w, data.r, data.b});
      Numbers first(data.x.begin(), data.x.begin() + kBatch * kInput);
      auto begun = runAll(import(graph(cell, direction, 1, false, 1)),
                          {first, data.w, data.r, data.b});
      for (int k = 0; k < kHidden; ++k) {
        EXPECT_EQ(found[1][k], begun[1][k]);
        EXPECT_EQ(found[1][kHidden + k], whole[1][kHidden + k]);
        EXPECT_EQ(found[0][k], begun[0][k]);
        for (int t = 1; t < kSteps; ++t) {
          EXPECT_EQ(found[0][t * kBatch * kHidden + k], 0);
        }
      }
    }
  }
}

TEST(Recurrent, ClipsAndTakesOtherActivations) {
  Cell rnn = kCells[0];
  Data data(rnn);
  auto plain = run(
      import(graph(rnn,
                   ", activations = [\"Affine\"], "
                   "activation_alpha = [2.0], "
                   "activation_beta = [1.0]",
                   1, false, 1)),
      {Numbers(data.x.begin(), data.x.begin() + 4), data.w, data.r, data.b});
  auto clipped = run(
      import(graph(rnn,
                   ", activations = [\"affine\"], "
                   "activation_alpha = [2.0], "
                   "activation_beta = [1.0], clip = 0.25",
                   1, false, 1)),
      {Numbers(data.x.begin(), data.x.begin() + 4), data.w, data.r, data.b});
  bool cut = false;
  for (size_t i = 0; i < plain.size(); ++i) {
    double before = (plain[i] - 1) / 2;
    cut |= std::fabs(before) > 0.25;
    EXPECT_NEAR(clipped[i], 2 * std::clamp(before, -0.25, 0.25) + 1, 1e-12);
  }
  EXPECT_TRUE(cut);
}

TEST(Recurrent, TheInputsPartIsOneProduct) {
  Imported imported = import(graph(kCells[2], ""));
  // And one a step after the first, whose state is zero.
  EXPECT_EQ(imported.count("nn.matmul"), kSteps);
  EXPECT_TRUE(imported.has("tensor<6x2xf32>, tensor<8x2xf32>"));
}

TEST(Recurrent, Refuses) {
  expectRefused(import(graph(kCells[2], ", activations = [\"Sigmoid\", "
                                        "\"Wobble\", \"Tanh\"]")),
                {"node 'cell' (LSTM): activation 'Wobble'", "Softsign"});
  expectRefused(import(graph(kCells[1], ", direction = \"up\"")),
                {"node 'cell' (GRU): direction='up'", "'bidirectional'"});
  expectRefused(import(graph(kCells[1], "", 2)),
                {"W has shape 2x6x2", "1x6x2 is expected"});
  expectRefused(import(graph(kCells[0], "", 1, false, 5000)),
                {"unrolls into 5000 steps", "4096"});
  // As PyTorch's exporter writes proj_size: 4 x 3 gates, a state of 2.
  expectRefused(import(R"(
g (float[3, 2, 2] x, float[1, 12, 2] w, float[1, 12, 2] r) =>
  (float[3, 1, 2, 2] y) {
  [cell] y = LSTM <hidden_size = 2> (x, w, r)
})"),
                {"node 'cell' (LSTM): its cell has 3 elements and its output 2",
                 "an LSTM with proj_size", "weight_hr_l0", "proj_size=0"});
  // Three times that many rows would overflow.
  expectRefused(import(R"(
g (float[3, 2, 2] x, float[1, 6, 2] w, float[1, 6, 2] r) =>
  (float[3, 1, 2, 2] y) {
  [cell] y = GRU <hidden_size = 9223372036854775807> (x, w, r)
})"),
                {"node 'cell' (GRU): hidden_size=9223372036854775807",
                 "R has shape 1x6x2", "expected its last dimension, 2"});
}

} // namespace

} // namespace zerograph::frontend::testing
