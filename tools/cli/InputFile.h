//===- InputFile.h - the file that a command is about ---------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_INPUTFILE_H
#define ZEROGRAPH_TOOLS_CLI_INPUTFILE_H

#include "absl/status/status.h"

#include <string>
#include <vector>

namespace zerograph {

/// The kind that a file must be of. `train` takes a model by its name,
/// NAME.onnx, and else a plan.
enum class Input { Model, Plan, ModelOrPlan };

/// Returns an error where `path` is clearly something else than `wanted`: a
/// folder, weights, a text. A file that is not there, or cannot be told, fails
/// when it is read.
absl::Status checkInputFile(const std::string &path, Input wanted);

/// Returns an error where the file that an option names for writing is one of
/// those that are read; empty names are none.
absl::Status checkNotRead(const std::string &option, const std::string &written,
                          const std::vector<std::string> &read);

/// Returns whether a file begins as plans do.
bool isPlan(const std::string &path);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_INPUTFILE_H
