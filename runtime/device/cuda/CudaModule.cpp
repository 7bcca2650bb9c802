//===- CudaModule.cpp - a plan's PTX, compiled by the driver --------------===//

#include "runtime/device/cuda/CudaModule.h"

#include "runtime/device/cuda/FoldKernel.h"

#include "absl/strings/str_join.h"

using namespace zerograph;

absl::StatusOr<CUmodule> CudaModule::loadText(const std::string &text) {
  const CudaApi &api = context->api;
  char log[4096] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUmodule module = nullptr;
  CUresult result =
      api.cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
  absl::Status status = cudaStatus(api, result, "cuModuleLoadDataEx");
  if (!status.ok()) {
    return annotate(status, absl::StrCat("the driver does not load the plan's "
                                         "kernels (",
                                         log, ")"));
  }
  modules.push_back(module);
  return module;
}

absl::StatusOr<std::unique_ptr<CudaModule>>
CudaModule::load(std::shared_ptr<CudaContext> context, const plan::Plan &plan,
                 const LoadOptions &options) {
  ZG_RETURN_IF_ERROR(context->enter());
  std::unique_ptr<CudaModule> loaded(new CudaModule(std::move(context)));
  // First: a machine without the library need not wait for the driver's
  // compiler to hear so.
  ZG_ASSIGN_OR_RETURN(Algorithms algorithms,
                      Algorithms::open(options.algorithms));
  ZG_ASSIGN_OR_RETURN(loaded->cublaslt,
                      CublasLt::open(loaded->context, plan, algorithms));
  ZG_ASSIGN_OR_RETURN(loaded->cudnn,
                      Cudnn::open(loaded->context, plan, algorithms));
  ZG_RETURN_IF_ERROR(algorithms.finish());
  std::vector<CUmodule> handles;
  for (const plan::Module &module : plan.modules()) {
    CUmodule handle = nullptr;
    if (module.has_ptx()) { // else another device's
      ZG_ASSIGN_OR_RETURN(handle, loaded->loadText(module.ptx().text()));
    }
    handles.push_back(handle);
  }
  for (plan::ElementType wire : foldedWires(plan)) {
    if (handles.empty()) {
      return absl::InvalidArgumentError(
          "the plan adds up what ranks have, and has no module with the kernel "
          "for it");
    }
    for (uint64_t width : foldWidths(wire)) {
      CUfunction &fold = loaded->folds[{wire, width}];
      ZG_ASSIGN_OR_RETURN(
          fold,
          loaded->find(handles.front(), foldSymbol(wire, width), kFoldBlock));
    }
  }
  for (const plan::Kernel &kernel : plan.kernels()) {
    std::vector<CudaLaunch> &launches = loaded->kernels.emplace_back();
    for (const plan::CudaLaunch &launch : kernel.cuda().launches()) {
      ZG_ASSIGN_OR_RETURN(CUfunction function,
                          loaded->find(handles[kernel.module()],
                                       launch.symbol(), launch.block()));
      launches.push_back(
          {function, launch.grid(), launch.block(), launch.shared_bytes()});
    }
  }
  return loaded;
}

/// Asking how many threads it can have also loads a kernel that the driver
/// would load at its first launch: nothing may be loaded while a graph is
/// recorded.
absl::StatusOr<CUfunction> CudaModule::find(CUmodule module,
                                            const std::string &symbol,
                                            unsigned block) const {
  auto found = [&]() -> absl::StatusOr<CUfunction> {
    CUfunction function = nullptr;
    int most = 0;
    ZG_CUDA(context->api, cuModuleGetFunction, &function, module,
            symbol.c_str());
    ZG_CUDA(context->api, cuFuncGetAttribute, &most,
            CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (block > unsigned(most)) {
      return absl::FailedPreconditionError(
          absl::StrCat("it is launched with blocks of ", block,
                       " threads, and the GPU has registers for ", most));
    }
    return function;
  };
  absl::StatusOr<CUfunction> function = found();
  return function.ok()
             ? function
             : annotate(function.status(), absl::StrCat("kernel ", symbol));
}

std::string CudaModule::choices() const {
  std::vector<std::string> all;
  if (cublaslt) {
    all.push_back(cublaslt->choices());
  }
  if (cudnn) {
    all.push_back(cudnn->choices());
  }
  return absl::StrJoin(all, "; ");
}

CUfunction CudaModule::fold(plan::ElementType wire, uint64_t width) const {
  auto found = folds.find({wire, width});
  return found == folds.end() ? nullptr : found->second;
}

CudaModule::~CudaModule() {
  if (context->enter().ok()) {
    for (CUmodule module : modules) {
      context->api.cuModuleUnload(module);
    }
  }
}
