//===- FuzzFrames.cpp - bytes to rank 0's port ----------------------------===//
//
// The input is what three ranks send, a frame each in turn, after they have
// been let in; its first byte says in which pieces it comes.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/tcp/Rendezvous.h"
#include "tests/fuzz/Require.h"

#include <algorithm>

using namespace zerograph;
using namespace zerograph::tcp;
using fuzz::require;
using fuzz::requireReason;

namespace {

constexpr unsigned kRanks = 3;

/// Checks that what is read as a message is one: made again, it is the same
/// bytes.
template <typename Message>
void readAs(const std::string &payload) {
  Message message;
  absl::Status status = unpack(payload, message);
  requireReason(status);
  require(!status.ok() || pack(message) == payload,
          "a message that is other bytes when it is made again");
}

/// Requires that ranks can read what the coordinator sends.
void requireSound(const Bytes &bytes) {
  FrameReader reader(kLongestPayload);
  std::vector<Frame> frames;
  require(reader.take(*bytes, frames).ok() && frames.size() == 1,
          "rank 0 sends what is no frame");
  Result result;
  Failure failure;
  require(frames[0].kind == FrameKind::kResult
              ? unpack(frames[0].payload, result).ok()
              : frames[0].kind == FrameKind::kFailure &&
                    unpack(frames[0].payload, failure).ok(),
          "rank 0 sends what is no message");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) {
    return 0;
  }
  std::vector<Frame> frames;
  FrameReader reader(kLongestPayload);
  absl::string_view bytes(reinterpret_cast<const char *>(data + 1), size - 1);
  size_t piece = data[0] + 1;
  for (absl::Status status; !bytes.empty() && status.ok();
       bytes.remove_prefix(std::min(piece, bytes.size()))) {
    status = reader.take(bytes.substr(0, piece), frames);
    requireReason(status);
  }
  Rendezvous::Clock::time_point now;
  Rendezvous rendezvous(kRanks, "run", "here:1", std::chrono::seconds(10));
  for (unsigned rank = 0; rank < kRanks; ++rank) {
    require(rendezvous.enter({"run", rank, kRanks, "process"}, now).ok(),
            "a rank that is not let in");
  }
  rendezvous.outgoing.clear();
  for (size_t i = 0; i < frames.size(); ++i) {
    readAs<Hello>(frames[i].payload);
    readAs<Call>(frames[i].payload);
    readAs<Result>(frames[i].payload);
    readAs<Alive>(frames[i].payload);
    readAs<Failure>(frames[i].payload);
    readAs<Text>(frames[i].payload);
    now += std::chrono::seconds(1);
    unsigned rank = unsigned(i % kRanks);
    if (rendezvous.isHere(rank)) {
      rendezvous.hear(rank, false, now);
      rendezvous.take(rank, frames[i], now);
      rendezvous.look(now);
    }
    requireReason(rendezvous.failure());
    for (const auto &[to, sent] : rendezvous.outgoing) {
      requireSound(sent);
    }
    rendezvous.outgoing.clear();
  }
  return 0;
}
