//===- Product.cpp - a product of matrices, as a GPU's library does it ----===//

#include "tests/emulator/Product.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// Matrix `which` of op(M), row-major.
template <typename Sum>
std::vector<Sum> unpack(const Matrices &m, const char *from, int32_t which,
                        bool transpose, bool tf32) {
  uint64_t rows = transpose ? m.columns : m.rows;
  uint64_t columns = transpose ? m.rows : m.columns;
  from += uint64_t(which) * uint64_t(m.stride) * m.elementBytes();
  std::vector<Sum> values(rows * columns);
  for (uint64_t i = 0; i < rows; ++i) {
    for (uint64_t j = 0; j < columns; ++j) {
      uint64_t place =
          transpose ? j + i * uint64_t(m.leading) : i + j * uint64_t(m.leading);
      double value = loadElement(m.type, from + place * m.elementBytes());
      values[i * columns + j] =
          Sum(tf32 ? double(rounded(float(value), 13)) : value);
    }
  }
  return values;
}

/// Row-major operands and sums of one matrix.
template <typename Sum>
struct Work {
  uint64_t m, n, k;
  std::vector<Sum> a{}, b{}, sums{}, total{};

  /// Products of inner indices [begin, end).
  void addUp(uint64_t begin, uint64_t end) {
    std::fill(sums.begin(), sums.end(), Sum(0));
    for (uint64_t i = 0; i < m; ++i) {
      for (uint64_t p = begin; p < end; ++p) {
        Sum factor = a[i * k + p];
        for (uint64_t j = 0; j < n; ++j) {
          sums[i * n + j] += factor * b[p * n + j];
        }
      }
    }
  }
  void addToTotal(bool first) {
    for (uint64_t i = 0; i < sums.size(); ++i) {
      total[i] = first ? sums[i] : total[i] + sums[i];
    }
  }
};

template <typename Sum>
void multiplyAs(const Product &product, const char *a, const char *b,
                const char *bias, char *d, char *workspace,
                std::mt19937 &random) {
  Work<Sum> work{product.d.rows, product.d.columns, product.inner()};
  bool tf32 = product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  std::vector<uint32_t> order(product.parts);
  work.sums.resize(work.m * work.n);
  work.total.resize(work.m * work.n);
  uint64_t bytes = work.sums.size() * sizeof(Sum);
  uint64_t size = product.d.elementBytes();
  for (int32_t which = 0; which < product.d.count; ++which) {
    work.a = unpack<Sum>(product.a, a, which, product.transpose_a, tf32);
    work.b = unpack<Sum>(product.b, b, which, product.transpose_b, tf32);
    std::iota(order.begin(), order.end(), 0);
    if (!product.ordered) {
      std::shuffle(order.begin(), order.end(), random);
    }
    for (uint32_t part : order) {
      work.addUp(work.k * part / product.parts,
                 work.k * (part + 1) / product.parts);
      if (product.workspaceBytes() > 0) { // where it is kept meanwhile
        std::memcpy(workspace + part * bytes, work.sums.data(), bytes);
      }
      work.addToTotal(part == order.front());
    }
    char *to = d + uint64_t(which) * uint64_t(product.d.stride) * size;
    for (uint64_t i = 0; i < work.m; ++i) {
      for (uint64_t j = 0; j < work.n; ++j) {
        char *element = to + (i + j * uint64_t(product.d.leading)) * size;
        Sum sum = work.total[i * work.n + j];
        if (product.adds) {
          sum += Sum(loadElement(product.d.type, element));
        }
        if (bias) {
          sum += Sum(loadElement(product.d.type, bias + i * size));
        }
        storeElement(product.d.type, element, double(sum));
      }
    }
  }
}

} // namespace

uint64_t Matrices::bytes() const {
  return (uint64_t(count - 1) * uint64_t(stride) +
          (columns - 1) * uint64_t(leading) + rows) *
         elementBytes();
}

std::string Product::wrong() const {
  for (const Matrices *matrices : {&a, &b, &d}) {
    if (matrices->rows == 0 || matrices->columns == 0 || matrices->count < 1 ||
        matrices->leading < int64_t(matrices->rows) || matrices->stride < 0 ||
        matrices->elementBytes() == 0) {
      return "a matrix without elements, of an unknown type, or whose columns "
             "overlap";
    }
    if (matrices->count != d.count) {
      return "matrices that differ in number";
    }
  }
  // cuBLAS's manual, "cublasLtMatmul": of 16-bit A and B, C may be of 32 bits.
  bool widens = a.elementBytes() == 2 && d.type == CUDA_R_32F;
  if (a.type != b.type || (a.type != d.type && !widens)) {
    return "matrices whose types do not fit";
  }
  uint64_t m = transpose_a ? a.columns : a.rows;
  uint64_t n = transpose_b ? b.rows : b.columns;
  uint64_t k = transpose_b ? b.columns : b.rows;
  if (m != d.rows || n != d.columns || k != inner()) {
    return "matrices whose sizes do not fit";
  }
  if (d.count > 1 &&
      d.stride < (int64_t(d.columns) - 1) * d.leading + int64_t(d.rows)) {
    return "results that overlap";
  }
  bool known = a.type == CUDA_R_64F ? compute == CUBLAS_COMPUTE_64F
                                    : compute == CUBLAS_COMPUTE_32F;
  if (a.type == CUDA_R_32F) {
    known = known || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
            compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  }
  return known ? "" : "a type of computation that is not its matrices'";
}

uint64_t Product::workspaceBytes() const {
  uint64_t sum = compute == CUBLAS_COMPUTE_64F ? 8 : 4;
  return parts > 1 && ordered ? parts * d.rows * d.columns * sum : 0;
}

void Product::multiply(const char *from_a, const char *from_b, const char *bias,
                       char *to, char *workspace, std::mt19937 &random) const {
  if (compute == CUBLAS_COMPUTE_64F) {
    multiplyAs<double>(*this, from_a, from_b, bias, to, workspace, random);
  } else {
    multiplyAs<float>(*this, from_a, from_b, bias, to, workspace, random);
  }
}
