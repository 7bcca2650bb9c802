//===- Messages.h - what lies in frames -----------------------------------===//
//
// Each message is packed into a payload and unpacked from one, where no length
// is believed: what is too short, too long, or out of range is an error.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_MESSAGES_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_MESSAGES_H

#include "runtime/comm/tcp/Frame.h"

#include <vector>

namespace zerograph::tcp {

/// Says who comes. A rank that does not belong here is refused.
struct Hello {
  std::string run;
  uint32_t rank = 0;
  uint32_t world = 0;
  std::string process; // "process 12 on host", for messages
};

/// The kinds of calls; every rank makes the same in turn.
enum class Operation : uint8_t { kBarrier, kExchange, kCollect };
/// Returns "barrier", ...
const char *nameOf(Operation operation);

struct Call {
  uint64_t round = 0; // counts calls from 0
  Operation operation = Operation::kBarrier;
  std::string what; // for messages
  std::string text;
};

struct Result {
  uint64_t round = 0;
  std::vector<std::string> texts;
};

/// Says that a rank lives; if `busy`, it must not be given up for being late.
struct Alive {
  bool busy = false;
};

/// Ends all ranks.
struct Failure {
  static constexpr uint32_t kNobody = UINT32_MAX;
  uint32_t rank = kNobody; // that failed, or that waited in vain
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;
};

/// A text: the coordinator's process, in kWelcome; a reason, in kRefused and
/// kElsewhere.
struct Text {
  std::string text;
};

std::string pack(const Hello &message);
std::string pack(const Call &message);
std::string pack(const Result &message);
std::string pack(const Alive &message);
std::string pack(const Failure &message);
std::string pack(const Text &message);

/// Reads a payload into `message`; an error leaves it in any state.
absl::Status unpack(absl::string_view payload, Hello &message);
absl::Status unpack(absl::string_view payload, Call &message);
absl::Status unpack(absl::string_view payload, Result &message);
absl::Status unpack(absl::string_view payload, Alive &message);
absl::Status unpack(absl::string_view payload, Failure &message);
absl::Status unpack(absl::string_view payload, Text &message);

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_MESSAGES_H
