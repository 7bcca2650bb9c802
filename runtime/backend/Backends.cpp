//===- Backends.cpp - the devices that there are --------------------------===//

#include "runtime/backend/Backend.h"

namespace zerograph {

// Each is made in a file of its own.
const Backend &cudaBackend();

} // namespace zerograph

using namespace zerograph;

absl::Span<const Backend *const> zerograph::backends() {
  static const Backend *const kAll[] = {&hostBackend(), &cudaBackend()};
  return kAll;
}

const Backend *zerograph::findBackend(absl::string_view name) {
  for (const Backend *backend : backends()) {
    if (backend->name() == name) {
      return backend;
    }
  }
  return nullptr;
}

const Backend &zerograph::backendOf(const plan::Plan &plan) {
  const Backend *found =
      plan.devices().empty() ? nullptr : findBackend(plan.devices(0).device());
  return found != nullptr ? *found : hostBackend();
}
