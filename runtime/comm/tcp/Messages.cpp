//===- Messages.cpp - what lies in frames ---------------------------------===//

#include "runtime/comm/tcp/Messages.h"

#include "runtime/base/LittleEndian.h"

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

class Writer {
public:
  Writer &number(uint64_t value, unsigned size) {
    appendLittleEndian(bytes, value, size);
    return *this;
  }
  Writer &text(const std::string &text) {
    appendLittleEndian(bytes, text.size(), 8);
    bytes += text;
    return *this;
  }
  std::string done() { return std::move(bytes); }

private:
  std::string bytes;
};

/// Reads zeros and nothing once something was missing; `done` says it.
class Reader {
public:
  explicit Reader(absl::string_view bytes) : bytes(bytes) {}

  uint64_t number(unsigned size, uint64_t most = UINT64_MAX) {
    if (bytes.size() < size) {
      return fail("it ends in the middle of a number");
    }
    uint64_t value = littleEndian(bytes.data(), size);
    bytes.remove_prefix(size);
    return value <= most ? value : fail("a number in it is out of range");
  }

  std::string text() {
    uint64_t size = number(8);
    if (size > bytes.size()) {
      fail("a text in it is longer than it");
      return "";
    }
    std::string text(bytes.substr(0, size_t(size)));
    bytes.remove_prefix(size_t(size));
    return text;
  }

  /// Returns texts to the end: a count cannot promise more than there is.
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    while (problem == nullptr && !bytes.empty()) {
      texts.push_back(text());
    }
    return texts;
  }

  absl::Status done(const char *message) {
    if (problem == nullptr && !bytes.empty()) {
      fail("bytes follow its end");
    }
    return problem == nullptr
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     "a ", message, " came that is none: ", problem));
  }

private:
  uint64_t fail(const char *why) {
    problem = problem ? problem : why;
    bytes = {};
    return 0;
  }

  absl::string_view bytes;
  const char *problem = nullptr;
};

} // namespace

const char *tcp::nameOf(Operation operation) {
  switch (operation) {
  case Operation::kBarrier:
    return "barrier";
  case Operation::kExchange:
    return "exchange";
  case Operation::kCollect:
    return "collect";
  }
  return "";
}

std::string tcp::pack(const Hello &message) {
  return Writer()
      .text(message.run)
      .number(message.rank, 4)
      .number(message.world, 4)
      .text(message.process)
      .done();
}

absl::Status tcp::unpack(absl::string_view payload, Hello &message) {
  Reader reader(payload);
  message.run = reader.text();
  message.rank = uint32_t(reader.number(4));
  message.world = uint32_t(reader.number(4));
  message.process = reader.text();
  return reader.done("hello");
}

std::string tcp::pack(const Call &message) {
  return Writer()
      .number(message.round, 8)
      .number(uint8_t(message.operation), 1)
      .text(message.what)
      .text(message.text)
      .done();
}

absl::Status tcp::unpack(absl::string_view payload, Call &message) {
  Reader reader(payload);
  message.round = reader.number(8);
  message.operation =
      Operation(reader.number(1, uint64_t(Operation::kCollect)));
  message.what = reader.text();
  message.text = reader.text();
  return reader.done("call");
}

std::string tcp::pack(const Result &message) {
  Writer writer;
  writer.number(message.round, 8);
  for (const std::string &text : message.texts) {
    writer.text(text);
  }
  return writer.done();
}

absl::Status tcp::unpack(absl::string_view payload, Result &message) {
  Reader reader(payload);
  message.round = reader.number(8);
  message.texts = reader.texts();
  return reader.done("result");
}

std::string tcp::pack(const Alive &message) {
  return Writer().number(message.busy, 1).done();
}

absl::Status tcp::unpack(absl::string_view payload, Alive &message) {
  Reader reader(payload);
  message.busy = reader.number(1, 1) != 0;
  return reader.done("sign of life");
}

std::string tcp::pack(const Failure &message) {
  return Writer()
      .number(message.rank, 4)
      .number(uint64_t(message.code) - 1, 1) // it is none of kOk
      .text(message.message)
      .done();
}

absl::Status tcp::unpack(absl::string_view payload, Failure &message) {
  Reader reader(payload);
  message.rank = uint32_t(reader.number(4));
  message.code = absl::StatusCode(
      1 + reader.number(1, uint64_t(absl::StatusCode::kUnauthenticated) - 1));
  message.message = reader.text();
  return reader.done("failure");
}

std::string tcp::pack(const Text &message) {
  return Writer().text(message.text).done();
}

absl::Status tcp::unpack(absl::string_view payload, Text &message) {
  Reader reader(payload);
  message.text = reader.text();
  return reader.done("text");
}
