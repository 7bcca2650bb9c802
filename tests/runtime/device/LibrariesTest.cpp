//===- LibrariesTest.cpp - where libraries are looked for -----------------===//

#include "runtime/device/cuda/Libraries.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace zerograph;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr char kFile[] = "libzerograph_test.so.13";

/// A folder with a virtual environment, and nothing else of Python to be seen.
class LibrariesTest : public zerograph::testing::FolderCase {
protected:
  void SetUp() override {
    for (const char *name :
         {"PYTHONPATH", "CONDA_PREFIX", "HOME", "CUDA_HOME", "CUDA_PATH"}) {
      keep(name, nullptr);
    }
    keep("PATH", "");
    keep("VIRTUAL_ENV", root.c_str());
  }
  void TearDown() override {
    for (const auto &[name, value] : kept) {
      value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    }
  }

  /// The place of the library in a version of Python.
  fs::path place(const char *python, const char *folder = "cu13") const {
    return root / "lib" / python / "site-packages/nvidia" / folder / "lib";
  }
  void putLibrary(const fs::path &folder) const {
    fs::create_directories(folder);
    fs::copy_file(ZEROGRAPH_TEST_LIBRARY, folder / kFile);
  }

  const fs::path root = fs::canonical(folder);
  LibraryNames names{"TheLibrary", {kFile}, {"cu13", "old"}, "nvidia-it"};

private:
  void keep(const char *name, const char *instead) {
    const char *value = std::getenv(name);
    kept.emplace_back(name,
                      value ? std::optional<std::string>(value) : std::nullopt);
    instead ? setenv(name, instead, 1) : unsetenv(name);
  }
  std::vector<std::pair<const char *, std::optional<std::string>>> kept;
};

TEST_F(LibrariesTest, InAWheel) {
  putLibrary(place("python3.9", "old"));
  auto library = openLibrary(names).value();
  EXPECT_EQ(library.path, place("python3.9", "old") / kFile);
  int (*answer)() = nullptr;
  absl::Status found = findSymbols(
      names, library,
      {{"zerograph_test_answer", reinterpret_cast<void **>(&answer)}});
  ASSERT_TRUE(found.ok()) << found;
  EXPECT_EQ(answer(), 42);
  void *none = nullptr;
  std::string missing(
      findSymbols(names, library, {{"zerograph_gone", &none}}).message());
  expectSays(missing, "TheLibrary has no zerograph_gone", library.path);
}

TEST_F(LibrariesTest, TheNewestPythonAndTheFirstFolderAreFirst) {
  fs::create_directories(place("python3.9"));
  fs::create_directories(place("python3.11"));
  EXPECT_THAT(pythonPackages(),
              ElementsAre(root / "lib/python3.11/site-packages",
                          root / "lib/python3.9/site-packages"));
  putLibrary(place("python3.9"));
  putLibrary(place("python3.11", "old"));
  putLibrary(place("python3.11"));
  auto library = openLibrary(names).value();
  EXPECT_EQ(library.path, place("python3.11") / kFile);
}

// As in a virtual environment, whose python3 is a link.
TEST_F(LibrariesTest, OfThePythonOnThePath) {
  unsetenv("VIRTUAL_ENV");
  putLibrary(place("python3.11"));
  fs::create_directories(root / "bin");
  fs::create_directories(root / "elsewhere/bin");
  std::ofstream(root / "bin/python3") << "#!";
  fs::create_symlink(root / "bin/python3", root / "elsewhere/bin/python3");
  setenv("PATH", (root / "elsewhere/bin").c_str(), 1);
  auto library = openLibrary(names).value();
  EXPECT_EQ(library.path, place("python3.11") / kFile);
}

TEST_F(LibrariesTest, WhereTheLoaderLooksIsFirst) {
  fs::create_directories(place("python3.11"));
  fs::copy_file(ZEROGRAPH_TEST_LIBRARY, place("python3.11") / "libm.so.6");
  names.files = {"libm.so.6"};
  auto library = openLibrary(names).value();
  EXPECT_THAT(library.path, ::testing::Not(HasSubstr(root.string())));
}

TEST_F(LibrariesTest, WhatIsMissingIsSaid) {
  std::string error(openLibrary(names).status().message());
  expectSays(error, "TheLibrary", kFile, "pip install nvidia-it");
}

TEST_F(LibrariesTest, WhatCannotBeOpenedIsSaid) {
  fs::create_directories(place("python3.11"));
  std::ofstream(place("python3.11") / kFile) << "no library";
  std::string error(openLibrary(names).status().message());
  expectSays(error,
             (place("python3.11") / kFile).string() + " cannot be opened");
}

} // namespace
