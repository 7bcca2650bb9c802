//===- StrangersTest.cpp - who comes to the port of ranks and is none -----===//

#include "runtime/comm/tcp/Connection.h"
#include "runtime/comm/tcp/Messages.h"
#include "runtime/comm/tcp/Timing.h"
#include "tests/runtime/comm/ControlPlanes.h"
#include "tests/support/Says.h"

#include <future>
#include <mutex>

using namespace zerograph;
using namespace zerograph::testing;
using namespace zerograph::tcp;

namespace {

using Clock = std::chrono::steady_clock;
using Joined = absl::StatusOr<std::unique_ptr<TcpControlPlane>>;

class StrangersTest : public ::testing::Test {
protected:
  /// A thread joins a run, whose others come later or never.
  std::future<Joined> join(unsigned rank, unsigned world,
                           const std::string &run = "a test",
                           double deadline = 60) {
    return join(launchOf(rank, world, port, run), deadline);
  }
  std::future<Joined> join(const Launch &launch, double deadline) {
    return std::async(std::launch::async, [=, this]() -> Joined {
      TcpOptions options;
      options.deadline = Deadline(deadline);
      options.say = [this](const std::string &text) {
        std::lock_guard<std::mutex> lock(mutex);
        notes += text + "\n";
      };
      return TcpControlPlane::join(launch, options);
    });
  }

  /// One that has connected.
  Connection stranger() {
    while (true) {
      auto socket =
          connectTo("127.0.0.1", port, Clock::now() + std::chrono::seconds(10));
      if (socket.ok()) {
        return Connection(*std::move(socket));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  /// Returns what rank 0 answers, up to its end.
  std::vector<Frame> answers(Connection &connection, size_t count = SIZE_MAX) {
    std::vector<Frame> frames;
    bool came = false;
    absl::Status status;
    while (status.ok() && frames.size() < count) {
      connection.write();
      EXPECT_TRUE(waitFor(connection.descriptor(), false,
                          Clock::now() + std::chrono::seconds(20)));
      status = connection.read(frames, came);
    }
    return frames;
  }

  /// Why rank 0 refuses who says `bytes`.
  std::string refusal(const Bytes &bytes) {
    Connection connection = stranger();
    connection.send(bytes);
    std::vector<Frame> frames = answers(connection, 1);
    Text why;
    EXPECT_EQ(frames.size(), 1);
    EXPECT_TRUE(frames[0].kind == FrameKind::kRefused ||
                frames[0].kind == FrameKind::kElsewhere);
    EXPECT_TRUE(unpack(frames[0].payload, why).ok());
    return why.text;
  }

  void expectNoted(const std::string &part) {
    std::lock_guard<std::mutex> lock(mutex);
    EXPECT_NE(notes.find(part), std::string::npos)
        << notes << "without: " << part;
  }

  /// Two ranks meet in spite of all.
  void expectMeeting(std::future<Joined> zero, std::future<Joined> one) {
    Joined first = zero.get(), second = one.get();
    EXPECT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(second.ok()) << second.status();
  }

  uint16_t port = freePort();
  std::mutex mutex;
  std::string notes;
};

Bytes bytesOf(const std::string &text) {
  return std::make_shared<const std::string>(text);
}

TEST_F(StrangersTest, WhoSendsGarbageIsRefused) {
  auto zero = join(0, 2);
  expectSays(refusal(bytesOf("GET / HTTP/1.1\r\nHost: rank0\r\n\r\n")),
             "does not begin as Zerograph's protocol");
  expectSays(refusal(encode(FrameKind::kHello, "?")), "a hello came that is "
                                                      "none");
  expectSays(refusal(encode(FrameKind::kAlive, "")), "did not say hello");
  expectSays(refusal(encode(FrameKind::kHello, std::string(1 << 20, 'x'))),
             "at most 4096");
  // Others say nothing, and go or stay.
  Connection silent = stranger();
  { Connection gone = stranger(); }
  expectMeeting(std::move(zero), join(1, 2));
  expectNoted("refused a connection from 127.0.0.1:");
  expectNoted("does not begin as Zerograph's protocol");
}

/// It reads why only in the end.
TEST_F(StrangersTest, WhoGoesOnSendingHearsWhy) {
  auto zero = join(0, 2);
  Connection connection = stranger();
  for (int i = 0; i < 50; ++i) {
    connection.send(bytesOf(std::string(100, 'x')));
    connection.write();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::vector<Frame> frames = answers(connection, 1);
  ASSERT_EQ(frames.size(), 1);
  EXPECT_EQ(frames[0].kind, FrameKind::kRefused);
  expectMeeting(std::move(zero), join(1, 2));
}

TEST_F(StrangersTest, WhatAStrangerSaysIsNoControlOfTerminals) {
  auto zero = join(0, 2);
  Hello hello = {"\x1b[2J", 1, 2, "process 1 on host"};
  std::string why = refusal(encode(FrameKind::kHello, pack(hello)));
  EXPECT_EQ(why.find('\x1b'), std::string::npos);
  expectSays(why, "this one is '\\x1b[2J'");
  hello.run = "";
  why = refusal(encode(FrameKind::kHello, pack(hello)));
  expectSays(why, "this one is one without a name");
  expectMeeting(std::move(zero), join(1, 2));
}

/// As much as rank 0 may send would exhaust its memory.
TEST_F(StrangersTest, ALongFrameOfARankIsRefused) {
  auto zero = join(0, 2);
  Connection connection = stranger();
  connection.send(
      encode(FrameKind::kHello, pack(Hello{"a test", 1, 2, "process 5 on h"})));
  EXPECT_EQ(answers(connection, 1)[0].kind, FrameKind::kWelcome);
  std::string header = *encode(FrameKind::kCall, "");
  header.replace(8, 8, std::string("\0\0\0\x08\0\0\0\0", 8));
  connection.send(bytesOf(header));
  connection.write();
  expectSays(zero.get().status(), "a frame of 134217728 bytes was announced");
}

TEST_F(StrangersTest, AnotherVersionIsRefused) {
  auto zero = join(0, 2);
  Hello hello = {"a test", 1, 2, "process 1 on host"};
  expectSays(refusal(encode(FrameKind::kHello, pack(hello), 9)),
             "speaks version 9 of the protocol between ranks, and "
             "this program version 3");
  expectMeeting(std::move(zero), join(1, 2));
}

/// Rank 0 of another version is told from a stranger, too.
TEST_F(StrangersTest, RankZeroOfAnotherVersionIsNamed) {
  auto listening = listenOn("127.0.0.1", port).value();
  for (const auto &[bytes, part] :
       {std::make_pair(encode(FrameKind::kWelcome, "", 9),
                       "speaks version 9 of the protocol"),
        std::make_pair(bytesOf("220 host ESMTP\r\n"),
                       "does not begin as Zerograph's protocol"),
        std::make_pair(encode(FrameKind::kResult, ""),
                       "does not answer as one")}) {
    auto one = join(1, 2);
    std::string peer;
    ASSERT_TRUE(waitFor(listening.get(), false,
                        Clock::now() + std::chrono::seconds(20)));
    Connection connection(*acceptFrom(listening, peer));
    connection.send(bytes);
    connection.write();
    expectSays(one.get().status(), part, absl::StrCat("127.0.0.1:", port));
  }
}

/// A stranger that listens and never speaks, as a debugger's port may.
TEST_F(StrangersTest, WhoListensAndSaysNothingIsGivenUp) {
  auto listening = listenOn("127.0.0.1", port);
  expectSays(join(1, 2, "a test", 0.5).get().status(),
             "somebody listens, and says nothing");
}

/// A user who has set a longer deadline has a slower machine, or more patience.
TEST(Timing, AnAnswerIsWaitedForByTheDeadline) {
  using std::chrono::seconds;
  EXPECT_EQ(answer(seconds(1)), seconds(10));
  EXPECT_EQ(answer(seconds(300)), seconds(30));
  EXPECT_EQ(answer(seconds(3000)), seconds(300));
}

TEST_F(StrangersTest, AnotherRunIsRefusedOnBothSides) {
  auto zero = join(0, 2, "job 7");
  absl::Status status = join(1, 2, "job 8").get().status();
  expectSays(status, "127.0.0.1:", "refused by rank 0: another run", "'job 7'",
             "'job 8'", "ZEROGRAPH_PORT");
  status = join(1, 3, "job 7").get().status();
  expectSays(status, "one of 2 ranks, and this is rank 1 of 3");
  expectMeeting(std::move(zero), join(1, 2, "job 7"));
  expectNoted("another run meets there");
}

TEST_F(StrangersTest, APortInUseIsNamed) {
  auto listening = listenOn("127.0.0.1", port);
  expectSays(join(0, 2).get().status(),
             absl::StrCat("cannot listen on port ", port), "ZEROGRAPH_PORT",
             "in use");
}

/// Ranks that try two ports, the first of which somebody has.
class TwoPortsTest : public StrangersTest {
protected:
  std::future<Joined> joinEither(unsigned rank, double deadline = 60) {
    Launch launch = launchOf(rank, 2, port, "job 8");
    launch.place->ports.push_back(second);
    return join(launch, deadline);
  }
  uint16_t second = freePort();
};

TEST_F(TwoPortsTest, RankZeroTakesTheSecondAndIsFound) {
  auto listening = listenOn("127.0.0.1", port); // and says nothing
  expectMeeting(joinEither(0), joinEither(1));
  expectNoted(
      absl::StrCat("port ", port, " is in use; rank 0 listens on ", second));
}

TEST_F(TwoPortsTest, RanksPassByAnotherRun) {
  auto others = join(0, 2, "job 7");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  auto one = joinEither(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  expectMeeting(joinEither(0), std::move(one));
  expectMeeting(std::move(others), join(1, 2, "job 7"));
}

TEST_F(TwoPortsTest, WhoWasMetIsNamedInTheEnd) {
  auto others = join(0, 2, "job 7");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  expectSays(joinEither(1, 1).get().status(), absl::StrCat("127.0.0.1:", port),
             absl::StrCat("127.0.0.1:", second), "Connection refused",
             "another run meets there");
  expectMeeting(std::move(others), join(1, 2, "job 7"));
}

/// A rank that has been let in and then sends what no rank does ends the run:
/// its state is not known any more.
TEST_F(StrangersTest, ARankThatSendsGarbageEndsAll) {
  auto zero = join(0, 2);
  Connection connection = stranger();
  connection.send(
      encode(FrameKind::kHello, pack(Hello{"a test", 1, 2, "process 5 on h"})));
  EXPECT_EQ(answers(connection, 1)[0].kind, FrameKind::kWelcome);
  connection.send(bytesOf("garbage"));
  connection.write();
  expectSays(zero.get().status(), "meeting the other ranks",
             "rank 1 (process 5 on h)",
             "does not begin as Zerograph's protocol");
}

/// Also where a sign of life is due as a rank comes, one every 0.2 s.
TEST_F(StrangersTest, AWelcomeIsTheFirstThatARankHears) {
  constexpr unsigned kRanks = 200;
  auto zero = join(0, kRanks, "a test", 1);
  std::vector<Connection> ranks;
  ranks.push_back(stranger());
  for (unsigned rank = 1; rank + 1 < kRanks; ++rank) {
    ranks.back().send(encode(FrameKind::kHello,
                             pack(Hello{"a test", rank, kRanks, "process 5"})));
    std::vector<Frame> said = answers(ranks.back(), 1);
    if (said.empty() || said[0].kind == FrameKind::kRefused) {
      break; // rank 0 has given up: the machine is slow
    }
    ASSERT_EQ(said[0].kind, FrameKind::kWelcome) << "rank " << rank;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    auto socket =
        connectTo("127.0.0.1", port, Clock::now() + std::chrono::seconds(10));
    if (!socket.ok()) {
      break;
    }
    ranks.emplace_back(*std::move(socket));
  }
  EXPECT_FALSE(zero.get().ok());
  if (ranks.size() <= 5) {
    GTEST_SKIP() << "rank 0 gave up before ranks came: the machine is slow";
  }
}

TEST_F(StrangersTest, AHostThatIsNoneIsNamed) {
  Launch launch = launchOf(1, 2, port);
  launch.place->host = "no-such-host.invalid";
  launch.place->source = "MASTER_ADDR";
  TcpOptions options;
  options.deadline = Deadline(0.3);
  expectSays(TcpControlPlane::join(launch, options).status(),
             "no-such-host.invalid", "(MASTER_ADDR)");
}

} // namespace
