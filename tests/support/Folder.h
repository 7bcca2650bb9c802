//===- Folder.h - a folder of a test's own --------------------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_FOLDER_H
#define ZEROGRAPH_TESTS_SUPPORT_FOLDER_H

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace zerograph::testing {

/// Removed, with all that is in it, as it goes out of scope.
struct Folder {
  Folder() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string path =
      std::filesystem::temp_directory_path() / "zerograph-test-XXXXXX";
};

/// Tests with such a folder.
class FolderCase : public ::testing::Test {
protected:
  std::string path(const std::string &name) const { return folder / name; }

private:
  Folder owned;

protected:
  const std::filesystem::path folder = owned.path;
};

/// Returns all bytes of a file; none where it cannot be read.
inline std::string contentOf(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_FOLDER_H
