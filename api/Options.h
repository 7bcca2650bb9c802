//===- Options.h - options of the C interface -----------------------------===//

#ifndef ZEROGRAPH_API_OPTIONS_H
#define ZEROGRAPH_API_OPTIONS_H

#include "tools/cli/CommandLine.h"
#include "tools/cli/OptionTable.h"

#include <string>
#include <vector>

namespace zerograph::api {

/// Parses options as those of a command, which Flags(command, as...) declares,
/// and calls `work` with the command and the flags. Returns what is wrong with
/// the options, or the error of `work`.
template <typename Flags, typename Work, typename... As>
absl::Status withOptions(std::vector<std::string> options, const Work &work,
                         As... as) {
  CommandLine line("");
  CLI::App &command = line.add("library", "");
  Flags flags(command, as...);
  line.onRun(command, [&]() -> absl::StatusOr<int> {
    ZG_RETURN_IF_ERROR(work(command, flags));
    return 0;
  });
  options.insert(options.begin(), "library");
  return line.call(options);
}

} // namespace zerograph::api

#endif // ZEROGRAPH_API_OPTIONS_H
