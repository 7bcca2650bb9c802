//===- EventFile.cpp - numbers of a run for TensorBoard -------------------===//

#include "runtime/exec/EventFile.h"

#include "runtime/base/LittleEndian.h"
#include "runtime/exec/events.pb.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

/// The CRC of each byte, from the polynomial with its bits reversed.
constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
    }
    table[byte] = crc;
  }
  return table;
}();

double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns the name of a file. TensorBoard knows one by "tfevents" in its name,
/// and reads those of a folder in the order of their names.
std::string nameOfFile(int64_t seconds, int number) {
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat("events.out.tfevents.", seconds, ".", host, ".", getpid(),
                      ".", number);
}

} // namespace

uint32_t zerograph::maskedCrc32c(absl::string_view bytes) {
  uint32_t crc = ~uint32_t(0);
  for (char byte : bytes) {
    crc = crc >> 8 ^ kTable[(crc ^ uint8_t(byte)) & 255];
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

absl::StatusOr<std::unique_ptr<EventFile>>
EventFile::open(const std::string &folder) {
  std::unique_ptr<EventFile> events(new EventFile);
  events->folder = folder;
  std::error_code error;
  events->created = fs::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(folder, ": cannot make the folder: ", error.message()));
  }
  auto seconds = int64_t(now());
  for (int number = 0; !events->file; ++number) {
    events->path = fs::path(folder) / nameOfFile(seconds, number);
    events->file = std::fopen(events->path.c_str(), "wxe");
    if (!events->file && errno != EEXIST) {
      return absl::UnavailableError(absl::StrCat(
          events->path, ": cannot create: ", std::strerror(errno)));
    }
  }
  return events;
}

EventFile::~EventFile() {
  std::error_code ignored; // what cannot be removed stays, and is empty
  if (file) {
    std::fclose(file);
    if (!started) {
      fs::remove(path, ignored);
    }
  }
  if (created && !started) {
    fs::remove(folder, ignored);
  }
}

/// Writes a record: length and its sum, then the bytes and theirs.
absl::Status EventFile::write(const std::string &event) {
  std::string record;
  appendLittleEndian(record, event.size(), 8);
  appendLittleEndian(record, maskedCrc32c(record), 4);
  record += event;
  appendLittleEndian(record, maskedCrc32c(event), 4);
  if (std::fwrite(record.data(), 1, record.size(), file) != record.size() ||
      std::fflush(file) != 0) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status EventFile::add(uint64_t step,
                            absl::Span<const NamedNumber> numbers) {
  events::Event event;
  event.set_wall_time(now());
  if (!started) {
    started = true;
    event.set_file_version("brain.Event:2");
    ZG_RETURN_IF_ERROR(write(event.SerializeAsString()));
  }
  event.set_step(int64_t(step));
  event.clear_what();
  for (const NamedNumber &number : numbers) {
    events::Summary::Value &value = *event.mutable_summary()->add_value();
    value.set_tag(number.name);
    value.set_simple_value(float(number.value));
  }
  return write(event.SerializeAsString());
}
