//===- MomentsTest.cpp - norms of equal numbers and of common offsets -----===//
//
// Every operator and every way to write a norm, run and compared with float64.
// Nothing is left of equal numbers, and a common offset costs no more than the
// rounding of one mean.
//
//===----------------------------------------------------------------------===//

#include "runtime/io/SafetensorsWriter.h"
#include "tests/e2e/ForwardRun.h"
#include "tests/frontend/Fixture.h"

#include <cmath>
#include <functional>
#include <random>

namespace zerograph {
namespace {

constexpr uint64_t kSamples = 4, kChannels = 6, kPlaces = 131;
constexpr uint64_t kSize = kSamples * kChannels * kPlaces;

/// A norm of x, [samples, channels, places], and which elements it takes
/// together: those for which `groupOf(sample, channel)` is the same.
struct Norm {
  std::string name;
  std::string nodes; // make y of x
  std::function<uint64_t(uint64_t, uint64_t)> groupOf;
  double epsilon = 1e-5; // added to the variance
};

void PrintTo(const Norm &norm, std::ostream *stream) { *stream << norm.name; }

uint64_t ofRow(uint64_t sample, uint64_t channel) {
  return sample * kChannels + channel;
}
uint64_t ofChannel(uint64_t, uint64_t channel) { return channel; }
uint64_t ofHalf(uint64_t sample, uint64_t channel) {
  return sample * 2 + channel / (kChannels / 2);
}

/// Divides what is centered by the root of a variance.
const char *const kDivide = R"(
  epsilon = Constant <value_float = 1e-5> ()
  shifted = Add (variance, epsilon)
  root = Sqrt (shifted)
  y = Div (centered, root)
)";

const Norm kNorms[] = {
    {"layer",
     "y = LayerNormalization <axis = 2> (x, ones_places, zeros_places)", ofRow},
    {"instance", "y = InstanceNormalization (x, ones, zeros)", ofRow},
    {"batch",
     "y, a, b = BatchNormalization <training_mode = 1> (x, ones, zeros, zeros, "
     "ones)",
     ofChannel},
    {"group", "y = GroupNormalization <num_groups = 2> (x, ones, zeros)",
     ofHalf},
    {"mean_variance", "y = MeanVarianceNormalization <axes = [0, 2]> (x)",
     ofChannel, 0},
    {"rows_by_hand", std::string(R"(
  axes = Constant <value_ints = [2]> ()
  mean = ReduceMean (x, axes)
  centered = Sub (x, mean)
  squares = Mul (centered, centered)
  variance = ReduceMean (squares, axes)
)") + kDivide,
     ofRow},
    {"channels_by_hand", std::string(R"(
  axes = Constant <value_ints = [0, 2]> ()
  flat = ReduceMean <keepdims = 0> (x, axes)
  mean = Unsqueeze (flat, axes)
  centered = Sub (x, mean)
  two = Constant <value_float = 2.0> ()
  squares = Pow (centered, two)
  variance = ReduceMean (squares, axes)
)") + kDivide,
     ofChannel},
};

class Moments : public ::testing::TestWithParam<Norm> {
protected:
  std::vector<float> run(const std::vector<float> &x) {
    std::string text =
        "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[4, 6, 131] x) "
        "=> (float[4, 6, 131] y)\n<float[6] ones = {1, 1, 1, 1, 1, 1}, "
        "float[6] zeros = {0, 0, 0, 0, 0, 0}>\n{\n"
        "  places = Constant <value_ints = [131]> ()\n"
        "  ones_places = ConstantOfShape <value = float[1] {1}> (places)\n"
        "  zeros_places = ConstantOfShape (places)\n" +
        GetParam().nodes + "\n}";
    auto plan = files.compile(frontend::testing::parse(text), {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    auto writer = SafetensorsWriter::create(
        files.path("data"), {{"x", plan::F32, {kSamples, kChannels, kPlaces}}});
    EXPECT_TRUE(writer.ok()) << writer.status();
    std::vector<float> y(kSize);
    if (!plan.ok() || !writer.ok()) {
      return y;
    }
    EXPECT_TRUE((*writer)->write("x", 0, x.size() * 4, x.data()).ok());
    EXPECT_TRUE((*writer)->commit().ok());
    auto result = files.run(*plan);
    EXPECT_TRUE(result.ok()) << result.status();
    auto found = readTensors(files.path("out"));
    EXPECT_TRUE(found.ok()) << found.status();
    const TensorExtent &extent = found->at("y");
    EXPECT_TRUE(extent.file->read(extent.offset, kSize * 4, y.data()).ok());
    return y;
  }

  /// Each group's numbers, normalized in float64.
  std::vector<double> expected(const std::vector<float> &x) const {
    struct Group {
      double count = 0, sum = 0, squares = 0;
    };
    std::vector<Group> groups(kSamples * kChannels);
    auto group = [&](uint64_t i) -> Group & {
      return groups[GetParam().groupOf(i / kPlaces / kChannels,
                                       i / kPlaces % kChannels)];
    };
    for (uint64_t i = 0; i < kSize; ++i) {
      group(i).count += 1;
      group(i).sum += x[i];
    }
    auto centered = [&](uint64_t i) {
      return x[i] - group(i).sum / group(i).count;
    };
    for (uint64_t i = 0; i < kSize; ++i) {
      group(i).squares += centered(i) * centered(i);
    }
    std::vector<double> y;
    for (uint64_t i = 0; i < kSize; ++i) {
      double variance = group(i).squares / group(i).count;
      y.push_back(centered(i) / std::sqrt(variance + GetParam().epsilon));
    }
    return y;
  }

  void expectClose(const std::vector<float> &x, double rounding) {
    std::vector<double> wanted = expected(x);
    std::vector<float> y = run(x);
    double worst = 0;
    for (uint64_t i = 0; i < kSize; ++i) {
      double allowed = 1.1 * rounding + 6e-7 * (1 + std::fabs(wanted[i]));
      worst = std::max(worst, std::fabs(y[i] - wanted[i]) / allowed);
    }
    EXPECT_LT(worst, 1);
  }

  testing::ForwardRun files;
};

TEST_P(Moments, OfEqualNumbersNothingIsLeft) {
  for (float value : {1000.1f, 12345.678f, 1e-3f, 0.1f, -3.3e7f}) {
    SCOPED_TRACE(value);
    std::vector<float> x(kSize);
    for (uint64_t i = 0; i < kSize; ++i) {
      x[i] = value * float(1 + GetParam().groupOf(i / kPlaces / kChannels,
                                                  i / kPlaces % kChannels));
    }
    EXPECT_EQ(run(x), std::vector<float>(kSize));
  }
}

TEST_P(Moments, AnOffsetCostsAtMostTheRoundingOfAMean) {
  for (float offset : {0.0f, 10.0f, 1000.0f, 1e5f}) {
    SCOPED_TRACE(offset);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> x(kSize);
    for (float &value : x) {
      value = offset + normal(random);
    }
    expectClose(x, std::ldexp(offset, -24)); // half an ulp, or more
  }
}

/// The first of a row is what is subtracted, and should lie far away.
TEST_P(Moments, AnOutlierInFrontCostsNothing) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(kSize);
  for (uint64_t i = 0; i < kSize; ++i) {
    x[i] = i % kPlaces == 0 ? 1e5f : normal(random);
  }
  expectClose(x, 0);
}

INSTANTIATE_TEST_SUITE_P(Norms, Moments, ::testing::ValuesIn(kNorms),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace zerograph
