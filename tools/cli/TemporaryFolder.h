//===- TemporaryFolder.h - a folder that goes with its owner --------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_TEMPORARYFOLDER_H
#define ZEROGRAPH_TOOLS_CLI_TEMPORARYFOLDER_H

#include "runtime/base/Status.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

namespace zerograph {

/// Owns a fresh folder under the system's temporary one and removes it.
class TemporaryFolder {
public:
  static absl::StatusOr<TemporaryFolder> make() {
    std::error_code error;
    std::filesystem::path base = std::filesystem::temp_directory_path(error);
    std::string name = (base / "zerograph-XXXXXX").string();
    if (error || !mkdtemp(name.data())) {
      return absl::UnavailableError(
          absl::StrCat("cannot make a temporary folder ", name, ": ",
                       error ? error.message() : std::strerror(errno)));
    }
    return TemporaryFolder(std::move(name));
  }
  TemporaryFolder(TemporaryFolder &&other)
      : folder(std::exchange(other.folder, "")) {}
  TemporaryFolder &operator=(TemporaryFolder &&other) {
    std::swap(folder, other.folder);
    return *this;
  }
  ~TemporaryFolder() {
    if (!folder.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  }

  const std::string &path() const { return folder; }

private:
  explicit TemporaryFolder(std::string folder) : folder(std::move(folder)) {}
  std::string folder;
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_TEMPORARYFOLDER_H
