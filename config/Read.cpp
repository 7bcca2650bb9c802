//===- Read.cpp - the configuration that a file holds ---------------------===//

#include "config/Read.h"

#include "config/Flatten.h"
#include "runtime/base/Status.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace zerograph::config {
namespace {

absl::StatusOr<std::string> contentOf(const std::string &path) {
  constexpr uintmax_t kMost = 1 << 20;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is a folder, expected a file of DeepSpeed or Accelerate"));
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(
        absl::StrCat(path, ": there is no such configuration file"));
  }
  if (std::filesystem::file_size(path, error) > kMost || error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": too large for a configuration"));
  }
  std::stringstream content;
  std::ifstream file(path, std::ios::binary);
  content << file.rdbuf();
  if (!file) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  if (content.str().find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": it is no text, expected a file of DeepSpeed or Accelerate"));
  }
  return content.str();
}

absl::StatusOr<Value> parse(absl::string_view text, const std::string &name) {
  absl::StatusOr<Value> root = parseValue(text);
  return root.ok() ? root : annotate(root.status(), name);
}

/// From here, as Accelerate does, or beside the file that names it.
std::string besides(const std::string &named, const std::string &file) {
  std::error_code ignored; // what is not there is said when it is read
  std::filesystem::path beside =
      std::filesystem::path(file).parent_path() / named;
  return !std::filesystem::exists(named, ignored) &&
                 std::filesystem::exists(beside, ignored)
             ? beside.string()
             : named;
}

} // namespace

absl::StatusOr<Config> readText(absl::string_view text, const std::string &name,
                                const Known &known) {
  ZG_ASSIGN_OR_RETURN(Value root, parse(text, name));
  Flatten keys;
  if (!isAccelerate(root)) {
    keys.addDeepSpeed(root, name);
  } else {
    keys.addAccelerate(root, name);
    std::string file;
    for (const ConfigEntry &found : keys.given) {
      if (found.key->path == "deepspeed_config.deepspeed_config_file" &&
          !found.value.isNull()) {
        file = besides(found.value.text, name);
      }
    }
    if (!file.empty()) {
      ZG_ASSIGN_OR_RETURN(std::string content, contentOf(file));
      ZG_ASSIGN_OR_RETURN(Value inner, parse(content, file));
      keys.addDeepSpeed(inner, file);
    }
    keys.addDefaults(name);
  }
  Config config = Translation(keys.given, known, keys.deepspeed).translate();
  keys.problems.insert(keys.problems.begin(), keys.unknown.begin(),
                       keys.unknown.end());
  config.problems.insert(config.problems.begin(), keys.problems.begin(),
                         keys.problems.end());
  config.unknown = std::move(keys.unknown);
  return config;
}

absl::StatusOr<Config> read(const std::string &path, const Known &known) {
  ZG_ASSIGN_OR_RETURN(std::string content, contentOf(path));
  return readText(content, path, known);
}

} // namespace zerograph::config
