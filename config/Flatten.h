//===- Flatten.h - from the values of files to keys of the table ----------===//

#ifndef ZEROGRAPH_CONFIG_FLATTEN_H
#define ZEROGRAPH_CONFIG_FLATTEN_H

#include "config/Translation.h"

namespace zerograph::config {

/// Gathers the keys of one file or of two. Problems are unknown keys, keys that
/// are given twice, and files that disagree.
class Flatten {
public:
  /// Adds what a DeepSpeed file holds.
  void addDeepSpeed(const Value &root, const std::string &file);
  /// Adds what a file of Accelerate holds, but not the file that it names.
  void addAccelerate(const Value &root, const std::string &file);

  /// Adds what Accelerate takes where nothing says it; called after all files.
  void addDefaults(const std::string &file);

  std::vector<ConfigEntry> given;
  std::vector<std::string> problems, unknown; ///< apart, for who lists keys
  /// True if DeepSpeed would train: not by a file of Accelerate that asks for
  /// nothing but ranks.
  bool deepspeed = true;

private:
  void flatten(const Value &map, Dialect dialect, const std::string &path,
               const std::string &written, const std::string &file);
  void flattenKey(const Value &child, Dialect dialect, std::string path,
                  const std::string &written, const std::string &file);
  void add(ConfigEntry found);
  void addUnknown(const ConfigEntry &found, const std::string &meant);
  void addMixedPrecision(const ConfigEntry &found);
  void checkKind();

  const ConfigEntry *find(absl::string_view path) const;
  /// Sections that were met, each with the name it had.
  std::vector<std::pair<std::string, std::string>> sections;
};

/// Returns whether a file's keys are Accelerate's.
bool isAccelerate(const Value &root);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_FLATTEN_H
