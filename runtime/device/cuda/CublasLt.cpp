//===- CublasLt.cpp - a plan's products by cuBLASLt -----------------------===//

#include "runtime/device/cuda/CublasLt.h"

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/LibraryWorkspace.h"
#include "runtime/plan/Describe.h"

#include <algorithm>
#include <numeric>

using namespace zerograph;

namespace {

/// The library asks for no more.
constexpr uint64_t kMostAlignment = 256;

class MatmulOperation final : public Operation {
public:
  MatmulOperation(const CublasLtProduct &product,
                  std::vector<CUdeviceptr> addresses, CUdeviceptr workspace)
      : product(product), addresses(std::move(addresses)),
        workspace(workspace) {}

  absl::Status issue(const Issue &issue) override {
    return product.enqueue(addresses[0], addresses[1], addresses[2], workspace,
                           static_cast<CUstream>(issue.stream));
  }
  Replay replay() const override { return Replay::Always; }

private:
  const CublasLtProduct &product;
  std::vector<CUdeviceptr> addresses;
  CUdeviceptr workspace;
};

/// A power of two that an access begins at a multiple of, on every rank.
uint64_t alignmentOf(const plan::Access &access, uint64_t slice) {
  uint64_t all = std::gcd(slice, access.offset());
  for (uint64_t stride : access.strides()) {
    all = std::gcd(all, stride);
  }
  uint64_t power = all & (~all + 1);
  return std::min(power, kMostAlignment);
}

} // namespace

CublasLt::~CublasLt() {
  if (handle && context->enter().ok()) {
    products.clear();
    api.cublasLtDestroy(handle);
  }
}

ProductKind CublasLt::kindOf(const plan::Step &step) const {
  const plan::Matmul &matmul = step.matmul();
  ProductKind kind;
  kind.type = matmul.element_type();
  kind.result = resultType(matmul);
  kind.batch = matmul.batch();
  kind.m = matmul.m();
  kind.n = matmul.n();
  kind.k = matmul.k();
  kind.transpose_a = matmul.transpose_a();
  kind.transpose_b = matmul.transpose_b();
  kind.allow_tf32 = allow_tf32 && kind.type == plan::F32;
  uint32_t *alignments[] = {&kind.align_a, &kind.align_b, &kind.align_c};
  for (int i = 0; i < 3; ++i) {
    const plan::Access &access = step.accesses(i);
    *alignments[i] =
        uint32_t(alignmentOf(access, slice_alignments[access.slice()]));
  }
  kind.workspace =
      step.accesses_size() > 3 ? usableWorkspace(step.accesses(3).bytes()) : 0;
  return kind;
}

absl::StatusOr<std::unique_ptr<Operation>>
CublasLt::bind(const StepBinding &step) const {
  const plan::Step &what = *step.step;
  if (what.accesses_size() < 3 ||
      step.ranges.size() != size_t(what.accesses_size())) {
    return absl::InvalidArgumentError(absl::StrCat("a product has ",
                                                   step.ranges.size(),
                                                   " accesses, expected "
                                                   "3 or 4"));
  }
  ProductKind kind = kindOf(what);
  auto found = products.find(kind.text());
  if (found == products.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its product (", kind.text(),
                     ") is none of the plan's that was loaded"));
  }
  ZG_ASSIGN_OR_RETURN(std::vector<CUdeviceptr> addresses,
                      cudaAddresses(step.ranges));
  const uint32_t kAlignments[] = {kind.align_a, kind.align_b, kind.align_c};
  for (int i = 0; i < 3; ++i) {
    if (addresses[i] % kAlignments[i] != 0) {
      return absl::InternalError(
          absl::StrCat("access ", i, " begins at address ", addresses[i],
                       ", the plan promises a multiple of ", kAlignments[i]));
    }
  }
  CUdeviceptr workspace =
      addresses.size() > 3
          ? workspaceBegin(addresses[3], what.accesses(3).bytes())
          : 0;
  addresses.resize(3);
  return std::make_unique<MatmulOperation>(*found->second.product,
                                           std::move(addresses), workspace);
}
