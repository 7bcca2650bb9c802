//===- CudnnEnginesTest.cpp - what this machine's cuDNN chooses -----------===//
//
// The real library, if it is there, tells which engines it has for a GPU that
// is only described: so descriptors and choosing are tried without one.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudnnConvolution.h"
#include "runtime/device/cuda/CudnnWorkspace.h"
#include "tests/support/ConvolutionCase.h"

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

/// The first version that takes a GPU by its description.
constexpr size_t kDescribed = 91100;

struct DescribedGpu {
  const char *architecture;
  std::string json; ///< as the library writes a GPU's properties
};

DescribedGpu describe(const char *architecture, int version, int processors,
                      int shared_bytes, int l2_bytes, const char *name) {
  return {architecture,
          absl::StrCat(
              R"({"cudaDeviceId": 0, "deviceVer": )", version,
              R"(, "driverVer": 13000, "maxGridSize": [2147483647, 65535, )"
              R"(65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": )"
              R"(65536, "multiProcessorCount": )",
              processors,
              R"(, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, )"
              R"("maxSharedMemoryPerBlockOptin": )",
              shared_bytes,
              R"(, "reservedSharedMemoryPerBlock": 1024, )"
              R"("oversizedSharedMemoryPerBlock": 0, "smCountOrigin": 0, )"
              R"("maxRegistersPerSM": 65536, "maxCtasPerSM": 32, )"
              R"("maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, )"
              R"("pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, )"
              R"("smClockRateKHz": 1410000, "memClockRateKHz": 1593000, )"
              R"("memoryBusWidth": 5120, )"
              R"("l2CacheSize": )",
              l2_bytes, R"(, "totalGlobalMem": 85000000000, "deviceName": ")",
              name, R"("})")};
}

const DescribedGpu kGpus[] = {
    describe("sm_80", 800, 108, 166912, 41943040, "NVIDIA A100-SXM4-80GB"),
    describe("sm_90", 900, 132, 232448, 52428800, "NVIDIA H100 80GB HBM3")};

/// Layers of ResNet-50, with 32 samples, and of models/resnet-mini, with 8.
const ConvolutionShape kLayers[] = {
    {"stem", 32, 1, 3, 64, {224, 224}, {7, 7}, {2, 2}, {3, 3}, {1, 1}},
    {"first", 32, 1, 64, 64, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"pointwise", 32, 1, 256, 64, {56, 56}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"strided", 32, 1, 128, 128, {56, 56}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"shortcut", 32, 1, 256, 512, {56, 56}, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"middle", 32, 1, 256, 256, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"last", 32, 1, 512, 512, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"mini stem", 8, 1, 1, 16, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"mini", 8, 1, 16, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"mini strided", 8, 1, 16, 32, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"mini last", 8, 1, 32, 32, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"mini shortcut", 8, 1, 16, 32, {8, 8}, {1, 1}, {2, 2}, {0, 0}, {1, 1}}};

class CudnnEngines : public ::testing::TestWithParam<DescribedGpu> {
protected:
  void SetUp() override {
    auto found = cudnnApi();
    if (!found.ok()) {
      GTEST_SKIP() << found.status().message();
    }
    api = *found;
    if (api->cudnnGetVersion() < kDescribed) {
      GTEST_SKIP() << cudnnVersion(*api)
                   << " cannot be told of a GPU that is not there; 9.11 can";
    }
    properties =
        CudnnDescriptor::create(*api, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)
            .value();
    const std::string &json = GetParam().json;
    ASSERT_TRUE(properties
                    .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                         CUDNN_TYPE_CHAR, int64_t(json.size()), json.data())
                    .ok());
    absl::Status done = properties.finalize();
    ASSERT_TRUE(done.ok()) << done;
  }

  std::unique_ptr<CudnnConvolution> chosen(const ConvolutionKind &kind) const {
    auto made = CudnnConvolution::create({*api, nullptr, &properties}, kind);
    EXPECT_TRUE(made.ok()) << kind.text() << ": " << made.status();
    if (!made.ok()) {
      return nullptr;
    }
    absl::Status done = (*made)->choose();
    EXPECT_TRUE(done.ok()) << kind.text() << ": " << done;
    return done.ok() ? std::move(*made) : nullptr;
  }
  ConvolutionKind kindOf(const plan::Convolution &shape, bool tf32) const {
    return {shape, tf32,
            convolutionWorkspace(shape, GetParam().architecture, tf32)};
  }

  const CudnnApi *api = nullptr;
  CudnnDescriptor properties;
};

// All shapes, kinds and types have an engine, which can be named again.
TEST_P(CudnnEngines, ThereIsOneForEachConvolution) {
  constexpr CUdeviceptr kMadeUp = 1 << 20; // nothing is executed
  for (const ConvolutionShape &shape : convolutionShapes()) {
    for (plan::ConvolutionKind of : kConvolutionKinds) {
      for (plan::ElementType type :
           {plan::F32, plan::F64, plan::F16, plan::BF16}) {
        ConvolutionKind kind = kindOf(shape.convolution(of, type), false);
        auto one = chosen(kind);
        ASSERT_NE(one, nullptr);
        EXPECT_LE(one->workspaceBytes(), kind.workspace);
        auto read = CudnnEngine::parse(one->engine().text()).value();
        auto again =
            CudnnConvolution::create({*api, nullptr, &properties}, kind)
                .value();
        absl::Status taken = again->take(read);
        EXPECT_TRUE(taken.ok()) << kind.text() << ": " << taken;
        EXPECT_EQ(again->engine().text(), one->engine().text());
        EXPECT_EQ(again->workspaceBytes(), one->workspaceBytes());
        auto pack = one->pack({kMadeUp, 2 * kMadeUp, 3 * kMadeUp}, 4 * kMadeUp);
        EXPECT_TRUE(pack.ok()) << kind.text() << ": " << pack.status();
      }
    }
  }
}

// The planned workspace is enough for what the heuristic would choose with any.
// ZEROGRAPH_SHOW=1 prints it.
TEST_P(CudnnEngines, TheWorkspaceIsEnough) {
  int all = 0, same = 0;
  for (const ConvolutionShape &shape : kLayers) {
    for (plan::ConvolutionKind of : kConvolutionKinds) {
      const std::pair<plan::ElementType, bool> kTypes[] = {{plan::F32, false},
                                                           {plan::F32, true},
                                                           {plan::F16, false},
                                                           {plan::BF16, false}};
      for (auto [type, tf32] : kTypes) {
        ConvolutionKind kind = kindOf(shape.convolution(of, type), tf32);
        ConvolutionKind unbound = kind;
        unbound.workspace = uint64_t(1) << 40;
        auto one = chosen(kind), best = chosen(unbound);
        ASSERT_TRUE(one && best);
        ++all;
        same += one->engine().text() == best->engine().text();
        if (std::getenv("ZEROGRAPH_SHOW")) {
          absl::PrintF("%s %s: %s; planned %d: %s, %d; any: %s, %d\n",
                       GetParam().architecture, shape.name, kind.text(),
                       kind.workspace, one->engine().text(),
                       one->workspaceBytes(), best->engine().text(),
                       best->workspaceBytes());
        }
      }
    }
  }
  EXPECT_GE(same, all * 9 / 10) << "of " << all;
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnEngines, ::testing::ValuesIn(kGpus),
                         [](const auto &info) {
                           return std::string(info.param.architecture);
                         });

} // namespace
