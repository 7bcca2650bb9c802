//===- KernelModule.cpp - the plan's shared object, loaded from memory ----===//

#include "runtime/device/host/KernelModule.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace zerograph;

namespace {

class LoadedModule final : public HostKernelModule {
public:
  LoadedModule() = default;
  ~LoadedModule() override {
    if (handle) {
      dlclose(handle);
    }
    // The loader knows libraries by name and /proc/self/fd/N would name the
    // next one: the descriptor stays open as long as the handle.
    if (descriptor >= 0) {
      close(descriptor);
    }
  }

  absl::Status load(const plan::Plan &plan);
  const Kernel &kernel(unsigned index) const override { return kernels[index]; }

private:
  absl::Status write(absl::string_view bytes);

  int descriptor = -1;
  void *handle = nullptr;
  std::vector<Kernel> kernels;
};

absl::Status LoadedModule::write(absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot keep the kernel module in memory: ", std::strerror(errno)));
    }
    bytes.remove_prefix(size_t(written));
  }
  return absl::OkStatus();
}

absl::Status LoadedModule::load(const plan::Plan &plan) {
  if (plan.kernels().empty()) {
    return absl::OkStatus();
  }
  if (plan.kernel_module().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan names ", plan.kernels_size(),
                     " kernels but holds no kernel module"));
  }
  static std::atomic<unsigned> count{0};
  std::string name = absl::StrCat("zerograph-kernels-", count++);
  descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0) {
    return absl::InternalError(
        absl::StrCat("memfd_create: ", std::strerror(errno)));
  }
  ZG_RETURN_IF_ERROR(write(plan.kernel_module()));
  std::string path = absl::StrCat("/proc/self/fd/", descriptor);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return absl::InvalidArgumentError(
        absl::StrCat("the plan's kernel module cannot be loaded: ",
                     reason ? reason : "unknown reason"));
  }
  for (const plan::Kernel &kernel : plan.kernels()) {
    void *address = dlsym(handle, kernel.symbol().c_str());
    if (!address) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan's kernel module has no symbol '",
                       kernel.symbol(), "', kernel ", kernels.size()));
    }
    kernels.push_back({reinterpret_cast<KernelFunction>(address),
                       kernel.extent(), kernel.grain()});
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<HostKernelModule>>
zerograph::loadKernelModule(const plan::Plan &plan) {
  auto module = std::make_unique<LoadedModule>();
  ZG_RETURN_IF_ERROR(module->load(plan));
  return module;
}
