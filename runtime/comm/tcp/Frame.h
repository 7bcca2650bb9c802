//===- Frame.h - the bytes between rank 0 and another rank ----------------===//
//
// Anybody can connect to a port. So everything that arrives is checked here:
// a frame says how long it is and is refused before memory is given to it, and
// what lies in it is read by Messages.h.
//
//   0  "ZGCP"
//   4  u16 version      all numbers little-endian
//   6  u16 kind
//   8  u64 bytes of the payload that follows
//
// These 16 bytes mean the same in every version, so that another one can be
// told from a stranger.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_FRAME_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_FRAME_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zerograph::tcp {

constexpr uint16_t kVersion = 3;

enum class FrameKind : uint16_t {
  // From a rank to the coordinator.
  kHello = 1, // the first
  kCall,
  kAlive, // also from the coordinator
  // From the coordinator to a rank.
  kWelcome,
  kRefused,
  kElsewhere, // another run meets here
  kResult,
  // Either way.
  kFailure,
  kBye, // the last: the rank ends in good order
};
constexpr FrameKind kLastKind = FrameKind::kBye;

struct Frame {
  FrameKind kind = FrameKind::kAlive;
  std::string payload;
};

/// A frame as bytes, of which one copy may be on its way to many ranks.
using Bytes = std::shared_ptr<const std::string>;

/// Returns a frame as it is sent; `version` is another one's in tests only.
Bytes encode(FrameKind kind, absl::string_view payload,
             uint16_t version = kVersion);

/// The longest payloads: of rank 0, which hands out plans with their weights;
/// of another rank, which sends weights in parts of some MiB and tells when its
/// steps ran; and of one that has not said hello.
constexpr uint64_t kLongestPayload = uint64_t(1) << 34;
constexpr uint64_t kLongestCall = uint64_t(1) << 26;
constexpr uint64_t kLongestHello = 4096;

/// Makes frames of bytes as they come.
class FrameReader {
public:
  explicit FrameReader(uint64_t longest) : longest(longest) {}
  void setLongest(uint64_t bytes) { longest = bytes; }

  /// Appends the frames that `bytes` complete. Memory grows with what has
  /// come, not with what is promised. After an error, which says what arrived
  /// instead, nothing more is taken; frames before it were appended.
  absl::Status take(absl::string_view bytes, std::vector<Frame> &frames);

  /// Returns whether a part of a frame of this kind has come.
  bool isWithin(FrameKind kind) const {
    return header.size() == kHeader && frame.kind == kind;
  }

private:
  static constexpr size_t kHeader = 16;
  absl::Status begin();

  uint64_t longest;
  std::string header; // what has come of it
  Frame frame;        // what has come of it, once the header is there
  uint64_t missing = 0;
  absl::Status failed;
};

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_FRAME_H
