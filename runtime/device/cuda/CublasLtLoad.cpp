//===- CublasLtLoad.cpp - what is decided when a plan is loaded -----------===//

#include "runtime/device/cuda/CublasLt.h"

#include "runtime/device/cuda/LibraryLoad.h"
#include "runtime/device/cuda/LibraryWorkspace.h"
#include "runtime/plan/Describe.h"

#include "absl/strings/escaping.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

/// The places of operands and workspace of a product that follow each other, A
/// first.
struct Places {
  uint64_t b, c, workspace, end;
};

Places placesOf(const ProductKind &kind) {
  uint64_t size = elementSize(kind.type);
  Places at;
  at.b = alignWorkspace(kind.batch * kind.m * kind.k * size);
  at.c = alignWorkspace(at.b + kind.batch * kind.k * kind.n * size);
  at.workspace = alignWorkspace(at.c + kind.batch * kind.m * kind.n *
                                           elementSize(kind.result));
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
    ProductKind kind = kindOf(*asking.step);
    auto [place, added] = products.try_emplace(kind.text());
    if (!added) {
      continue;
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
  }
  return absl::OkStatus();
}

/// As the file says or, where there is none, as the library does.
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
      status.Update(
          annotate(entry.product->enqueue(begin, begin + at.b, begin + at.c,
                                          workspace, stream),
                   absl::StrCat(entry.asked_by, " (", text, ")")));
    }
    return status;
  });
}
