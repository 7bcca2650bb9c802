//===- HostDevice.cpp - the CPU as a device -------------------------------===//

#include "runtime/device/host/HostDevice.h"

#include "runtime/device/host/HostArena.h"
#include "runtime/device/host/HostStream.h"

using namespace zerograph;

namespace {

class HostDevice final : public Device {
public:
  absl::StatusOr<std::unique_ptr<Arena>> allocate(uint64_t bytes,
                                                  uint64_t alignment) override {
    return makeHostArena(bytes, alignment);
  }

  std::unique_ptr<Stream> makeStream(unsigned index, const std::string &name,
                                     unsigned workers) override {
    return makeHostStream(timelines, index, name, workers);
  }

  void beginProgram() override { timelines.reset(); }

  void onFailure(std::function<void(const absl::Status &)> callback) override {
    timelines.failure_callback = std::move(callback);
  }

private:
  Timelines timelines;
};

} // namespace

std::unique_ptr<Device> zerograph::makeHostDevice() {
  return std::make_unique<HostDevice>();
}
