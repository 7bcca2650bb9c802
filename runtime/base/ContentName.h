//===- ContentName.h - names that tell what a file holds ------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_CONTENTNAME_H
#define ZEROGRAPH_RUNTIME_BASE_CONTENTNAME_H

#include "absl/strings/match.h"

#include <filesystem>
#include <string>

namespace zerograph {

/// Returns the path that ranks compare: the name alone of a file or folder
/// whose name ends with a digest of its content, as `named_by_content` of
/// python/zerograph/_files.py names it. Each process has written its own.
inline std::string pathOfRanks(const std::string &path) {
  std::string name = std::filesystem::path(path).filename().string();
  return absl::StrContains(name, ".content-") ? name : path;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_CONTENTNAME_H
