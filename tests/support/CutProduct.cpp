//===- CutProduct.cpp - a product by the parts that it is cut into --------===//

#include "tests/support/CutProduct.h"

#include "runtime/device/cuda/CublasLtProduct.h"
#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/ProductParts.h"
#include "runtime/plan/Describe.h"

#include "absl/strings/str_cat.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

constexpr uint64_t kAlignment = 256;
constexpr float kBetween = 1000;

/// A matrix as it lies, with kBetween between its rows.
struct Matrix {
  Matrix(plan::ElementType type, const StoredMatrix &lies)
      : type(type), lies(lies), values(lies.stride, kBetween) {}

  void fill(std::mt19937 &random) {
    for (uint64_t row = 0; row < lies.rows; ++row) {
      for (uint64_t j = 0; j < lies.columns; ++j) {
        // All types hold it.
        values[row * lies.leading + j] = float(int(random() % 255) - 127) / 64;
      }
    }
  }
  float at(uint64_t row, uint64_t column, bool transposed) const {
    return transposed ? values[column * lies.leading + row]
                      : values[row * lies.leading + column];
  }

  uint64_t bytes() const { return values.size() * elementSize(type); }
  void write(char *to) const {
    for (float value : values) {
      uint32_t bits = std::bit_cast<uint32_t>(value);
      uint64_t size = elementSize(type);
      std::memcpy(to, reinterpret_cast<char *>(&bits) + 4 - size, size);
      to += size;
    }
  }
  void read(const char *from) {
    for (float &value : values) {
      uint32_t bits = 0;
      uint64_t size = elementSize(type);
      std::memcpy(reinterpret_cast<char *>(&bits) + 4 - size, from, size);
      value = std::bit_cast<float>(bits);
      from += size;
    }
  }

  plan::ElementType type;
  StoredMatrix lies;
  std::vector<float> values;
};

uint32_t alignmentOf(uint64_t bytes) {
  return uint32_t(
      std::min(kAlignment, (bytes | kAlignment) & ~((bytes | kAlignment) - 1)));
}

/// A, B, C and the bias begin there in the memory of the GPU.
absl::Status compute(const plan::Matmul &matmul, const uint64_t (&begins)[4],
                     const CudaContext &context, uint64_t memory) {
  const CudaApi &driver = context.api;
  ZG_ASSIGN_OR_RETURN(const CublasLtApi *api, cublasLtApi());
  cublasLtHandle_t handle = nullptr;
  ZG_CUBLASLT(*api, cublasLtCreate, &handle);
  uint64_t element = elementSize(matmul.element_type());
  for (const ProductPart &part : cutProduct(matmul, /*worth=*/1)) {
    uint64_t a = begins[0] + part.a * element, b = begins[1] + part.b * element;
    uint64_t sum = elementSize(resultType(matmul));
    uint64_t c = begins[2] + part.c * sum, bias = begins[3] + part.bias * sum;
    ProductKind kind;
    kind.matmul = part.matmul;
    kind.adds = part.adds;
    kind.align_a = alignmentOf(a);
    kind.align_b = alignmentOf(b);
    kind.align_c = alignmentOf(c);
    kind.align_bias = alignmentOf(bias);
    ZG_ASSIGN_OR_RETURN(auto product,
                        CublasLtProduct::create(*api, handle, kind));
    ZG_RETURN_IF_ERROR(product->choose());
    ZG_ASSIGN_OR_RETURN(auto description, product->describe(memory + bias));
    ZG_RETURN_IF_ERROR(product->enqueue(description, memory + a, memory + b,
                                        memory + c, /*workspace=*/0,
                                        /*stream=*/nullptr));
  }
  ZG_CUDA(driver, cuStreamSynchronize, nullptr);
  ZG_CUBLASLT(*api, cublasLtDestroy, handle);
  return absl::OkStatus();
}

} // namespace

plan::Matmul zerograph::testing::oddProduct(plan::ElementType type,
                                            bool transpose_a,
                                            bool transpose_b) {
  plan::Matmul matmul;
  matmul.set_element_type(type);
  matmul.set_batch(1);
  matmul.set_m(133);
  matmul.set_n(141);
  matmul.set_k(155);
  matmul.set_transpose_a(transpose_a);
  matmul.set_transpose_b(transpose_b);
  matmul.set_lda(192);
  matmul.set_ldb(192);
  matmul.set_ldc(192);
  matmul.set_bias(true);
  return matmul;
}

absl::StatusOr<double>
zerograph::testing::errorOfParts(const plan::Matmul &matmul) {
  StoredMatrices lie = matricesOf(matmul);
  plan::ElementType type = matmul.element_type();
  Matrix a(type, lie.a), b(type, lie.b), c(resultType(matmul), lie.c);
  Matrix bias(resultType(matmul), {1, matmul.n(), matmul.n(), matmul.n()});
  std::mt19937 random(5);
  a.fill(random);
  b.fill(random);
  bias.fill(random);
  auto after = [](uint64_t at, const Matrix &matrix) {
    return (at + matrix.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  };
  uint64_t at_b = after(0, a), at_c = after(at_b, b);
  uint64_t at_bias = after(at_c, c), end = after(at_bias, bias);
  std::string memory(end, 0);
  a.write(memory.data());
  b.write(memory.data() + at_b);
  c.write(memory.data() + at_c);
  bias.write(memory.data() + at_bias);

  ZG_ASSIGN_OR_RETURN(const CudaApi *api, cudaApi());
  ZG_ASSIGN_OR_RETURN(auto context, CudaContext::open(*api, 0));
  ZG_ASSIGN_OR_RETURN(auto buffer,
                      makeCudaBuffer(context, plan::DEVICE, end, kAlignment));
  ZG_RETURN_IF_ERROR(buffer->write(0, memory.data(), memory.size()));
  ZG_ASSIGN_OR_RETURN(auto addresses, cudaAddresses({{buffer.get(), 0, end}}));
  ZG_RETURN_IF_ERROR(
      compute(matmul, {0, at_b, at_c, at_bias}, *context, addresses.front()));
  ZG_RETURN_IF_ERROR(buffer->read(0, memory.data(), memory.size()));
  c.read(memory.data() + at_c);

  double worst = 0, largest = 0;
  for (uint64_t i = 0; i < lie.c.rows; ++i) {
    for (uint64_t j = 0; j < lie.c.leading; ++j) {
      double sum = j < lie.c.columns ? bias.at(0, j, false) : 0;
      for (uint64_t p = 0; p < matmul.k() && j < lie.c.columns; ++p) {
        sum += double(a.at(i, p, matmul.transpose_a())) *
               double(b.at(p, j, matmul.transpose_b()));
      }
      float got = c.at(i, j, /*transposed=*/false);
      if (j < lie.c.columns) {
        worst = std::max(worst, std::abs(got - sum));
        largest = std::max(largest, std::abs(sum));
      } else if (got != kBetween) {
        return absl::InternalError(
            absl::StrCat("row ", i, " is written beyond its end, at ", j));
      }
    }
  }
  return worst / largest;
}
