//===- CublasLt.cpp - a plan's products by cuBLASLt -----------------------===//

#include "runtime/device/cuda/CublasLt.h"

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/LibraryLoad.h"
#include "runtime/device/cuda/LibraryWorkspace.h"
#include "runtime/plan/Describe.h"

#include "absl/strings/escaping.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace zerograph;

namespace {

/// The library asks for no more.
constexpr uint64_t kMostAlignment = 256;

/// A call, and where its matrices begin.
struct Call {
  const CublasLtProduct *product;
  CublasLtProduct::Description description;
  CUdeviceptr a, b, c;
};

class MatmulOperation final : public Operation {
public:
  MatmulOperation(std::vector<Call> calls, CUdeviceptr workspace)
      : calls(std::move(calls)), workspace(workspace) {}

  absl::Status issue(const Issue &issue) override {
    for (const Call &call : calls) {
      ZG_RETURN_IF_ERROR(call.product->enqueue(
          call.description, call.a, call.b, call.c, workspace,
          static_cast<CUstream>(issue.stream)));
    }
    return absl::OkStatus();
  }
  Replay replay() const override { return Replay::Always; }

private:
  std::vector<Call> calls;
  CUdeviceptr workspace;
};

/// Returns a power of two of bytes that what begins `bytes` after an access
/// begins at a multiple of, on every rank.
uint32_t alignmentOf(const plan::Access &access, uint64_t slice,
                     uint64_t bytes) {
  uint64_t all = std::gcd(slice, access.offset() + bytes);
  for (uint64_t stride : access.strides()) {
    all = std::gcd(all, stride);
  }
  uint64_t power = all & (~all + 1);
  return uint32_t(std::min(power, kMostAlignment));
}

} // namespace

CublasLt::~CublasLt() {
  if (handle && context->enter().ok()) {
    products.clear();
    api.cublasLtDestroy(handle);
  }
}

ProductKind CublasLt::kindOf(const plan::Step &step,
                             const ProductPart &part) const {
  ProductKind kind;
  kind.matmul = part.matmul;
  kind.adds = part.adds;
  kind.allow_tf32 = allow_tf32 && kind.matmul.element_type() == plan::F32;
  uint64_t element = elementSize(kind.matmul.element_type());
  auto align = [&](int index, uint64_t bytes) {
    const plan::Access &access = step.accesses(index);
    return alignmentOf(access, slice_alignments[access.slice()], bytes);
  };
  kind.align_a = align(0, part.a * element);
  kind.align_b = align(1, part.b * element);
  kind.align_c = align(2, part.c * elementSize(resultType(kind.matmul)));
  if (kind.matmul.bias()) {
    kind.align_bias =
        align(3, part.bias * elementSize(resultType(kind.matmul)));
  }
  int scratch = scratchAccess(step.matmul());
  kind.workspace = step.accesses_size() > scratch
                       ? usableWorkspace(step.accesses(scratch).bytes())
                       : 0;
  return kind;
}

absl::StatusOr<std::unique_ptr<Operation>>
CublasLt::bind(const StepBinding &step) const {
  const plan::Step &what = *step.step;
  size_t scratch = size_t(scratchAccess(what.matmul()));
  if (step.ranges.size() < scratch ||
      step.ranges.size() != size_t(what.accesses_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a product has ", step.ranges.size(),
                     " accesses, expected ", scratch, " or ", scratch + 1));
  }
  ZG_ASSIGN_OR_RETURN(std::vector<CUdeviceptr> addresses,
                      cudaAddresses(step.ranges));
  std::vector<Call> calls;
  for (const ProductPart &part : cutProduct(what.matmul())) {
    ProductKind kind = kindOf(what, part);
    auto found = products.find(kind.text());
    if (found == products.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("its product (", kind.text(),
                       ") is none of the plan's that was loaded"));
    }
    uint64_t element = elementSize(kind.matmul.element_type());
    uint64_t sum = elementSize(resultType(kind.matmul));
    const CublasLtProduct &product = *found->second.product;
    CUdeviceptr bias = kind.matmul.bias() ? addresses[3] + part.bias * sum : 0;
    ZG_ASSIGN_OR_RETURN(auto description, product.describe(bias));
    Call call = {&product, std::move(description),
                 addresses[0] + part.a * element,
                 addresses[1] + part.b * element, addresses[2] + part.c * sum};
    for (auto [address, alignment] : {std::pair(call.a, kind.align_a),
                                      {call.b, kind.align_b},
                                      {call.c, kind.align_c},
                                      {bias, std::max(1u, kind.align_bias)}}) {
      if (address % alignment != 0) {
        return absl::InternalError(
            absl::StrCat("a matrix begins at address ", address,
                         ", the plan promises a multiple of ", alignment));
      }
    }
    calls.push_back(std::move(call));
  }
  CUdeviceptr workspace =
      addresses.size() > scratch
          ? workspaceBegin(addresses[scratch],
                           what.accesses(int(scratch)).bytes())
          : 0;
  return std::make_unique<MatmulOperation>(std::move(calls), workspace);
}

namespace {

/// The places of operands and workspace of a product that follow each other, A
/// first.
struct Places {
  uint64_t b, c, bias, workspace, end;
};

Places placesOf(const ProductKind &kind) {
  const plan::Matmul &matmul = kind.matmul;
  StoredMatrices matrices = matricesOf(matmul);
  auto after = [&](uint64_t begin, const StoredMatrix &matrix,
                   plan::ElementType type) {
    return alignWorkspace(begin +
                          matmul.batch() * matrix.stride * elementSize(type));
  };
  Places at;
  at.b = after(0, matrices.a, matmul.element_type());
  at.c = after(at.b, matrices.b, matmul.element_type());
  at.bias = after(at.c, matrices.c, resultType(matmul));
  uint64_t row =
      matmul.bias() ? matmul.n() * elementSize(resultType(matmul)) : 0;
  at.workspace = alignWorkspace(at.bias + row);
  at.end = alignWorkspace(at.workspace + kind.workspace);
  return at;
}

std::string textOf(const cublasLtMatmulAlgo_t &algorithm) {
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char *>(&algorithm), sizeof(algorithm)));
}

absl::StatusOr<cublasLtMatmulAlgo_t> parseAlgorithm(const std::string &text) {
  cublasLtMatmulAlgo_t algorithm;
  bool digits = text.find_first_not_of("0123456789abcdef") == text.npos;
  if (!digits || text.size() != 2 * sizeof(algorithm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no algorithm of cuBLASLt, which is ",
                     2 * sizeof(algorithm), " hexadecimal digits"));
  }
  std::string bytes = absl::HexStringToBytes(text);
  std::memcpy(&algorithm, bytes.data(), sizeof(algorithm));
  return algorithm;
}

} // namespace

absl::StatusOr<std::unique_ptr<CublasLt>>
CublasLt::open(std::shared_ptr<CudaContext> context, const plan::Plan &plan,
               Algorithms &algorithms) {
  std::vector<LibraryStep> steps = stepsOf(plan, &plan::Step::has_matmul);
  if (steps.empty()) {
    return nullptr;
  }
  ZG_RETURN_IF_ERROR(refuseEnvironment(
      "cuBLASLt", {"NVIDIA_TF32_OVERRIDE", "CUBLAS_EMUL",
                   "CUBLAS_FIXEDPOINT_EMUL", "CUBLASLT_HEURISTICS_LUT_FILE"}));
  auto api = cublasLtApi();
  if (!api.ok()) {
    return annotate(api.status(),
                    "the plan multiplies by cuBLASLt (compile it with --matmul "
                    "generated to do without)");
  }
  std::unique_ptr<CublasLt> library(new CublasLt(std::move(context), **api));
  ZG_RETURN_IF_ERROR(library->context->enter());
  ZG_CUBLASLT(**api, cublasLtCreate, &library->handle);
  library->allow_tf32 = plan.devices(0).allow_tf32();
  for (const plan::Slice &slice : plan.slices()) {
    library->slice_alignments.push_back(
        plan.arenas(int(slice.arena())).alignment());
  }
  ZG_RETURN_IF_ERROR(library->addProducts(steps));
  ZG_RETURN_IF_ERROR(library->choose(algorithms));
  return library;
}

absl::Status CublasLt::addProducts(const std::vector<LibraryStep> &steps) {
  for (const LibraryStep &asking : steps) {
    for (const ProductPart &part : cutProduct(asking.step->matmul())) {
      ZG_RETURN_IF_ERROR(addProduct(asking, part));
    }
  }
  return absl::OkStatus();
}

absl::Status CublasLt::addProduct(const LibraryStep &asking,
                                  const ProductPart &part) {
  ProductKind kind = kindOf(*asking.step, part);
  auto [place, added] = products.try_emplace(kind.text());
  if (!added) {
    return absl::OkStatus();
  }
  Entry &entry = place->second;
  entry.kind = kind;
  entry.asked_by = asking.name;
  auto product = CublasLtProduct::create(api, handle, kind);
  if (!product.ok()) {
    return annotate(product.status(),
                    absl::StrCat(entry.asked_by, " (", kind.text(), ")"));
  }
  entry.product = std::move(*product);
  return absl::OkStatus();
}

/// Chooses as the file says or, where there is none, as the library does.
absl::Status CublasLt::choose(Algorithms &algorithms) {
  LibraryAlgorithms here(cublasLtVersion(api), *context);
  ZG_RETURN_IF_ERROR(algorithms.check(here));
  for (auto &[text, entry] : products) {
    std::string kind = absl::StrCat("product ", text);
    auto choose = [&, product = entry.product.get()]() -> absl::Status {
      if (!algorithms.decide()) {
        return product->choose();
      }
      ZG_ASSIGN_OR_RETURN(std::string known, algorithms.of(here, kind));
      ZG_ASSIGN_OR_RETURN(auto algorithm, parseAlgorithm(known));
      return product->take(algorithm);
    };
    if (absl::Status status = choose(); !status.ok()) {
      return annotate(status, absl::StrCat(entry.asked_by, " (", text, ")"));
    }
    here.kinds[kind] = textOf(entry.product->algorithm());
  }
  chosen = here.choices();
  algorithms.add(std::move(here));
  return loadKernels();
}

absl::Status CublasLt::loadKernels() const {
  uint64_t most = 0;
  for (const auto &[text, entry] : products) {
    most = std::max(most, placesOf(entry.kind).end);
  }
  return launchOnce(context, most, [&](CUdeviceptr begin, CUstream stream) {
    absl::Status status;
    for (const auto &[text, entry] : products) {
      Places at = placesOf(entry.kind);
      CUdeviceptr workspace = entry.kind.workspace ? begin + at.workspace : 0;
      auto launch = [&, &product = *entry.product]() -> absl::Status {
        ZG_ASSIGN_OR_RETURN(auto description,
                            product.describe(begin + at.bias));
        return product.enqueue(description, begin, begin + at.b, begin + at.c,
                               workspace, stream);
      };
      status.Update(
          annotate(launch(), absl::StrCat(entry.asked_by, " (", text, ")")));
    }
    return status;
  });
}
