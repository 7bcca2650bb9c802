//===- FuzzConfig.cpp - bytes as a configuration file ---------------------===//

#include "config/Read.h"
#include "tests/fuzz/Require.h"

#include "absl/strings/match.h"

using namespace zerograph;

/// Checks that what is said of a key names settings that are there, each an
/// option's.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  // No file but this one: the others of this machine are no input.
  if (absl::StrContains(text, "config_file")) {
    return 0;
  }
  config::Known known;
  known.ranks = size % 5 == 0 ? std::nullopt : std::optional<int64_t>(size % 5);
  absl::StatusOr<config::Config> config =
      config::readText(text, "config", known);
  if (!config.ok()) {
    fuzz::requireReason(config.status());
    return 0;
  }
  for (const config::TranslatedKey &meaning : config->meanings) {
    for (size_t index : meaning.settings) {
      fuzz::require(index < config->settings.size(), "a setting that is there");
    }
  }
  for (const config::Setting &setting : config->settings) {
    fuzz::require(!setting.option.empty(), "a setting names its option");
  }
  return 0;
}
