//===- PlanFile.cpp - plans as files --------------------------------------===//

#include "runtime/plan/PlanFile.h"

#include "runtime/base/ContentName.h"
#include "runtime/base/LittleEndian.h"
#include "runtime/base/OutputPath.h"
#include "runtime/base/SyncFolder.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace zerograph {
namespace {

constexpr char kMagic[] = {'Z', 'G', 'P', 'L', 'A', 'N', '\r', '\n'};
constexpr size_t kVersionAt = sizeof(kMagic);
constexpr size_t kLengthAt = kVersionAt + 4;
constexpr size_t kHashAt = kLengthAt + 8;
constexpr size_t kHeader = kHashAt + sizeof(XXH128_canonical_t);
// Protobuf counts bytes in an int.
constexpr uint64_t kMaxMessage = std::numeric_limits<int>::max();

XXH128_canonical_t hashOf(absl::string_view message) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical,
                           XXH3_128bits(message.data(), message.size()));
  return canonical;
}

std::string hex(const XXH128_canonical_t &hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : hash.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

absl::Status systemError(absl::string_view doing, const std::string &path) {
  int code = errno;
  return absl::ErrnoToStatus(code, absl::StrCat(doing, " ", path));
}

/// Appends the message of a plan, the same bytes for the same plan.
void appendMessage(const plan::Plan &plan, std::string &bytes) {
  bytes.reserve(bytes.size() + plan.ByteSizeLong());
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  plan.SerializeWithCachedSizes(&coded);
}

/// A file that is deleted unless `keep` was called.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &target) : target(target) {
    static std::atomic<unsigned> counter{0};
    path = absl::StrCat(target, ".tmp.", getpid(), ".", counter++);
    file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  ~TemporaryFile() {
    if (file >= 0) {
      close(file);
    }
    if (file >= 0 && !kept) {
      unlink(path.c_str());
    }
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  absl::Status write(absl::string_view bytes) {
    if (file < 0) {
      return systemError("cannot write beside", target);
    }
    while (!bytes.empty()) {
      ssize_t written = ::write(file, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        return systemError("cannot write", target);
      }
      bytes.remove_prefix(written < 0 ? 0 : written);
    }
    // Before the rename: else a crash could leave the new name on no content.
    if (fsync(file) != 0) {
      return systemError("cannot write", target);
    }
    return absl::OkStatus();
  }

  absl::Status finish() {
    if (rename(path.c_str(), target.c_str()) != 0) {
      return systemError("cannot rename the finished file to", target);
    }
    kept = true;
    return absl::OkStatus();
  }

private:
  std::string target; // for messages: the user did not choose `path`
  std::string path;
  int file = -1;
  bool kept = false;
};

} // namespace

absl::StatusOr<std::string> serializePlan(const plan::Plan &plan) {
  size_t size = plan.ByteSizeLong();
  if (size > kMaxMessage) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the plan has ", size, " bytes; a plan file holds at most ",
        kMaxMessage, " (fewer or smaller kernels would make it fit)"));
  }
  // Protobuf prints what it finds; the errors here say it better.
  google::protobuf::LogSilencer silencer;
  std::string bytes(kHeader, '\0');
  appendMessage(plan, bytes);
  absl::string_view message = absl::string_view(bytes).substr(kHeader);
  XXH128_canonical_t hash = hashOf(message);
  std::memcpy(&bytes[0], kMagic, sizeof(kMagic));
  putLittleEndian(&bytes[kVersionAt], kPlanVersion, 4);
  putLittleEndian(&bytes[kLengthAt], message.size(), 8);
  std::memcpy(&bytes[kHashAt], hash.digest, sizeof(hash.digest));
  // Protobuf writes text that is not UTF-8 and then refuses to read it.
  plan::Plan check;
  if (!check.ParseFromArray(bytes.data() + kHeader,
                            static_cast<int>(message.size()))) {
    return absl::InvalidArgumentError(
        "the plan could not be read back: a name in it is not UTF-8; rename "
        "that node, parameter or file");
  }
  return bytes;
}

std::string hashOfRanks(plan::Plan plan) {
  for (plan::Unit &unit : *plan.mutable_units()) {
    for (plan::Parameter &parameter : *unit.mutable_parameters()) {
      if (parameter.has_source()) {
        std::string &folder = *parameter.mutable_source()->mutable_folder();
        folder = pathOfRanks(folder);
      }
    }
  }
  std::string message;
  appendMessage(plan, message);
  return hex(hashOf(message));
}

absl::StatusOr<LoadedPlan> parsePlan(absl::string_view bytes) {
  absl::string_view magic(kMagic, sizeof(kMagic));
  if (bytes.substr(0, magic.size()) != magic.substr(0, bytes.size())) {
    return absl::InvalidArgumentError(
        "not a Zerograph plan (it does not begin with \"ZGPLAN\"); make one "
        "with `zerograph compile`");
  }
  if (bytes.size() < kHeader) {
    return absl::DataLossError(absl::StrCat(
        "the plan is cut short: it has ", bytes.size(),
        " bytes and its header alone has ", kHeader, "; copy it again"));
  }
  uint64_t version = littleEndian(bytes.data() + kVersionAt, 4);
  if (version != kPlanVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the plan has format ", version,
                     ", this program reads format ", kPlanVersion,
                     version > kPlanVersion ? "; use a newer Zerograph"
                                            : "; compile the model again"));
  }
  uint64_t length = littleEndian(bytes.data() + kLengthAt, 8);
  uint64_t present = bytes.size() - kHeader;
  if (present < length) {
    return absl::DataLossError(
        absl::StrCat("the plan is cut short: ", length,
                     " bytes were written after its header, ", present,
                     " are there; copy it again"));
  }
  if (present > length) {
    return absl::DataLossError(
        absl::StrCat("the plan has ", present - length,
                     " bytes after its end; copy it again"));
  }
  absl::string_view message = bytes.substr(kHeader);
  XXH128_canonical_t hash = hashOf(message);
  if (std::memcmp(bytes.data() + kHashAt, hash.digest, sizeof(hash.digest)) !=
      0) {
    return absl::DataLossError(
        "the plan is damaged: its bytes do not match its hash; copy or compile "
        "it again");
  }
  if (length > kMaxMessage) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan's message has ", length, " bytes; at most ",
                     kMaxMessage, " are possible"));
  }
  google::protobuf::LogSilencer silencer;
  LoadedPlan loaded;
  if (!loaded.plan.ParseFromArray(message.data(),
                                  static_cast<int>(message.size()))) {
    return absl::InvalidArgumentError(
        "the plan's hash is right but its content is not a plan; it was not "
        "written by Zerograph");
  }
  loaded.hash_hex = hex(hash);
  return loaded;
}

absl::Status writePlan(const plan::Plan &plan, const std::string &path) {
  ZG_RETURN_IF_ERROR(checkOutputPath(path));
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(plan));
  TemporaryFile file(path);
  ZG_RETURN_IF_ERROR(file.write(bytes));
  ZG_RETURN_IF_ERROR(file.finish());
  // The plan is complete too where a file system refuses this.
  syncFolder(std::filesystem::path(path).parent_path().string()).IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<LoadedPlan> readPlan(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return systemError("cannot open a plan (a model's name ends in .onnx):",
                       path);
  }
  std::string bytes;
  struct stat info;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
    bytes.reserve(info.st_size);
  }
  char buffer[1 << 16];
  while (true) {
    ssize_t count = read(file, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      absl::Status status = systemError("cannot read plan", path);
      close(file);
      return status;
    }
    if (count == 0) {
      break;
    }
    bytes.append(buffer, count);
    if (bytes.size() > kMaxMessage + kHeader + 1) {
      close(file);
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": larger than a plan can be"));
    }
  }
  close(file);
  absl::StatusOr<LoadedPlan> loaded = parsePlan(bytes);
  if (!loaded.ok()) {
    return annotate(loaded.status(), path);
  }
  return loaded;
}

} // namespace zerograph
