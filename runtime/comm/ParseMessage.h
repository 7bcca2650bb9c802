//===- ParseMessage.h - a message that another rank has sent --------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_PARSEMESSAGE_H
#define ZEROGRAPH_RUNTIME_COMM_PARSEMESSAGE_H

#include "runtime/base/Status.h"

#include <string>

namespace zerograph {

/// Returns the protobuf message that `text` holds.
template <typename Message>
absl::StatusOr<Message> parseMessage(const std::string &text) {
  Message message;
  if (!message.ParseFromString(text)) {
    return absl::FailedPreconditionError(
        "a rank has sent what this one cannot read: start the same version of "
        "this program on every rank");
  }
  return message;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_PARSEMESSAGE_H
