//===- MonitorKeys.cpp - keys of what watches a run -----------------------===//

#include "config/Converters.h"

#include "config/FileWriter.h"
#include "config/Translation.h"

#include <filesystem>

namespace zerograph::config {
namespace {

void readTensorboard(const ConfigEntry &found, Translation &to) {
  if (!*found.value.boolean()) {
    to.noEffect("off");
    return;
  }
  const Value *path = to.value("tensorboard.output_path");
  const Value *job = to.value("tensorboard.job_name");
  std::filesystem::path folder = path != nullptr ? path->text : "";
  folder /= job != nullptr ? job->text : "DeepSpeedJobName";
  to.set(found, found.key->option, folder.string());
}

/// Writes the keys beside the switch, which there is no folder without.
void writeTensorboard(const Key &key, FileWriter &file) {
  if (!file.has(key.option)) {
    return;
  }
  std::filesystem::path folder = file.value(key.option);
  file.putWhether(key, true);
  file.put(*findKey(key.dialect, "tensorboard.output_path"),
           folder.parent_path().string());
  file.put(*findKey(key.dialect, "tensorboard.job_name"),
           folder.filename().string());
}

} // namespace

const Converter tensorboard = {.read = readTensorboard,
                               .write = writeTensorboard};

} // namespace zerograph::config
