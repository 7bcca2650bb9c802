//===- FileArenaTest.cpp - what a rank keeps in a file --------------------===//

#include "runtime/device/file/FileArena.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

namespace zerograph {
namespace {

using testing::Folder;

/// Memory that begins at a page.
struct Pages {
  explicit Pages(uint64_t bytes)
      : data(static_cast<std::byte *>(std::aligned_alloc(
            kFilePage, (bytes / kFilePage + 1) * kFilePage))) {}
  ~Pages() { std::free(data); }
  std::byte *data;
};

std::vector<std::byte> randomBytes(uint64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte &byte : bytes) {
    byte = std::byte(random());
  }
  return bytes;
}

/// By io_uring, where the system has it, and by threads.
class FileArenaTest : public ::testing::TestWithParam<bool> {
protected:
  std::unique_ptr<FileArena> make(uint64_t bytes) {
    FileOptions options{folder.path, /*block_bytes=*/8192, /*depth=*/3,
                        GetParam()};
    auto arena = FileArena::create(options, bytes, /*rank=*/1);
    EXPECT_TRUE(arena.ok()) << arena.status();
    return arena.ok() ? *std::move(arena) : nullptr;
  }
  /// Changes the file behind the arena's back.
  void flip(const FileArena &arena, off_t at) {
    int file = open(arena.path().c_str(), O_RDWR);
    ASSERT_GE(file, 0);
    char byte = 0;
    ASSERT_EQ(pread(file, &byte, 1, at), 1);
    byte ^= 4;
    ASSERT_EQ(pwrite(file, &byte, 1, at), 1);
    close(file);
  }

  Folder folder;
};

INSTANTIATE_TEST_SUITE_P(Ways, FileArenaTest, ::testing::Bool());

TEST_P(FileArenaTest, LeavesNoFile) {
  auto arena = make(10000);
  ASSERT_TRUE(arena);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
  EXPECT_EQ(std::filesystem::file_size(arena->path()), 12288u);
}

// Any range, from memory that begins at a page and from any other, is what an
// array in memory would be.
TEST_P(FileArenaTest, IsAnArray) {
  constexpr uint64_t kBytes = 100000;
  auto arena = make(kBytes);
  ASSERT_TRUE(arena);
  Pages aligned(kBytes);
  arena->expect(aligned.data, kBytes);
  std::vector<std::byte> expected(kBytes), data = randomBytes(kBytes, 1);
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    uint64_t begin = random() % kBytes;
    begin = round % 3 == 0 ? begin / kFilePage * kFilePage : begin;
    uint64_t bytes =
        random() % std::min<uint64_t>(kBytes - begin, round % 2 ? 5000 : 40000);
    uint64_t skew = round % 5 == 0 ? 0 : random() % 8;
    std::byte *memory = aligned.data + begin % kFilePage;
    std::byte *target = skew == 0 ? memory : data.data() + skew;
    if (round % 4 == 3) {
      ASSERT_TRUE(arena->fill(begin, bytes).ok());
      std::fill_n(expected.begin() + std::ptrdiff_t(begin), bytes,
                  std::byte(0));
    } else {
      std::vector<std::byte> fresh = randomBytes(bytes, 100 + unsigned(round));
      bytes = std::min(bytes, kBytes - 8);
      std::copy_n(fresh.begin(), bytes, target);
      ASSERT_TRUE(arena->write(begin, target, bytes).ok());
      std::copy_n(fresh.begin(), bytes,
                  expected.begin() + std::ptrdiff_t(begin));
    }
    uint64_t from = random() % kBytes;
    uint64_t count = std::min<uint64_t>(kBytes - from, random() % 50000);
    std::byte *to =
        round % 2 ? aligned.data + from % kFilePage : data.data() + 1;
    count = std::min(count, kBytes - kFilePage);
    absl::Status status = arena->read(from, to, count);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(
        std::equal(to, to + count, expected.begin() + std::ptrdiff_t(from)))
        << round;
  }
}

TEST_P(FileArenaTest, KnowsTheEndOfWhatWasWritten) {
  auto arena = make(20000);
  ASSERT_TRUE(arena);
  EXPECT_EQ(*arena->touchedEnd(4), 0u);
  ASSERT_TRUE(arena->fill(0, 20000).ok()); // as it begins
  EXPECT_EQ(*arena->touchedEnd(4), 0u);
  ASSERT_TRUE(arena->write(5000, "abcde", 5).ok());
  EXPECT_EQ(*arena->touchedEnd(4), 5008u);
  EXPECT_EQ(*arena->touchedEnd(1), 5005u);
  EXPECT_TRUE(absl::IsOutOfRange(arena->write(19999, "ab", 2)));
  char two[2];
  EXPECT_TRUE(absl::IsOutOfRange(arena->read(20000, two, 1)));
}

TEST_P(FileArenaTest, NamesAFlippedByte) {
  auto arena = make(50000);
  ASSERT_TRUE(arena);
  std::vector<std::byte> data = randomBytes(50000, 3);
  ASSERT_TRUE(arena->write(0, data.data(), data.size()).ok());
  flip(*arena, 9000);
  ASSERT_TRUE(arena->read(0, data.data(), 8192).ok());
  absl::Status status = arena->read(0, data.data(), data.size());
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  expectSays(status, "bytes 8192 to 12288 are not those that were written",
             "zerograph-rank1-");
  // Nor is it kept, and given a new checksum, with what is written beside it.
  EXPECT_TRUE(absl::IsDataLoss(arena->write(9001, "a", 1)));
}

TEST_P(FileArenaTest, NamesWhatIsCutOff) {
  auto arena = make(50000);
  ASSERT_TRUE(arena);
  ASSERT_EQ(truncate(arena->path().c_str(), 12288), 0);
  std::vector<std::byte> data(50000);
  absl::Status status = arena->read(0, data.data(), data.size());
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  expectSays(status, "the file ends at byte ");
}

TEST_P(FileArenaTest, AFullDiskIsNoSurprise) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = {1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  FileOptions options{folder.path, 8192, 3, GetParam()};
  auto arena = FileArena::create(options, 2 << 20, 1);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(arena.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(arena.status()));
  expectSays(arena.status(),
             "cannot make a file of 2,097,152 bytes for the states "
             "of rank 1");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
  // More than the disk has.
  arena = FileArena::create(options, uint64_t(1) << 46, 1);
  expectSays(arena.status(), "are free there");
}

TEST_P(FileArenaTest, AFolderThatIsNone) {
  FileOptions options{folder.path + "/none", 8192, 3, GetParam()};
  expectSays(FileArena::create(options, 10, 0).status(),
             "/none: cannot make a file for the states of rank 0: No such");
  expectSays(probeFolder(options.folder).status(),
             "/none: cannot make a file there");
  options = {folder.path, 5000, 3, GetParam()};
  expectSays(FileArena::create(options, 10, 0).status(),
             "expected a multiple of 4096");
  options.folder = "";
  expectSays(FileArena::create(options, 10, 0).status(), "give --nvme-path");
}

TEST(ProbeFolder, SaysWhatThereIs) {
  Folder folder;
  auto support = probeFolder(folder.path).value();
  EXPECT_GT(support.free, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

} // namespace
} // namespace zerograph
