//===- KernelModule.cpp - the plan's shared object, loaded from memory ----===//

#include "runtime/device/host/KernelModule.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace zerograph;

namespace {

/// A shared object that lies in memory alone.
class SharedObject {
public:
  SharedObject() = default;
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;
  ~SharedObject() {
    if (handle) {
      dlclose(handle);
    }
    // The loader knows libraries by name and /proc/self/fd/N would name the
    // next one: the descriptor stays open as long as the handle.
    if (descriptor >= 0) {
      close(descriptor);
    }
  }

  absl::Status open(absl::string_view bytes);
  void *find(const std::string &symbol) const {
    return dlsym(handle, symbol.c_str());
  }

private:
  absl::Status write(absl::string_view bytes);

  int descriptor = -1;
  void *handle = nullptr;
};

absl::Status SharedObject::write(absl::string_view bytes) {
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

absl::Status SharedObject::open(absl::string_view bytes) {
  static std::atomic<unsigned> count{0};
  std::string name = absl::StrCat("zerograph-kernels-", count++);
  descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0) {
    return absl::InternalError(
        absl::StrCat("memfd_create: ", std::strerror(errno)));
  }
  ZG_RETURN_IF_ERROR(write(bytes));
  std::string path = absl::StrCat("/proc/self/fd/", descriptor);
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return absl::InvalidArgumentError(
        absl::StrCat("the plan's kernel module cannot be loaded: ",
                     reason ? reason : "unknown reason"));
  }
  return absl::OkStatus();
}

class LoadedModule final : public HostKernelModule {
public:
  absl::Status load(const plan::Plan &plan);
  const Kernel &kernel(unsigned index) const override { return kernels[index]; }

private:
  std::map<uint32_t, SharedObject> modules; // that have kernels
  std::vector<Kernel> kernels;
};

absl::Status LoadedModule::load(const plan::Plan &plan) {
  for (const plan::Kernel &kernel : plan.kernels()) {
    if (!plan.modules(int(kernel.module())).has_elf()) {
      kernels.push_back({}); // another device's
      continue;
    }
    auto [module, added] = modules.try_emplace(kernel.module());
    if (added) {
      ZG_RETURN_IF_ERROR(
          module->second.open(plan.modules(int(kernel.module())).elf()));
    }
    void *address = module->second.find(kernel.symbol());
    if (!address) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan's kernel module has no symbol '",
                       kernel.symbol(), "', kernel ", kernels.size()));
    }
    kernels.push_back({reinterpret_cast<KernelFunction>(address),
                       kernel.host().extent(), kernel.host().grain()});
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
