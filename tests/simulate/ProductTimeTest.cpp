//===- ProductTimeTest.cpp - how long products take -----------------------===//

#include "simulate/ProductTime.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace zerograph::simulate {
namespace {

Machine machineOf(const char *name) {
  Machine machine = findMachine(name).value();
  machine.product_share = 1;
  return machine;
}

double secondsOf(const Machine &machine, ProductShape shape) {
  return secondsOfProduct(shape, machine.multiply_bf16 * 1e12, machine);
}

// Six tiles a multiprocessor, and one more, which most wait for.
TEST(ProductTime, TurnsAreWhole) {
  Machine machine = machineOf("h100-sxm");
  auto rate = [&](uint64_t tiles) {
    return double(tiles) / secondsOf(machine, {1, tiles * 256, 128, 512});
  };
  EXPECT_LT(rate(6 * 132 + 1), 0.95 * rate(6 * 132));
  EXPECT_NEAR(rate(60 * 132 + 1), rate(60 * 132), 0.02 * rate(60 * 132));
}

// NVIDIA's model of products (nvidia-matmul-heuristics 0.1.0.27) counts 11 us
// for a launch, and no throttling.
TEST(ProductTime, IsNearNvidiasModel) {
  struct Known {
    const char *machine;
    uint64_t m, n, k;
    double seconds;
  };
  const Known kKnown[] = {
      {"a100-80", 2048, 6144, 2304, 246.5e-6},
      {"a100-80", 16384, 1024, 50304, 5725e-6},
      {"a100-80", 128, 6144, 50304, 570.3e-6},
      {"a100-80", 1024, 8192, 512, 56.06e-6},
      {"a100-80", 16384, 768, 2048, 223.3e-6},
      {"a100-80", 512, 1024, 1024, 18.98e-6},
      {"a100-80", 4096, 4096, 11008, 1293e-6},
      {"a100-80", 128, 28672, 2304, 172.3e-6},
      {"a100-80", 8192, 6144, 8192, 2804e-6},
      {"a100-80", 2048, 512, 3072, 48.35e-6},
      {"a100-80", 2048, 6144, 5120, 502.1e-6},
      {"a100-80", 128, 16384, 2304, 91.01e-6},
      {"h100-sxm", 8192, 256, 2304, 31.43e-6},
      {"h100-sxm", 4096, 14336, 256, 109.7e-6},
      {"h100-sxm", 512, 1536, 1024, 14.4e-6},
      {"h100-sxm", 512, 50304, 384, 59.73e-6},
      {"h100-sxm", 2048, 6144, 5120, 149.3e-6},
      {"h100-sxm", 2048, 1024, 2048, 23.48e-6},
      {"h100-sxm", 16384, 768, 8192, 223.7e-6},
      {"h100-sxm", 8192, 16384, 6144, 2090e-6},
      {"h100-sxm", 2048, 256, 11008, 38.59e-6},
      {"h100-sxm", 128, 14336, 3072, 61.91e-6},
      {"h100-sxm", 2048, 3072, 2304, 47.82e-6},
      {"h100-sxm", 8192, 4096, 28672, 1904e-6},
      {"b200", 512, 3072, 16384, 55.31e-6},
      {"b200", 2048, 768, 384, 11.83e-6},
      {"b200", 8192, 384, 4096, 29.4e-6},
      {"b200", 512, 50304, 384, 36.12e-6},
      {"b200", 1024, 1536, 4096, 21.12e-6},
      {"b200", 8192, 256, 2304, 23.08e-6},
      {"b200", 4096, 768, 5120, 28.35e-6},
      {"b200", 128, 4096, 8192, 27.53e-6},
      {"b200", 512, 3072, 4096, 21.19e-6},
      {"b200", 128, 1536, 4096, 14.85e-6},
      {"b200", 4096, 1536, 28672, 219.1e-6},
      {"b200", 1024, 3072, 768, 14.72e-6},
  };
  std::map<std::string, std::vector<double>> errors; // by machine
  for (const Known &known : kKnown) {
    Machine machine = machineOf(known.machine);
    double seconds = secondsOf(machine, {1, known.m, known.n, known.k}) + 11e-6;
    errors[known.machine].push_back(std::abs(seconds / known.seconds - 1));
  }
  for (auto &[machine, all] : errors) {
    std::sort(all.begin(), all.end());
    EXPECT_LT(all[all.size() / 2], 0.15) << machine;
  }
}

TEST(ProductTime, LargeProductsReachThePeak) {
  Machine machine = machineOf("h100-sxm");
  ProductShape shape{1, 16384, 16384, 16384};
  double peak = 2 * std::pow(16384.0, 3) / (machine.multiply_bf16 * 1e12);
  EXPECT_NEAR(secondsOf(machine, shape), peak, 0.1 * peak);
  machine.product_share = 0.5;
  EXPECT_NEAR(secondsOf(machine, shape), 2 * peak, 0.2 * peak);
}

TEST(ProductTime, OfAHostFollowsFromOperations) {
  Machine machine = findMachine("x86-server").value();
  EXPECT_DOUBLE_EQ(secondsOfProduct({2, 10, 20, 30}, 1e12, machine),
                   2 * 2 * 10 * 20 * 30 / (1e12 * machine.product_share));
}

} // namespace
} // namespace zerograph::simulate
