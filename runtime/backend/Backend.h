//===- Backend.h - a kind of device, and how ranks on it exchange ---------===//

#ifndef ZEROGRAPH_RUNTIME_BACKEND_BACKEND_H
#define ZEROGRAPH_RUNTIME_BACKEND_BACKEND_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"
#include "runtime/device/Driver.h"
#include "runtime/plan/Supported.h"

#include <utility>

namespace zerograph {

/// Answers what the rest of the runtime, and the commands, ask about a kind of
/// device. Each kind has one object, which lives as long as the process; any
/// thread may call it. The defaults are for a device that is the processor: its
/// ranks exchange by the transport that they meet through.
class Backend {
public:
  virtual ~Backend() = default;

  /// Returns its name in plans and in --target.
  virtual const char *name() const = 0;
  /// Opens the device of a plan; `number` says which, of several accelerators.
  /// An error lists all that this machine lacks.
  virtual absl::StatusOr<std::unique_ptr<Driver>>
  open(const plan::Target &target, unsigned number) const = 0;
  /// Returns the lines of `env`, each a heading, which may be empty, and what
  /// this machine has or lacks.
  virtual std::vector<std::pair<std::string, std::string>> describe() const = 0;

  /// Returns whether its devices are accelerators, whose streams are queues.
  bool accelerates() const { return isGpu(name()); }
  /// Lists the accelerators that this process may use, at least one: a name
  /// each, which other processes have for the same one too. An error says what
  /// is missing. The processor is one without a name.
  virtual absl::StatusOr<std::vector<std::string>> list() const {
    return std::vector<std::string>{""};
  }
  /// Returns whether an accelerator of this process did not come back. Then
  /// what runs when a process exits may wait for it for ever: end by
  /// std::_Exit.
  virtual bool lost() const { return false; }

  /// Returns what each rank of `controls` exchanges by, in rank order, where
  /// all are threads that share the accelerator of `module`; nothing for the
  /// processor. The module and the controls outlive them.
  virtual std::vector<std::unique_ptr<Collectives>>
  share(const Module &module, absl::Span<ControlPlane *const> controls) const {
    return {};
  }
  /// Returns what the rank of `control` exchanges by, which has the accelerator
  /// of `module` to itself; null for the processor. Both outlive it.
  virtual absl::StatusOr<std::unique_ptr<Collectives>>
  connect(const Module &module, ControlPlane &control,
          const ExchangeOptions &options) const {
    return nullptr;
  }
  /// Returns the name and version of the library by which `connect` exchanges.
  virtual absl::StatusOr<std::string> exchangeLibrary() const {
    return std::string();
  }
};

/// Returns all backends, the host's first.
absl::Span<const Backend *const> backends();

/// Returns the backend of a device's name; null where there is none.
const Backend *findBackend(absl::string_view name);

/// Returns the backend of a plan's first device. A plan for none that there is,
/// which `verifyPlan` refuses, gets the host's.
const Backend &backendOf(const plan::Plan &plan);

/// Returns the processor's, which also helps the other devices.
const Backend &hostBackend();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BACKEND_BACKEND_H
