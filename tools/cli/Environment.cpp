//===- Environment.cpp - `env`: what this machine has ---------------------===//

#include "runtime/backend/Backend.h"
#include "tools/cli/CommandLine.h"

#include <cstdio>

namespace zerograph {

void addEnv(CommandLine &command_line) {
  CLI::App &command = command_line.add(
      "env", "Says what this machine has, and what it lacks for what");
  command_line.onRun(command, []() -> absl::StatusOr<int> {
    for (const Backend *backend : backends()) {
      for (const auto &[what, found] : backend->describe()) {
        std::printf("%-12s %s\n", what.c_str(), found.c_str());
      }
    }
    return 0;
  });
}

} // namespace zerograph
