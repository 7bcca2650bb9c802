//===- EventFileTest.cpp - files for TensorBoard --------------------------===//

#include "runtime/exec/EventFile.h"
#include "runtime/exec/events.pb.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

class EventFileTest : public zerograph::testing::FolderCase {
protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path());
    }
    return names;
  }

  /// The events of a file, with its framing checked.
  static std::vector<events::Event> read(const std::string &path) {
    std::string text = zerograph::testing::contentOf(path);
    std::vector<events::Event> result;
    size_t at = 0;
    while (at + 16 <= text.size()) {
      uint64_t length = 0;
      uint32_t of_length = 0, of_event = 0;
      std::memcpy(&length, &text[at], 8);
      std::memcpy(&of_length, &text[at + 8], 4);
      EXPECT_EQ(of_length, maskedCrc32c(text.substr(at, 8)));
      std::string event = text.substr(at + 12, length);
      std::memcpy(&of_event, &text[at + 12 + length], 4);
      EXPECT_EQ(of_event, maskedCrc32c(event));
      EXPECT_TRUE(result.emplace_back().ParseFromString(event));
      at += 16 + length;
    }
    EXPECT_EQ(at, text.size());
    return result;
  }
};

/// The checksum of RFC 3720's examples: of "123456789" and of 32 zeros it is
/// e3069283 and 8a9136aa.
TEST_F(EventFileTest, TheSumIsMaskedCrc32c) {
  auto mask = [](uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
  };
  EXPECT_EQ(maskedCrc32c("123456789"), mask(0xe3069283));
  EXPECT_EQ(maskedCrc32c(std::string(32, '\0')), mask(0x8a9136aa));
  EXPECT_EQ(maskedCrc32c(""), mask(0));
}

TEST_F(EventFileTest, EventsReadBack) {
  auto file = EventFile::open(folder).value();
  ASSERT_TRUE(file->add(0, {{"loss", 2.5}, {"lr", 0.0}}).ok());
  ASSERT_EQ(files().size(), 1u);
  expectSays(files()[0], "/events.out.tfevents.");
  EXPECT_EQ(read(files()[0]).size(), 2u); // while the run goes on
  ASSERT_TRUE(file->add(7, {{"loss", NAN}}).ok());
  std::vector<events::Event> events = read(files()[0]);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_GT(events[0].wall_time(), 1.7e9);
  EXPECT_GE(events[1].wall_time(), events[0].wall_time());
  EXPECT_EQ(events[1].step(), 0);
  ASSERT_EQ(events[1].summary().value_size(), 2);
  EXPECT_EQ(events[1].summary().value(0).tag(), "loss");
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 2.5);
  EXPECT_EQ(events[1].summary().value(1).tag(), "lr");
  EXPECT_TRUE(events[1].summary().value(1).has_simple_value()); // if it is 0
  EXPECT_EQ(events[2].step(), 7);
  EXPECT_TRUE(std::isnan(events[2].summary().value(0).simple_value()));
}

/// Runs of one second have files of their own, and one that begins nothing
/// leaves nothing.
TEST_F(EventFileTest, OthersFilesStay) {
  { ASSERT_TRUE(EventFile::open(folder / "deep").ok()); }
  EXPECT_FALSE(fs::exists(folder / "deep"));
  for (uint64_t run : {1, 2, 3}) {
    auto file = EventFile::open(folder).value();
    ASSERT_TRUE(file->add(run, {{"loss", 1}}).ok());
  }
  EXPECT_EQ(files().size(), 3u);
  { ASSERT_TRUE(EventFile::open(folder).ok()); }
  EXPECT_EQ(files().size(), 3u);

  std::ofstream(folder / "file") << "text";
  auto file = EventFile::open(folder / "file");
  expectSays(file.status(), "file: cannot make the folder");
}

} // namespace
