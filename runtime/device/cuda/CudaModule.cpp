//===- CudaModule.cpp - a plan's PTX, compiled by the driver --------------===//

#include "runtime/device/cuda/CudaModule.h"

#include "runtime/device/cuda/FoldKernel.h"
#include "runtime/plan/Mesh.h"

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
CudaModule::load(std::shared_ptr<CudaContext> context, const plan::Plan &plan) {
  ZG_RETURN_IF_ERROR(context->enter());
  const CudaApi &api = context->api;
  std::unique_ptr<CudaModule> loaded(new CudaModule(std::move(context)));
  std::vector<CUmodule> handles;
  for (const plan::Module &module : plan.modules()) {
    ZG_ASSIGN_OR_RETURN(CUmodule handle, loaded->loadText(module.ptx().text()));
    handles.push_back(handle);
  }
  for (plan::ElementType type : kFoldTypes) {
    if (worldOf(plan) > 1 && !handles.empty()) {
      ZG_RETURN_IF_ERROR(annotate(
          cudaStatus(api,
                     api.cuModuleGetFunction(&loaded->folds[type],
                                             handles.front(), foldSymbol(type)),
                     "cuModuleGetFunction"),
          absl::StrCat("kernel ", foldSymbol(type))));
    }
  }
  for (const plan::Kernel &kernel : plan.kernels()) {
    std::vector<CudaLaunch> &launches = loaded->kernels.emplace_back();
    for (const plan::CudaLaunch &launch : kernel.cuda().launches()) {
      CudaLaunch entry{nullptr, launch.grid(), launch.block(),
                       launch.shared_bytes()};
      CUresult result = api.cuModuleGetFunction(
          &entry.function, handles[kernel.module()], launch.symbol().c_str());
      ZG_RETURN_IF_ERROR(
          annotate(cudaStatus(api, result, "cuModuleGetFunction"),
                   absl::StrCat("kernel ", launch.symbol())));
      launches.push_back(entry);
    }
  }
  return loaded;
}

CUfunction CudaModule::fold(plan::ElementType type) const {
  auto found = folds.find(type);
  return found == folds.end() ? nullptr : found->second;
}

CudaModule::~CudaModule() {
  if (context->enter().ok()) {
    for (CUmodule module : modules) {
      context->api.cuModuleUnload(module);
    }
  }
}
