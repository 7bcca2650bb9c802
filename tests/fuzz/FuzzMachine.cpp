//===- FuzzMachine.cpp - bytes as a machine's file ------------------------===//

#include "simulate/Machine.h"
#include "tests/fuzz/Require.h"

#include <cmath>

using namespace zerograph;

/// Checks that a machine has all figures of its device, each above 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  auto machine = simulate::parseMachine(text, "machine");
  if (!machine.ok()) {
    fuzz::requireReason(machine.status());
    return 0;
  }
  for (const simulate::Figure &figure : simulate::figures()) {
    double value = (*machine).*figure.value;
    bool needed = machine->device == "cuda" || figure.host;
    fuzz::require(std::isfinite(value) && (value > 0 || !needed),
                  std::string(figure.name));
  }
  return 0;
}
