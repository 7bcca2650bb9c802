//===- CublasLtLoad.cpp - what is decided when a plan is loaded -----------===//

#include "runtime/device/cuda/CublasLt.h"

#include "runtime/device/cuda/CublasLtAlgorithms.h"
#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/plan/Describe.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <unistd.h>
#include <xxhash.h>

using namespace zerograph;

namespace {

bool hasProducts(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (step.has_matmul()) {
        return true;
      }
    }
  }
  return false;
}

/// With these set the library computes something else than the plan says, or
/// chooses by what nobody recorded.
absl::Status checkEnvironment() {
  std::vector<std::string> found;
  for (char **entry = environ; entry && *entry; ++entry) {
    absl::string_view text = *entry;
    absl::string_view name = text.substr(0, text.find('='));
    if (name == "NVIDIA_TF32_OVERRIDE" ||
        absl::StartsWith(name, "CUBLAS_EMUL") ||
        absl::StartsWith(name, "CUBLAS_FIXEDPOINT_EMUL") ||
        name == "CUBLASLT_HEURISTICS_LUT_FILE") {
      found.emplace_back(text);
    }
  }
  if (found.empty()) {
    return absl::OkStatus();
  }
  std::sort(found.begin(), found.end());
  return absl::FailedPreconditionError(absl::StrCat(
      "the environment has ", absl::StrJoin(found, ", "),
      ", which would change how cuBLASLt multiplies: unset it. A plan says how "
      "its products are computed (compile with --allow-tf32 for TF32)"));
}

/// Where operands and workspace of a product lie that follow each other, A
/// first.
struct Places {
  uint64_t b, c, workspace, end;
};

Places placesOf(const ProductKind &kind) {
  constexpr uint64_t kAlignment = 256; // what any product may ask for
  auto next = [](uint64_t begin, uint64_t bytes) {
    return (begin + bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  uint64_t size = elementSize(kind.type);
  Places at;
  at.b = next(0, kind.batch * kind.m * kind.k * size);
  at.c = next(at.b, kind.batch * kind.k * kind.n * size);
  at.workspace = next(at.c, kind.batch * kind.m * kind.n * size);
  at.end = next(at.workspace, kind.workspace);
  return at;
}

uint64_t digestOf(const CublasLtAlgorithms &algorithms) {
  std::string bytes;
  for (const auto &[kind, algorithm] : algorithms.products) {
    absl::StrAppend(
        &bytes, kind,
        absl::string_view(reinterpret_cast<const char *>(&algorithm),
                          sizeof(algorithm)));
  }
  return XXH3_64bits(bytes.data(), bytes.size());
}

} // namespace

absl::StatusOr<std::unique_ptr<CublasLt>>
CublasLt::open(std::shared_ptr<CudaContext> context, const plan::Plan &plan,
               const std::string &algorithms) {
  if (!hasProducts(plan)) {
    if (!algorithms.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--algorithms ", algorithms,
          ": the plan has no product by cuBLASLt; leave the option out"));
    }
    return nullptr;
  }
  ZG_RETURN_IF_ERROR(checkEnvironment());
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
  ZG_RETURN_IF_ERROR(library->addProducts(plan));
  ZG_RETURN_IF_ERROR(library->choose(algorithms));
  return library;
}

absl::Status CublasLt::addProducts(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    for (int i = 0; i < program.steps_size(); ++i) {
      const plan::Step &step = program.steps(i);
      if (!step.has_matmul()) {
        continue;
      }
      ProductKind kind = kindOf(step);
      auto [place, added] = products.try_emplace(kind.text());
      if (!added) {
        continue;
      }
      Entry &entry = place->second;
      entry.kind = kind;
      entry.asked_by = absl::StrCat("program \"", program.name(), "\": step ",
                                    i, " '", step.name(), "'");
      auto product = CublasLtProduct::create(api, handle, kind);
      if (!product.ok()) {
        return annotate(product.status(),
                        absl::StrCat(entry.asked_by, " (", kind.text(), ")"));
      }
      entry.product = std::move(*product);
    }
  }
  return absl::OkStatus();
}

std::string CublasLt::gpu() const {
  return absl::StrCat(context->architecture(), " with ",
                      context->multiprocessors(), " multiprocessors");
}

/// As the file says or, where there is none, as the library does; then it is
/// written down, once all of it has worked.
absl::Status CublasLt::choose(const std::string &file) {
  std::optional<CublasLtAlgorithms> known;
  CublasLtAlgorithms here{cublasLtVersion(api), gpu(), {}};
  if (!file.empty()) {
    ZG_ASSIGN_OR_RETURN(known, readAlgorithms(file));
  }
  std::string what = absl::StrCat("--algorithms ", file);
  if (known && (known->library != here.library || known->gpu != here.gpu)) {
    return absl::FailedPreconditionError(absl::StrCat(
        what, " was written for ", known->library, " on ", known->gpu,
        "; here is ", here.library, " on ", here.gpu,
        ". Take one that was written here, or name one that does not exist"));
  }
  for (auto &[kind, entry] : products) {
    absl::Status status;
    if (known) {
      auto found = known->products.find(kind);
      status = found != known->products.end()
                   ? entry.product->take(found->second)
                   : absl::NotFoundError(absl::StrCat(
                         what, " does not have it: it was written for another "
                               "plan. Name a file that does not exist"));
    } else {
      status = entry.product->choose();
    }
    if (!status.ok()) {
      return annotate(status, absl::StrCat(entry.asked_by, " (", kind, ")"));
    }
    here.products[kind] = entry.product->algorithm();
  }
  chosen = absl::StrCat(here.library, " on ", here.gpu, ", algorithms ",
                        absl::Hex(digestOf(here), absl::kZeroPad16));
  ZG_RETURN_IF_ERROR(loadKernels());
  return file.empty() || known ? absl::OkStatus() : writeAlgorithms(file, here);
}

/// The library loads a kernel when it first launches it, and nothing may be
/// loaded while a graph is recorded: so each product is made once, of zeros,
/// in memory that the arenas get afterwards.
absl::Status CublasLt::loadKernels() const {
  uint64_t most = 0;
  for (const auto &[text, entry] : products) {
    most = std::max(most, placesOf(entry.kind).end);
  }
  ZG_ASSIGN_OR_RETURN(auto memory, makeGpuMemory(context, most));
  CUdeviceptr begin = memory->address();
  CUstream stream = nullptr;
  ZG_CUDA(context->api, cuStreamCreateWithPriority, &stream,
          CU_STREAM_NON_BLOCKING, 0);
  absl::Status status = cudaStatus(
      context->api, context->api.cuMemsetD8Async(begin, 0, most, stream),
      "cuMemsetD8Async");
  for (const auto &[text, entry] : products) {
    Places at = placesOf(entry.kind);
    status.Update(annotate(
        entry.product->enqueue(begin, begin + at.b, begin + at.c,
                               entry.kind.workspace ? begin + at.workspace : 0,
                               stream),
        absl::StrCat(entry.asked_by, " (", text, ")")));
  }
  status.Update(cudaStatus(context->api,
                           context->api.cuStreamSynchronize(stream),
                           "cuStreamSynchronize"));
  context->api.cuStreamDestroy(stream);
  return status;
}
