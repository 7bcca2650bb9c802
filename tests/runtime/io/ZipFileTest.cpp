//===- ZipFileTest.cpp - ZIP files, whole and broken ----------------------===//

#include "runtime/io/ZipFile.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"
#include "tests/support/StoredZip.h"

#include "gtest/gtest.h"

#include <fstream>

using namespace zerograph;

namespace {

constexpr char kName[] = "x.npy";
constexpr char kContent[] = "elements";

std::string archive() { return zerograph::testing::storedZip(kName, kContent); }

class ZipFileTest : public zerograph::testing::FolderCase {
protected:
  absl::StatusOr<ZipEntries> read(const std::string &bytes) {
    std::ofstream(path("file"), std::ios::binary) << bytes;
    return readZip(*File::openForReading(path("file")).value());
  }
};

TEST_F(ZipFileTest, AnEntryIsAPlaceInTheFile) {
  ZipEntries entries = read(archive()).value();
  ASSERT_EQ(entries.size(), 1u);
  const ZipEntry &entry = entries.at(kName);
  EXPECT_EQ(archive().substr(entry.offset, entry.bytes), kContent);
}

TEST_F(ZipFileTest, WhatIsCutShortIsRefused) {
  for (size_t i = 0; i < archive().size(); ++i) {
    EXPECT_FALSE(read(archive().substr(0, i)).ok()) << i;
  }
  expectSays(read("").status(), "it has no directory at byte 0");
}

/// Whatever is changed, there is an answer, and no entry out of the file.
TEST_F(ZipFileTest, EveryByteMayBeWrong) {
  for (size_t i = 0; i < archive().size(); ++i) {
    for (char change : {char(0xff), char(1), char(0x80)}) {
      std::string changed = archive();
      changed[i] = char(changed[i] ^ change);
      absl::StatusOr<ZipEntries> entries = read(changed);
      if (!entries.ok()) {
        expectSays(entries.status(), "file");
        continue;
      }
      for (const auto &[name, entry] : *entries) {
        EXPECT_LE(entry.offset + entry.bytes, changed.size()) << i;
      }
    }
  }
}

TEST_F(ZipFileTest, WhatTheDirectorySaysIsChecked) {
  auto with = [&](const std::string &record, size_t offset, uint64_t value,
                  size_t count) {
    std::string bytes = archive(), number;
    appendLittleEndian(number, value, count);
    return read(bytes.replace(bytes.find(record) + offset, count, number))
        .status();
  };
  std::string entry = "PK\x01\x02", end = "PK\x06\x06";
  expectSays(with(entry, 8, 1, 2), "'x.npy' is encrypted at byte");
  expectSays(with(entry, 10, 8, 2), "is compressed (method 8)");
  expectSays(with(entry, 28, 60000, 2), "entry 0 is cut short");
  size_t large =
      46 + sizeof(kName) - 1 + 4; // both sizes, and the header's place
  expectSays(with(entry, large, uint64_t(1) << 62, 8), "is compressed");
  expectSays(with(entry, large + 16, uint64_t(1) << 62, 8),
             "at byte 4611686018427387904");
  expectSays(with(entry, large + 16, 3, 8), "there is no header of an entry");
  expectSays(with(entry, large - 4, 2, 2), "lacks its size");
  expectSays(with(end, 32, 1000, 8), "there is no entry 1 of 1000");
  expectSays(with(end, 40, uint64_t(1) << 40, 8),
             "its directory has the bytes");
  expectSays(with(end, 48, ~uint64_t(0), 8), "its directory has the bytes");
}

} // namespace
