//===- CublasLt.cpp - cuBLASLt on the emulated GPU ------------------------===//

#include "tests/emulator/CublasLt.h"

#include "absl/strings/str_cat.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

constexpr uint64_t kMagic = 0x656d756c61746564;
/// The alignment of the workspace in the manual.
constexpr uint64_t kWorkspaceAlignment = 256;

/// Tells products apart: what an algorithm is made for.
uint64_t problemOf(const Product &product) {
  uint64_t hash = 14695981039346656037u;
  auto add = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  for (const Matrices *m : {&product.a, &product.b, &product.d}) {
    for (uint64_t value :
         {uint64_t(m->type), m->rows, m->columns, uint64_t(m->leading),
          uint64_t(m->count), uint64_t(m->stride)}) {
      add(value);
    }
  }
  add(product.transpose_a);
  add(product.transpose_b);
  add(uint64_t(product.compute));
  add(product.biased);
  return hash;
}

bool overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

} // namespace

std::string CublasLt::leftovers() const {
  std::string text;
  auto add = [&](size_t count, const char *what) {
    if (count) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", what);
    }
  };
  add(handles.size(), "handles");
  add(operations.size(), "operations");
  add(layouts.size(), "layouts");
  add(preferences.size(), "preferences");
  return text;
}

cublasStatus_t CublasLt::refuse(const std::string &what) {
  gpu.complain(what);
  return CUBLAS_STATUS_INVALID_VALUE;
}

bool CublasLt::gather(const char *call, const void *handle,
                      const void *operation, const void *a, const void *b,
                      const void *c, const void *d, Operation &result) {
  if (gpu.needContext()) {
    return false;
  }
  auto found = operations.find(operation);
  bool known = handles.contains(handle) && found != operations.end();
  for (const void *layout : {a, b, c, d}) {
    known = known && layouts.contains(layout);
  }
  if (!known) {
    refuse(absl::StrCat(call, " is given a handle or a descriptor that is "
                              "gone, or never was"));
    return false;
  }
  result = *found->second;
  result.product.a = *layouts[a];
  result.product.b = *layouts[b];
  result.product.d = *layouts[d];
  std::string wrong = result.product.wrong();
  cudaDataType_t scale =
      result.product.compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F;
  if (wrong.empty() && (c != d || result.scale != scale)) {
    wrong = "a C that is not D, or factors of another type than sums";
  }
  if (!wrong.empty()) {
    refuse(absl::StrCat(call, " is given ", wrong));
    return false;
  }
  return true;
}

CublasLt::Algorithm CublasLt::makeAlgorithm(const Operation &operation,
                                            const Preference &preference,
                                            uint32_t id, uint32_t parts,
                                            uint32_t scheme) const {
  Product product = operation.product;
  product.parts = parts;
  product.ordered = scheme != 1;
  Algorithm algorithm{
      kMagic, problemOf(product),      version, id, parts, scheme, 0,
      {},     product.workspaceBytes()};
  std::memcpy(algorithm.alignments, preference.alignments,
              sizeof(algorithm.alignments));
  return algorithm;
}

cublasStatus_t CublasLt::enqueue(const Operation &operation,
                                 const Algorithm &algorithm,
                                 const uint64_t (&addresses)[3],
                                 uint64_t workspace, uint64_t workspace_bytes,
                                 CUstream stream) {
  constexpr char kCall[] = "cublasLtMatmul";
  Product product = operation.product;
  if (algorithm.magic != kMagic || algorithm.version != version ||
      algorithm.problem != problemOf(product)) {
    return refuse("cublasLtMatmul is given an algorithm of another product");
  }
  const uint64_t bytes[] = {product.a.bytes(), product.b.bytes(),
                            product.d.bytes()};
  for (int i = 0; i < 3; ++i) {
    uint32_t alignment = algorithm.alignments[i == 2 ? 3 : i];
    if (addresses[i] % alignment != 0) {
      return refuse(absl::StrCat("cublasLtMatmul: operand ", i,
                                 " begins at no multiple of ", alignment,
                                 ", which its algorithm was chosen for"));
    }
    if (i < 2 && overlaps(addresses[i], bytes[i], addresses[2], bytes[2])) {
      return refuse("cublasLtMatmul: the result lies on an operand");
    }
    if (overlaps(addresses[i], bytes[i], workspace, workspace_bytes)) {
      return refuse("cublasLtMatmul: the workspace lies on an operand");
    }
  }
  uint64_t bias_bytes = product.biasBytes();
  if (operation.bias % algorithm.alignments[3] != 0 ||
      overlaps(operation.bias, bias_bytes, addresses[2], bytes[2]) ||
      overlaps(operation.bias, bias_bytes, workspace, workspace_bytes)) {
    return refuse(
        "cublasLtMatmul: the bias begins elsewhere than its algorithm "
        "was chosen for, or lies on what is written");
  }
  if (workspace_bytes < algorithm.workspace ||
      workspace % kWorkspaceAlignment != 0) {
    return refuse(absl::StrCat("cublasLtMatmul: a workspace of ",
                               workspace_bytes, " bytes; the algorithm needs ",
                               algorithm.workspace, ", at a multiple of ",
                               kWorkspaceAlignment));
  }
  if (loaded.insert({algorithm.problem, algorithm.id}).second &&
      Gpu::isRecording()) {
    return refuse("cublasLtMatmul launches a kernel for the first time while a "
                  "graph is recorded: it would have to be loaded");
  }
  product.parts = algorithm.parts;
  product.ordered = algorithm.scheme != 1;
  auto run = [=, this, a = addresses[0], b = addresses[1], d = addresses[2],
              bias = operation.bias](Gpu::Touched &touched) {
    const char *from_a = gpu.reach(a, product.a.bytes(), false, touched, kCall);
    const char *from_b = gpu.reach(b, product.b.bytes(), false, touched, kCall);
    char *to = gpu.reach(d, product.d.bytes(), true, touched, kCall);
    const char *added = bias_bytes
                            ? gpu.reach(bias, bias_bytes, false, touched, kCall)
                            : nullptr;
    char *room = nullptr;
    if (workspace_bytes > 0) { // all of which may be written
      room = gpu.reach(workspace, workspace_bytes, true, touched, kCall);
      if (room) {
        std::memset(room, 0x5a, workspace_bytes);
      }
    }
    if (from_a && from_b && to && (added || bias_bytes == 0) &&
        (room || workspace_bytes == 0)) {
      product.multiply(from_a, from_b, added, to, room, gpu.random);
      ++product_count;
    }
    return absl::OkStatus();
  };
  return gpu.enqueue(stream, {kCall, run}) == 0
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}
