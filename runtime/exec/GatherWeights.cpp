//===- GatherWeights.cpp - weights of all processes into one file ---------===//

#include "runtime/exec/GatherWeights.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

constexpr uint64_t kMessage = 1 << 20;

/// The header before each array's part in a message: its name follows.
struct PartHeader {
  uint64_t name_bytes = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Cuts what is written to it into messages of about a MiB, always the same
/// ones for the same content.
class Messages {
public:
  using Send = std::function<absl::Status(const std::string &message)>;
  explicit Messages(Send send) : send(std::move(send)) {}

  absl::Status write(const std::string &name, uint64_t offset, uint64_t bytes,
                     const void *data) {
    auto *from = static_cast<const char *>(data);
    while (bytes > 0) {
      PartHeader header{name.size(), offset, std::min(bytes, kMessage)};
      message.append(reinterpret_cast<const char *>(&header), sizeof(header));
      message += name;
      message.append(from, header.bytes);
      from += header.bytes;
      offset += header.bytes;
      bytes -= header.bytes;
      if (message.size() >= kMessage) {
        ZG_RETURN_IF_ERROR(flush());
      }
    }
    return absl::OkStatus();
  }

  absl::Status flush() {
    if (message.empty()) {
      return absl::OkStatus();
    }
    ++sent;
    absl::Status status = send(message);
    message.clear();
    return status;
  }

  uint64_t count() const { return sent; }

private:
  Send send;
  std::string message;
  uint64_t sent = 0;
};

absl::Status writeMessage(const WeightSink &sink, const std::string &message) {
  for (size_t at = 0; at < message.size();) {
    PartHeader header;
    std::memcpy(&header, message.data() + at, sizeof(header));
    at += sizeof(header);
    std::string name = message.substr(at, header.name_bytes);
    at += header.name_bytes;
    ZG_RETURN_IF_ERROR(
        sink(name, header.offset, header.bytes, message.data() + at));
    at += header.bytes;
  }
  return absl::OkStatus();
}

/// Gives the rank's own messages to `send`, and their number.
absl::StatusOr<uint64_t> sendAll(const plan::Plan &plan,
                                 const WeightFileOptions &options,
                                 const RankMemory &memory,
                                 const Messages::Send &send) {
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

/// Returns how many messages a rank has.
absl::StatusOr<uint64_t> countAll(const plan::Plan &plan,
                                  const WeightFileOptions &options,
                                  const RankMemory &memory) {
  return sendAll(plan, options, memory,
                 [](const std::string &) { return absl::OkStatus(); });
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

absl::Status zerograph::shareWeights(ControlPlane &control,
                                     const std::string &what,
                                     const WeightSink &sink,
                                     const plan::Plan &plan,
                                     const WeightFileOptions &options,
                                     const RankMemory &memory) {
  auto round = [&](const std::string &own) {
    absl::StatusOr<std::vector<std::string>> messages =
        control.exchange(what, own);
    ZG_RETURN_IF_ERROR(messages.status());
    for (const std::string &message : *messages) {
      ZG_RETURN_IF_ERROR(writeMessage(sink, message));
    }
    return absl::OkStatus();
  };
  ZG_ASSIGN_OR_RETURN(uint64_t own, countAll(plan, options, memory));
  ZG_ASSIGN_OR_RETURN(uint64_t rounds, roundsOf(control, what, own));
  ZG_RETURN_IF_ERROR(sendAll(plan, options, memory, round).status());
  for (; own < rounds; ++own) {
    ZG_RETURN_IF_ERROR(round(""));
  }
  return absl::OkStatus();
}

absl::Status zerograph::gatherWeights(ControlPlane &control,
                                      const std::string &what,
                                      const WeightSink &sink,
                                      const plan::Plan &plan,
                                      const WeightFileOptions &options,
                                      const RankMemory &memory) {
  uint64_t own = 0;
  if (control.rank() != 0) {
    ZG_ASSIGN_OR_RETURN(own, countAll(plan, options, memory));
  }
  ZG_ASSIGN_OR_RETURN(uint64_t rounds, roundsOf(control, what, own));
  if (control.rank() == 0) {
    ZG_RETURN_IF_ERROR(writeWeights(sink, plan, options, memory));
    for (uint64_t round = 0; round < rounds; ++round) {
      ZG_ASSIGN_OR_RETURN(std::vector<std::string> messages,
                          control.collect(what, ""));
      for (const std::string &message : messages) {
        ZG_RETURN_IF_ERROR(writeMessage(sink, message));
      }
    }
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(
      sendAll(plan, options, memory, [&](const std::string &message) {
        return control.collect(what, message).status();
      }).status());
  for (; own < rounds; ++own) {
    ZG_RETURN_IF_ERROR(control.collect(what, "").status());
  }
  return absl::OkStatus();
}
