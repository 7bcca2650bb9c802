//===- GatherWeights.cpp - weights of all ranks where they are wanted -----===//

#include "runtime/exec/GatherWeights.h"

#include "runtime/comm/ParseMessage.h"
#include "runtime/exec/weight_parts.pb.h"

#include "absl/strings/numbers.h"

#include <algorithm>

using namespace zerograph;

namespace {

constexpr uint64_t kMessage = 1 << 20;

using Send = std::function<absl::Status(const std::string &message)>;

/// Cuts what is written to it into messages of about a MiB, always the same
/// ones for the same content.
class Messages {
public:
  explicit Messages(Send send) : send(std::move(send)) {}

  absl::Status write(const std::string &name, uint64_t offset, uint64_t bytes,
                     const void *data) {
    auto *from = static_cast<const char *>(data);
    while (bytes > 0) {
      uint64_t count = std::min(bytes, kMessage);
      exec::WeightParts::Part &part = *message.add_parts();
      part.set_name(name);
      part.set_offset(offset);
      part.set_data(from, count);
      from += count;
      offset += count;
      bytes -= count;
      size += name.size() + count;
      if (size >= kMessage) {
        ZG_RETURN_IF_ERROR(flush());
      }
    }
    return absl::OkStatus();
  }

  absl::Status flush() {
    if (size == 0) {
      return absl::OkStatus();
    }
    ++sent;
    absl::Status status = send(message.SerializeAsString());
    message.Clear();
    size = 0;
    return status;
  }

  uint64_t count() const { return sent; }

private:
  Send send;
  exec::WeightParts message;
  uint64_t size = 0; // of the message, about
  uint64_t sent = 0;
};

absl::Status writeMessage(const WeightSink &sink, const std::string &text) {
  ZG_ASSIGN_OR_RETURN(auto message, parseMessage<exec::WeightParts>(text));
  for (const exec::WeightParts::Part &part : message.parts()) {
    ZG_RETURN_IF_ERROR(sink(part.name(), part.offset(), part.data().size(),
                            part.data().data()));
  }
  return absl::OkStatus();
}

/// Gives the rank's own messages to `send`, and returns their number.
absl::StatusOr<uint64_t> sendAll(const plan::Plan &plan,
                                 const WeightFileOptions &options,
                                 const RankMemory &memory, const Send &send) {
  Messages messages(send);
  ZG_RETURN_IF_ERROR(writeWeights(
      [&](const std::string &name, uint64_t offset, uint64_t bytes,
          const void *data) {
        return messages.write(name, offset, bytes, data);
      },
      plan, options, memory));
  ZG_RETURN_IF_ERROR(messages.flush());
  return messages.count();
}

/// Returns how many rounds there are, of which this rank needs `own`. All ranks
/// take part in each, so that none waits longer than for one message of each.
absl::StatusOr<uint64_t> roundsOf(ControlPlane &control,
                                  const std::string &what, uint64_t own) {
  uint64_t rounds = 0;
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> counts,
                      control.exchange(what, absl::StrCat(own)));
  for (const std::string &text : counts) {
    uint64_t count = 0;
    if (!absl::SimpleAtoi(text, &count)) {
      return absl::InternalError("no number of messages");
    }
    rounds = std::max(rounds, count);
  }
  return rounds;
}

} // namespace

absl::Status zerograph::gatherWeights(
    ControlPlane &control, const std::string &what, Receivers receivers,
    const WeightSink &sink, const plan::Plan &plan,
    const WeightFileOptions &options, const RankMemory &memory) {
  if (control.inOneProcess()) {
    // No weights are copied: each rank reads its own memory.
    ZG_RETURN_IF_ERROR(writeWeights(sink, plan, options, memory));
    return control.barrier(what);
  }
  // Rank 0 writes its own part as it is, where it alone receives.
  bool all = receivers == Receivers::All, sends = all || control.rank() != 0;
  auto round = [&](const std::string &own) {
    auto messages =
        all ? control.exchange(what, own) : control.collect(what, own);
    ZG_RETURN_IF_ERROR(messages.status());
    for (const std::string &message : *messages) {
      ZG_RETURN_IF_ERROR(writeMessage(sink, message));
    }
    return absl::OkStatus();
  };
  uint64_t own = 0;
  if (sends) {
    ZG_ASSIGN_OR_RETURN(
        own, sendAll(plan, options, memory,
                     [](const std::string &) { return absl::OkStatus(); }));
  }
  ZG_ASSIGN_OR_RETURN(uint64_t rounds, roundsOf(control, what, own));
  ZG_RETURN_IF_ERROR(sends ? sendAll(plan, options, memory, round).status()
                           : writeWeights(sink, plan, options, memory));
  for (; own < rounds; ++own) {
    ZG_RETURN_IF_ERROR(round(""));
  }
  return absl::OkStatus();
}
