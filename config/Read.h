//===- Read.h - the configuration that a file holds -----------------------===//

#ifndef ZEROGRAPH_CONFIG_READ_H
#define ZEROGRAPH_CONFIG_READ_H

#include "config/Translation.h"

namespace zerograph::config {

/// Reads a DeepSpeed file, or one of Accelerate with what it names, and
/// translates it. Config::problems has all that is wrong with its keys; a
/// status says that a file cannot be read at all. Looks for a named file from
/// this folder, and then beside the file that names it.
absl::StatusOr<Config> read(const std::string &path, const Known &known);

/// The same of a DeepSpeed or Accelerate file's text; `name` is for messages.
absl::StatusOr<Config> readText(absl::string_view text, const std::string &name,
                                const Known &known);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_READ_H
