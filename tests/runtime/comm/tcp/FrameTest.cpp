//===- FrameTest.cpp - bytes from anybody ---------------------------------===//

#include "runtime/comm/tcp/Messages.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <set>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

/// Reads `bytes`, taken `part` at a time.
absl::Status read(absl::string_view bytes, size_t part,
                  std::vector<Frame> &frames,
                  uint64_t longest = kLongestPayload) {
  FrameReader reader(longest);
  absl::Status status;
  for (size_t at = 0; at < bytes.size() && status.ok(); at += part) {
    status = reader.take(bytes.substr(at, part), frames);
  }
  return status;
}

void expectError(const absl::Status &status, const std::string &part) {
  expectSays(status, part);
}

TEST(Frame, ComesInAnyPieces) {
  std::string bytes;
  std::vector<std::string> payloads = {"", "one", std::string(1000, 'x'), ""};
  for (const std::string &payload : payloads) {
    bytes += *encode(FrameKind::kCall, payload);
  }
  for (size_t part : {1, 2, 15, 16, 17, 100, 10000}) {
    std::vector<Frame> frames;
    absl::Status status = read(bytes, part, frames);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(frames.size(), payloads.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].kind, FrameKind::kCall);
      EXPECT_EQ(frames[i].payload, payloads[i]);
    }
  }
}

TEST(Frame, AStrangerIsKnownByItsFirstByte) {
  std::vector<Frame> frames;
  expectError(read("GET / HTTP/1.1\r\n\r\n", 100, frames), "protocol");
  expectError(read("G", 1, frames), "protocol");
  expectError(read("ZGC?", 1, frames), "protocol");
  EXPECT_TRUE(read("ZGC", 1, frames).ok());
  EXPECT_TRUE(frames.empty());
}

TEST(Frame, AnotherVersionIsNamed) {
  std::vector<Frame> frames;
  expectError(read(*encode(FrameKind::kHello, "", 7), 3, frames),
              "version 7 of the protocol between ranks, and this program "
              "version 3");
}

TEST(Frame, NoLengthIsBelieved) {
  std::vector<Frame> frames;
  std::string bytes = *encode(FrameKind::kHello, std::string(100, 'x'));
  expectError(read(bytes, 1000, frames, 99), "100 bytes was announced, where "
                                             "at most 99");
  EXPECT_TRUE(read(bytes, 1000, frames, 100).ok());
  ASSERT_EQ(frames.size(), 1);
  // All ones, and as much as may be: nothing is allocated for what may come.
  bytes.replace(8, 8, 8, '\xff');
  expectError(read(bytes, 1000, frames), "at most");
  bytes.replace(8, 8, std::string("\0\0\0\0\x04\0\0\0", 8));
  EXPECT_TRUE(read(bytes, 1000, frames).ok());
  EXPECT_EQ(frames.size(), 1);
}

TEST(Frame, UnknownKindsAreRefused) {
  for (int kind : {0, int(kLastKind) + 1, 0xffff}) {
    std::vector<Frame> frames;
    expectError(read(*encode(FrameKind(kind), ""), 100, frames),
                absl::StrCat("unknown kind ", kind));
  }
}

/// Bytes after an error are not looked at: where a frame begins is not known.
TEST(Frame, NothingIsTakenAfterAnError) {
  FrameReader reader(100);
  std::vector<Frame> frames;
  EXPECT_TRUE(reader.take(*encode(FrameKind::kBye, ""), frames).ok());
  EXPECT_FALSE(reader.take("what", frames).ok());
  EXPECT_FALSE(reader.take(*encode(FrameKind::kBye, ""), frames).ok());
  EXPECT_EQ(frames.size(), 1);
}

/// Checks that a payload is read as what it was made of, and that no part of
/// one and none with more after it is a message; except that texts at the end
/// of one may be fewer.
template <typename Message>
void checkMessage(const Message &message,
                  const std::set<size_t> &may_end_at = {}) {
  std::string payload = pack(message);
  Message found;
  absl::Status status = unpack(payload, found);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(pack(found), payload);
  for (size_t size = 0; size < payload.size(); ++size) {
    Message part;
    EXPECT_EQ(unpack(payload.substr(0, size), part).ok(),
              may_end_at.count(size) == 1)
        << size << " of " << payload.size();
  }
  Message more;
  EXPECT_FALSE(unpack(payload + '\0', more).ok());
}

TEST(Frame, MessagesAreWhatTheyWere) {
  checkMessage(Hello{"a run", 3, 8, "process 12 on host"});
  checkMessage(Call{1ull << 40, Operation::kCollect, "what", "text"});
  checkMessage(Result{5, {"", "one"}}, /*may_end_at=*/{8, 16});
  checkMessage(Result{5, {}});
  checkMessage(Alive{true});
  checkMessage(Failure{2, absl::StatusCode::kDeadlineExceeded, "why"});
  checkMessage(Text{"why"});
}

TEST(Frame, MessagesOutOfRangeAreRefused) {
  Call call;
  std::string payload = pack(Call{0, Operation::kCollect, "", ""});
  ++payload[8];
  expectError(unpack(payload, call), "out of range");
  Failure failure;
  payload = pack(Failure{0, absl::StatusCode::kUnauthenticated, ""});
  ++payload[4];
  expectError(unpack(payload, failure), "out of range");
  Text text;
  expectError(unpack(std::string(8, '\xff'), text), "longer than it");
}

} // namespace
