//===- CudaMemory.cpp - memory of a GPU, and of the host for it -----------===//

#include "runtime/device/cuda/CudaMemory.h"

using namespace zerograph;

namespace {

class GpuMemory final : public CudaMemory {
public:
  explicit GpuMemory(std::shared_ptr<CudaContext> context)
      : context(std::move(context)), api(this->context->api) {}
  ~GpuMemory() override {
    if (!reserved || !context->enter().ok()) {
      return;
    }
    if (mapped) {
      api.cuMemUnmap(begin, size);
    }
    api.cuMemAddressFree(begin, size);
  }

  absl::Status allocate(uint64_t bytes) {
    ZG_RETURN_IF_ERROR(describe());
    size_t granularity = 0;
    ZG_CUDA(api, cuMemGetAllocationGranularity, &granularity, &wanted,
            CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    size = (bytes + granularity - 1) / granularity * granularity;
    ZG_CUDA(api, cuMemAddressReserve, &begin, size, 0, 0, 0);
    reserved = true;
    CUmemGenericAllocationHandle handle = 0;
    ZG_RETURN_IF_ERROR(create(handle));
    absl::Status status =
        cudaStatus(api, api.cuMemMap(begin, size, 0, handle, 0), "cuMemMap");
    mapped = status.ok();
    api.cuMemRelease(handle); // what is mapped keeps it
    ZG_RETURN_IF_ERROR(status);
    CUmemAccessDesc access = {wanted.location,
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    ZG_CUDA(api, cuMemSetAccess, begin, size, &access, 1);
    return absl::OkStatus();
  }

private:
  absl::Status describe() {
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, context->device};
    // If NVLink connects machines, NCCL gives memory to others by such
    // handles alone. A driver that does not know them says that by an error.
    int fabric = 0;
    if (api.cuDeviceGetAttribute(
            &fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
            context->device) == CUDA_SUCCESS &&
        fabric != 0) {
      wanted.requestedHandleTypes |= CU_MEM_HANDLE_TYPE_FABRIC;
    }
    int reachable = 0;
    ZG_CUDA(api, cuDeviceGetAttribute, &reachable,
            CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
            context->device);
    wanted.allocFlags.gpuDirectRDMACapable = reachable != 0;
    return absl::OkStatus();
  }

  /// Machines refuse memory for other machines where IMEX gives no channel, and
  /// memory that network cards could reach, and sandboxes such as other
  /// processes could open.
  absl::Status create(CUmemGenericAllocationHandle &handle) {
    auto attempt = [&] { return api.cuMemCreate(&handle, size, &wanted, 0); };
    CUresult result = attempt();
    auto refused = [&] {
      return result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY;
    };
    if (refused() && wanted.requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) {
      wanted.requestedHandleTypes &= ~CU_MEM_HANDLE_TYPE_FABRIC;
      result = attempt();
    }
    if (refused() && wanted.allocFlags.gpuDirectRDMACapable) {
      wanted.allocFlags.gpuDirectRDMACapable = 0;
      result = attempt();
    }
    if (refused()) {
      wanted.requestedHandleTypes = 0;
      result = attempt();
    }
    return cudaStatus(api, result, "cuMemCreate");
  }

  std::shared_ptr<CudaContext> context;
  const CudaApi &api;
  CUmemAllocationProp wanted = {};
  bool reserved = false, mapped = false;
};

class PinnedMemory final : public CudaMemory {
public:
  explicit PinnedMemory(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}
  ~PinnedMemory() override {
    if (pages && context->enter().ok()) {
      context->api.cuMemFreeHost(pages);
    }
  }

  absl::Status allocate(uint64_t bytes) {
    ZG_CUDA(context->api, cuMemHostAlloc, &pages, bytes, 0);
    begin = reinterpret_cast<CUdeviceptr>(pages); // one address space
    size = bytes;
    return absl::OkStatus();
  }

private:
  std::shared_ptr<CudaContext> context;
  void *pages = nullptr;
};

template <typename Memory>
absl::StatusOr<std::unique_ptr<CudaMemory>>
make(std::shared_ptr<CudaContext> context, uint64_t bytes) {
  ZG_RETURN_IF_ERROR(context->enter());
  auto memory = std::make_unique<Memory>(std::move(context));
  ZG_RETURN_IF_ERROR(memory->allocate(bytes));
  return memory;
}

} // namespace

absl::StatusOr<std::unique_ptr<CudaMemory>>
zerograph::makeGpuMemory(std::shared_ptr<CudaContext> context, uint64_t bytes) {
  return make<GpuMemory>(std::move(context), bytes);
}

absl::StatusOr<std::unique_ptr<CudaMemory>>
zerograph::makePinnedMemory(std::shared_ptr<CudaContext> context,
                            uint64_t bytes) {
  return make<PinnedMemory>(std::move(context), bytes);
}
