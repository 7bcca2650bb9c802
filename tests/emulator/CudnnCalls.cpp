//===- CudnnCalls.cpp - the functions of cuDNN, emulated ------------------===//

#include "tests/emulator/Counted.h"
#include "tests/emulator/Cudnn.h"
#include "tests/emulator/CudnnAttributes.h"

using namespace zerograph;
using namespace zerograph::emulator;

constexpr cudnnStatus_t kMadeToFail = CUDNN_STATUS_EXECUTION_FAILED;

namespace zerograph::emulator {

/// Each has the parameters of the library's function of that name.
struct CudnnCalls {
  using Lock = std::lock_guard<std::mutex>;
  using Descriptor = Cudnn::Descriptor;
  using Handle = Cudnn::Handle;

  /// The one that is installed.
  inline static Cudnn *library = nullptr;
  static std::mutex &mutex() { return library->gpu.mutex; }
  static bool fails(const char *function) {
    return library->gpu.countCall(function);
  }

  static size_t version() { return library->version; }
  static const char *errorString(cudnnStatus_t) {
    return library->gpu.wrong.empty() ? "made to fail, or not supported"
                                      : library->gpu.wrong.c_str();
  }

  static cudnnStatus_t create(cudnnHandle_t *handle) {
    Lock lock(mutex());
    if (library->gpu.needContext()) {
      return CUDNN_STATUS_NOT_INITIALIZED;
    }
    auto made = std::make_unique<Handle>();
    made->device = library->gpu.currentDevice();
    *handle = reinterpret_cast<cudnnHandle_t>(made.get());
    library->handles[made.get()] = std::move(made);
    return CUDNN_STATUS_SUCCESS;
  }
  static cudnnStatus_t destroy(cudnnHandle_t handle) {
    Lock lock(mutex());
    if (library->gpu.needContext() || library->handles.erase(handle) == 0) {
      return library->refuse("cudnnDestroy is given no handle");
    }
    return CUDNN_STATUS_SUCCESS;
  }
  /// Null, with a complaint, where it is none of the thread's GPU.
  static Handle *handleOf(cudnnHandle_t handle, const char *call) {
    auto found = library->handles.find(handle);
    if (library->gpu.needContext() || found == library->handles.end() ||
        found->second->device != library->gpu.currentDevice()) {
      library->refuse(std::string(call) +
                      " is given no handle, or one of another GPU");
      return nullptr;
    }
    return found->second.get();
  }
  static cudnnStatus_t setStream(cudnnHandle_t handle, CUstream stream) {
    Lock lock(mutex());
    Handle *known = handleOf(handle, "cudnnSetStream");
    if (!known) {
      return CUDNN_STATUS_BAD_PARAM;
    }
    known->stream = stream;
    return CUDNN_STATUS_SUCCESS;
  }

  static cudnnStatus_t createDescriptor(int type,
                                        cudnnBackendDescriptor_t *made) {
    Lock lock(mutex());
    if (attributesOf(type).empty()) {
      return library->refuse("a descriptor of a type that is not emulated");
    }
    auto descriptor = std::make_unique<Descriptor>();
    descriptor->type = type;
    *made = descriptor.get();
    library->descriptors[*made] = std::move(descriptor);
    return CUDNN_STATUS_SUCCESS;
  }
  static cudnnStatus_t destroyDescriptor(cudnnBackendDescriptor_t descriptor) {
    Lock lock(mutex());
    return library->descriptors.erase(descriptor) > 0
               ? CUDNN_STATUS_SUCCESS
               : library->refuse("a descriptor is destroyed that is gone, or "
                                 "never was");
  }
  static cudnnStatus_t setAttribute(cudnnBackendDescriptor_t descriptor,
                                    int name, int type, int64_t count,
                                    const void *from) {
    Lock lock(mutex());
    Descriptor *known =
        library->find(descriptor, "cudnnBackendSetAttribute", false);
    return known ? library->set(*known, name, type, count, from)
                 : CUDNN_STATUS_BAD_PARAM;
  }
  static cudnnStatus_t getAttribute(cudnnBackendDescriptor_t descriptor,
                                    int name, int type, int64_t room,
                                    int64_t *count, void *to) {
    Lock lock(mutex());
    Descriptor *known = library->find(descriptor, "cudnnBackendGetAttribute");
    return known ? library->get(*known, name, type, room, count, to)
                 : CUDNN_STATUS_BAD_PARAM;
  }
  static cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
    Lock lock(mutex());
    Descriptor *known =
        library->find(descriptor, "cudnnBackendFinalize", false);
    return known ? library->finalize(*known) : CUDNN_STATUS_BAD_PARAM;
  }

  static cudnnStatus_t execute(cudnnHandle_t handle,
                               cudnnBackendDescriptor_t plan,
                               cudnnBackendDescriptor_t pack) {
    constexpr char kCall[] = "cudnnBackendExecute";
    Lock lock(mutex());
    Handle *known = handleOf(handle, kCall);
    Descriptor *what = known ? library->find(plan, kCall) : nullptr;
    Descriptor *with = what ? library->find(pack, kCall) : nullptr;
    if (!with) {
      return CUDNN_STATUS_BAD_PARAM;
    }
    if (what->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        with->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
      return library->refuse("cudnnBackendExecute takes a plan and a pack");
    }
    return library->execute(*known, *what, *with);
  }
};

} // namespace zerograph::emulator

/// In the order of ZEROGRAPH_CUDNN_FUNCTIONS.
static const CudnnApi kEmulated = {
    .cudnnGetVersion = CudnnCalls::version,
    .cudnnGetErrorString = CudnnCalls::errorString,
    .cudnnCreate = CudnnCalls::create,
    .cudnnDestroy = CudnnCalls::destroy,
    .cudnnSetStream = CudnnCalls::setStream,
    .cudnnBackendCreateDescriptor = CudnnCalls::createDescriptor,
    .cudnnBackendDestroyDescriptor = CudnnCalls::destroyDescriptor,
    .cudnnBackendSetAttribute = CudnnCalls::setAttribute,
    .cudnnBackendGetAttribute = CudnnCalls::getAttribute,
    .cudnnBackendFinalize = CudnnCalls::finalize,
    .cudnnBackendExecute = CudnnCalls::execute,
    .path = "emulated",
};

namespace {

struct Library {
  static constexpr const auto &table = kEmulated;
  static bool fails(const char *name) { return CudnnCalls::fails(name); }
  template <auto Member>
  static int fail(auto...) {
    return kMadeToFail;
  }
};

ZEROGRAPH_CUDNN_FUNCTIONS(ZEROGRAPH_COUNTED_NAME)

#define ZEROGRAPH_PLACE(name, ...) ZEROGRAPH_COUNTED(Library, CudnnApi, name)
const CudnnApi kCounted = {ZEROGRAPH_CUDNN_FUNCTIONS(ZEROGRAPH_PLACE).path =
                               "emulated"};

} // namespace

Cudnn::Cudnn(Gpu &gpu, size_t version) : gpu(gpu), version(version) {
  CudnnCalls::library = this;
  setCudnnApi(&kCounted);
}

Cudnn::~Cudnn() {
  setCudnnApi(nullptr);
  CudnnCalls::library = nullptr;
}
