//===- TemporariesTest.cpp - what a signal must not leave behind ----------===//

#include "runtime/io/NewFile.h"
#include "runtime/io/SafetensorsWriter.h"
#include "tests/support/Folder.h"

#include "gtest/gtest.h"

#include <filesystem>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

struct Folder : zerograph::testing::Folder {
  size_t files() const {
    return size_t(std::distance(fs::directory_iterator(path), {}));
  }
};

// Files that are being written go; those that have their names stay.
TEST(Temporaries, OnlyWhatIsNotWholeIsRemoved) {
  Folder folder;
  std::vector<SafetensorsWriter::Entry> entries = {{"w", plan::F32, {2}}};
  auto whole = SafetensorsWriter::create(folder.path + "/whole", entries);
  auto partial = SafetensorsWriter::create(folder.path + "/partial", entries);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_TRUE(partial.ok()) << partial.status();
  ASSERT_TRUE((*whole)->commit().ok());
  EXPECT_EQ(folder.files(), 2u);
  removeTemporaries();
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_TRUE(fs::exists(folder.path + "/whole"));
  partial->reset();
  // Its name is no longer remembered: a later file of that name stays.
  std::string again = folder.path + "/again";
  rememberTemporary(again);
  forgetTemporary(again);
  ASSERT_TRUE(SafetensorsWriter::create(again, entries).value()->commit().ok());
  removeTemporaries();
  EXPECT_EQ(folder.files(), 2u);
}

// However many are written at once.
TEST(Temporaries, ManyAreRemoved) {
  Folder folder;
  std::vector<SafetensorsWriter::Entry> entries = {{"w", plan::F32, {2}}};
  std::vector<std::unique_ptr<SafetensorsWriter>> writers;
  for (int i = 0; i < 40; ++i) {
    writers.push_back(SafetensorsWriter::create(
                          folder.path + "/" + std::to_string(i), entries)
                          .value());
  }
  EXPECT_EQ(folder.files(), 40u);
  removeTemporaries();
  EXPECT_EQ(folder.files(), 0u);
}

} // namespace
