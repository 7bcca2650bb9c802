//===- CublasLtTest.cpp - products by cuBLASLt, on the emulated GPU -------===//

#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/LibraryWorkspace.h"
#include "tests/emulator/CublasLt.h"
#include "tests/support/CutProduct.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace zerograph;

namespace {

uint64_t sizeOf(plan::ElementType type) {
  return type == plan::F64 ? 8 : type == plan::F32 ? 4 : 2;
}

double load(plan::ElementType type, const char *from) {
  auto as = [&](auto value) {
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  switch (type) {
  case plan::F64:
    return as(double());
  case plan::F16:
    return double(as(_Float16()));
  case plan::BF16:
    return std::bit_cast<float>(uint32_t(as(uint16_t())) << 16);
  default:
    return as(float());
  }
}

/// Exact for halves of small numbers.
void store(plan::ElementType type, double value, char *to) {
  auto as = [&](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (type) {
  case plan::F64:
    return as(value);
  case plan::F16:
    return as(_Float16(value));
  case plan::BF16:
    return as(uint16_t(std::bit_cast<uint32_t>(float(value)) >> 16));
  default:
    return as(float(value));
  }
}

/// A plan with one product. Its slices follow each other in one arena.
struct OneProduct {
  OneProduct(plan::ElementType type, uint64_t batch, uint64_t m, uint64_t n,
             uint64_t k, bool transpose_a, bool transpose_b,
             uint64_t workspace = 0, bool tf32 = false, bool bias = false) {
    plan.add_devices()->set_device("cuda");
    plan.mutable_devices(0)->set_allow_tf32(tf32);
    plan::Program &program = *plan.add_programs();
    program.set_name("step");
    step = program.add_steps();
    step->set_name("product");
    plan::Matmul &matmul = *step->mutable_matmul();
    matmul.set_element_type(type);
    matmul.set_batch(batch);
    matmul.set_m(m);
    matmul.set_n(n);
    matmul.set_k(k);
    matmul.set_transpose_a(transpose_a);
    matmul.set_transpose_b(transpose_b);
    matmul.set_bias(bias);
    plan.add_arenas()->set_alignment(64);
    for (uint64_t bytes :
         {batch * m * k * sizeOf(type), batch * k * n * sizeOf(type),
          batch * m * n * sizeOf(type), bias ? n * sizeOf(type) : 0,
          workspace}) {
      if (bytes == 0) {
        continue;
      }
      plan::Slice &slice = *plan.add_slices();
      slice.set_offset(arena);
      slice.set_bytes(bytes);
      step->add_accesses()->set_slice(uint32_t(plan.slices_size() - 1));
      step->mutable_accesses(plan.slices_size() - 1)->set_bytes(bytes);
      arena += (bytes + 63) / 64 * 64;
    }
  }

  const plan::Matmul &matmul() const { return step->matmul(); }
  uint64_t offset(int access) const { return plan.slices(access).offset(); }
  uint64_t bytes(int access) const { return plan.slices(access).bytes(); }

  /// Returns element (i, j) of matrix `which` of C, in float64.
  double exact(const std::string &memory, uint64_t which, uint64_t i,
               uint64_t j) const {
    const plan::Matmul &of = matmul();
    uint64_t m = of.m(), n = of.n(), k = of.k();
    double sum = of.bias() ? element(memory, 3, j) : 0;
    for (uint64_t p = 0; p < k; ++p) {
      uint64_t at_a = of.transpose_a() ? p * m + i : i * k + p;
      uint64_t at_b = of.transpose_b() ? j * k + p : p * n + j;
      sum += element(memory, 0, which * m * k + at_a) *
             element(memory, 1, which * k * n + at_b);
    }
    return sum;
  }
  double element(const std::string &memory, int access, uint64_t at) const {
    plan::ElementType type = matmul().element_type();
    return load(type, memory.data() + offset(access) + at * sizeOf(type));
  }

  plan::Plan plan;
  plan::Step *step = nullptr;
  uint64_t arena = 0;
  bool fine = false; // operands have bits that only f32 and f64 hold
};

class CublasLtTest : public ::testing::Test {
protected:
  /// The arena after a run, under the schedule of a seed.
  std::string run(const OneProduct &product, uint32_t seed = 1,
                  const std::string &algorithms = "") {
    emulator::Gpu gpu(seed);
    std::string memory(product.arena, 0);
    {
      emulator::CublasLt library(gpu);
      absl::Status status = runOn(product, memory, algorithms);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(library.products(), 2u); // when it is loaded, and in the run
      EXPECT_EQ(library.leftovers(), "");
    }
    EXPECT_EQ(gpu.complaint(), "");
    EXPECT_EQ(gpu.leftovers(), "");
    return memory;
  }

  /// With the installed emulator.
  static absl::Status runOn(const OneProduct &product, std::string &memory,
                            const std::string &algorithms = "") {
    const CudaApi &api = **cudaApi();
    ZG_ASSIGN_OR_RETURN(auto context, CudaContext::open(api, 0));
    ZG_ASSIGN_OR_RETURN(Algorithms known, Algorithms::open(algorithms));
    ZG_ASSIGN_OR_RETURN(auto library,
                        CublasLt::open(context, product.plan, known));
    ZG_RETURN_IF_ERROR(known.finish());
    ZG_ASSIGN_OR_RETURN(
        auto buffer, makeCudaBuffer(context, plan::DEVICE, product.arena, 64));
    fill(product, memory);
    ZG_RETURN_IF_ERROR(buffer->write(0, memory.data(), memory.size()));
    StepBinding binding;
    binding.step = product.step;
    for (int i = 0; i < product.plan.slices_size(); ++i) {
      binding.ranges.push_back(
          {buffer.get(), product.offset(i), product.bytes(i)});
    }
    ZG_ASSIGN_OR_RETURN(auto operation, library->bind(binding));
    CUstream stream = nullptr;
    ZG_CUDA(api, cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING,
            0);
    absl::Status status = operation->issue({stream, 0});
    status.Update(cudaStatus(api, api.cuStreamSynchronize(stream),
                             "cuStreamSynchronize"));
    ZG_CUDA(api, cuStreamDestroy, stream);
    ZG_RETURN_IF_ERROR(status);
    return buffer->read(0, memory.data(), memory.size());
  }

  /// Operands with numbers that all types hold unless they are to be finer;
  /// NaNs in the rest.
  static void fill(const OneProduct &product, std::string &memory) {
    memory.assign(product.arena, char(0xff));
    std::mt19937 random(7);
    plan::ElementType type = product.matmul().element_type();
    for (int access : {0, 1, 3}) {
      if (access == 3 && !product.matmul().bias()) {
        continue;
      }
      for (uint64_t at = 0; at < product.bytes(access); at += sizeOf(type)) {
        double value = double(int(random() % 255) - 127) / 64;
        value += product.fine ? double(random() % 1024) / (1 << 20) : 0;
        store(type, value, memory.data() + product.offset(access) + at);
      }
    }
  }

  static std::string result(const OneProduct &product,
                            const std::string &memory) {
    return memory.substr(product.offset(2), product.bytes(2));
  }
};

void expectRight(const OneProduct &product, const std::string &memory,
                 double tolerance) {
  const plan::Matmul &of = product.matmul();
  for (uint64_t row = 0; row < of.batch() * of.m(); ++row) {
    for (uint64_t j = 0; j < of.n(); ++j) {
      double want = product.exact(memory, row / of.m(), row % of.m(), j);
      double got = product.element(memory, 2, row * of.n() + j);
      ASSERT_NEAR(got, want, tolerance * (1 + std::abs(want)))
          << of.ShortDebugString() << " row " << row << " column " << j;
    }
  }
}

TEST_F(CublasLtTest, ShapesTransposesBatchesAndTypes) {
  const std::pair<plan::ElementType, double> kTypes[] = {{plan::F32, 1e-5},
                                                         {plan::F64, 1e-14},
                                                         {plan::F16, 1e-3},
                                                         {plan::BF16, 8e-3}};
  constexpr uint64_t kSizes[][4] = {
      {1, 1, 1, 1}, {1, 5, 7, 3}, {3, 6, 4, 9}, {2, 1, 9, 130}, {1, 16, 8, 64}};
  for (auto [type, tolerance] : kTypes) {
    for (auto [batch, m, n, k] : kSizes) {
      for (int transposes = 0; transposes < 4; ++transposes) {
        OneProduct product(type, batch, m, n, k, transposes & 1,
                           transposes & 2);
        expectRight(product, run(product), tolerance);
      }
    }
  }
}

// A product with a bias is not summed by parts, even if there is room for them.
TEST_F(CublasLtTest, AddsABias) {
  for (auto [type, tolerance] :
       {std::pair(plan::F32, 1e-5), {plan::F64, 1e-14}, {plan::BF16, 8e-3}}) {
    std::string first;
    for (uint64_t workspace : {uint64_t(0), 4096 + kWorkspaceSlack}) {
      OneProduct product(type, 2, 12, 10, 96, false, true, workspace,
                         /*tf32=*/false, /*bias=*/true);
      product.fine = type != plan::BF16;
      std::string memory = run(product);
      expectRight(product, memory, tolerance);
      std::string got = result(product, memory);
      EXPECT_TRUE(first.empty() || got == first);
      first = got;
    }
  }
}

TEST_F(CublasLtTest, ABiasThatIsAlignedWorseIsRefused) {
  emulator::Gpu gpu(1);
  emulator::CublasLt library(gpu);
  OneProduct product(plan::F32, 1, 12, 10, 96, false, true, /*workspace=*/0,
                     /*tf32=*/false, /*bias=*/true);
  product.step->mutable_accesses(3)->set_offset(8);
  std::string memory;
  expectSays(runOn(product, memory), "its bias begins at a multiple of 8 bytes",
             "cuBLASLt takes one at a multiple of 16");
}

// With a workspace the emulated library sums up halves of k there, and writes
// over all that it was given.
TEST_F(CublasLtTest, InAWorkspace) {
  OneProduct plain(plan::F32, 2, 12, 10, 300, false, true);
  OneProduct halves(plan::F32, 2, 12, 10, 300, false, true,
                    4096 + kWorkspaceSlack);
  plain.fine = halves.fine = true;
  std::string one = run(plain), other = run(halves);
  expectRight(halves, other, 1e-5);
  EXPECT_TRUE(result(plain, one) != result(halves, other));
}

// Ranks compare the version and what was chosen.
TEST_F(CublasLtTest, ChoicesAreToldApart) {
  std::set<std::string> all;
  for (size_t version : {130100, 130101}) {
    for (uint64_t workspace : {0, 4096}) {
      OneProduct product(plan::F32, 1, 12, 10, 300, false, false, workspace);
      for (uint32_t seed : {1, 2}) {
        emulator::Gpu gpu(seed);
        emulator::CublasLt library(gpu, version);
        auto context = CudaContext::open(**cudaApi(), 0).value();
        Algorithms none;
        auto opened = CublasLt::open(context, product.plan, none).value();
        all.insert(opened->choices());
      }
    }
  }
  EXPECT_EQ(all.size(), 4u);
  expectSays(*all.begin(), "cuBLASLt 13.1.0 on sm_80 with 4 "
                           "multiprocessors, algorithms ");
}

// The library also has algorithms whose sums have no order.
TEST_F(CublasLtTest, TheSameBitsUnderAllSchedules) {
  OneProduct product(plan::F32, 1, 12, 10, 300, true, false,
                     4096 + kWorkspaceSlack);
  product.fine = true;
  std::string first = run(product, 1);
  for (uint32_t seed = 2; seed < 6; ++seed) {
    EXPECT_TRUE(result(product, first) == result(product, run(product, seed)));
  }
}

TEST_F(CublasLtTest, Tf32IfThePlanAllowsIt) {
  OneProduct exact(plan::F32, 1, 12, 10, 30, false, false);
  OneProduct fast(plan::F32, 1, 12, 10, 30, false, false, 0, /*tf32=*/true);
  EXPECT_TRUE(result(exact, run(exact)) == result(fast, run(fast)))
      << "few bits, which TF32 has too";
  exact.fine = fast.fine = true;
  std::string memory = run(fast);
  EXPECT_TRUE(result(exact, run(exact)) != result(fast, memory));
  expectRight(fast, memory, 1e-2);
}

class AlgorithmsTest : public CublasLtTest {
protected:
  std::string text() const { return zerograph::testing::contentOf(file); }
  void write(const std::string &text) const { std::ofstream(file) << text; }
  /// The error of a run with the file.
  std::string refused(const OneProduct &product, size_t version = 130100) {
    emulator::Gpu gpu(1);
    emulator::CublasLt library(gpu, version);
    std::string memory;
    absl::Status status = runOn(product, memory, file);
    EXPECT_EQ(library.leftovers(), "");
    EXPECT_EQ(gpu.leftovers(), "");
    EXPECT_EQ(gpu.complaint(), "");
    return std::string(status.message());
  }

  zerograph::testing::Folder folder;
  std::string file = folder.path + "/algorithms";
  OneProduct product{plan::F32, 1,     12,   10,
                     300,       false, true, 4096 + kWorkspaceSlack};
};

TEST_F(AlgorithmsTest, AreWrittenAndTakenAgain) {
  std::string chosen = run(product, 1, file);
  std::string written = text();
  expectSays(written, "library cuBLASLt 13.1.0\n",
             "gpu sm_80 with 4 multiprocessors\n",
             "product f32 1 x 12 x 10 x 300, B transposed, "
             "without TF32, aligned 64 64 64, "
             "workspace 4096\n");
  EXPECT_TRUE(run(product, 2, file) == chosen);
  EXPECT_EQ(text(), written);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}),
            1);
}

// The algorithm of the same product that needs no workspace: not what the
// library would choose.
TEST_F(AlgorithmsTest, AreThoseOfTheFile) {
  OneProduct plain(plan::F32, 1, 12, 10, 300, false, true);
  product.fine = plain.fine = true;
  std::string own = result(product, run(product, 1, file));
  std::string mine = text();
  std::filesystem::remove(file);
  std::string expected = result(plain, run(plain, 1, file));
  std::string algorithm = text().substr(text().find("  algorithm"));
  write(mine.substr(0, mine.find("  algorithm")) + algorithm);
  EXPECT_TRUE(expected != own);
  EXPECT_TRUE(result(product, run(product, 1, file)) == expected);
}

TEST_F(AlgorithmsTest, OfAnotherVersionAreRefused) {
  run(product, 1, file);
  expectSays(refused(product, 130101), "was written for cuBLASLt 13.1.0",
             "here is cuBLASLt 13.1.1");
}

TEST_F(AlgorithmsTest, OfAnotherGpuAreRefused) {
  run(product, 1, file);
  std::string changed = text();
  changed.insert(changed.find("gpu ") + 4, "another ");
  write(changed);
  expectSays(refused(product), "was written for cuBLASLt", "on another ",
             "here is");
}

TEST_F(AlgorithmsTest, OfAnotherPlanAreRefused) {
  run(product, 1, file);
  OneProduct other(plan::F32, 1, 12, 10, 301, false, true);
  expectSays(refused(other), "program \"step\": step 0 'product'",
             "written for another plan");
}

TEST_F(AlgorithmsTest, ThatTheLibraryDoesNotTakeAreRefused) {
  run(product, 1, file);
  std::string damaged = text();
  damaged[damaged.find("  algorithm ") + 12] ^= 1;
  write(damaged);
  expectSays(refused(product), "step 0 'product'", "cublasLtMatmulAlgoCheck");
}

// One that the library takes, and whose bits are others each time.
TEST_F(AlgorithmsTest, WithoutAFixedOrderAreRefused) {
  run(product, 1, file);
  std::string changed = text();
  constexpr size_t kScheme = 32; // of the emulated library's 64 bytes
  changed.replace(changed.find("  algorithm ") + 12 + 2 * kScheme, 2, "01");
  write(changed);
  expectSays(refused(product), "made in no fixed order");
}

TEST_F(AlgorithmsTest, AFileOfSomethingElseIsRefused) {
  write("something else\n");
  expectSays(refused(product), file, "line 1 is 'something else'");
  run(product, 1, folder.path + "/good");
  file = folder.path + "/good";
  write(text() + "more\n");
  expectSays(refused(product), "line 6 is 'more'");
}

TEST_F(AlgorithmsTest, ThatCannotBeWrittenAreAnError) {
  file = folder.path + "/gone/algorithms";
  expectSays(refused(product), file + " cannot be written");
}

TEST_F(CublasLtTest, AnEnvironmentThatChangesProductsIsRefused) {
  OneProduct product(plan::F32, 1, 2, 2, 2, false, false);
  emulator::Gpu gpu(1);
  emulator::CublasLt library(gpu);
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "1", 1);
  std::string memory;
  absl::Status status = runOn(product, memory);
  unsetenv("NVIDIA_TF32_OVERRIDE");
  unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");
  expectSays(status, "the environment has CUBLAS_EMULATE_SINGLE_PRECISION=1, "
                     "NVIDIA_TF32_OVERRIDE=1");
  EXPECT_TRUE(runOn(product, memory).ok());
}

TEST_F(CublasLtTest, PartsOfACutProductAreTheWhole) {
  for (plan::ElementType type : {plan::F32, plan::BF16}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      emulator::Gpu gpu(1);
      emulator::CublasLt library(gpu);
      auto error = zerograph::testing::errorOfParts(
          zerograph::testing::oddProduct(type, transposes & 1, transposes & 2));
      ASSERT_TRUE(error.ok()) << error.status();
      EXPECT_LT(*error, type == plan::F32 ? 1e-6 : 0.005) << transposes;
      EXPECT_GE(library.products(), 2u);
      EXPECT_EQ(gpu.complaint(), "");
    }
  }
}

} // namespace
