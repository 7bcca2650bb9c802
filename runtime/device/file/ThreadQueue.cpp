//===- ThreadQueue.cpp - requests by threads that wait for each -----------===//

#include "runtime/device/file/FileQueue.h"

#include "runtime/device/host/WorkerPool.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <unistd.h>

using namespace zerograph;

absl::Status zerograph::requestError(const FileRequest &request,
                                     int64_t result) {
  std::string bytes = absl::StrCat("bytes ", request.offset, " to ",
                                   request.offset + request.bytes);
  if (result < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot ", request.writes ? "write " : "read ", bytes,
                     ": ", std::strerror(int(-result)),
                     "; go on from the last checkpoint, with another "
                     "--nvme-path"));
  }
  return absl::DataLossError(
      request.writes ? absl::StrCat("the file takes none of ", bytes)
                     : absl::StrCat("the file ends at byte ", request.offset,
                                    ", and ", bytes, " are to be read"));
}

namespace {

class ThreadQueue final : public FileQueue {
public:
  ThreadQueue(int file, unsigned depth) : file(file), pool(depth) {}

  absl::Status run(absl::Span<const FileRequest> requests) override {
    status = absl::OkStatus();
    pool.run(uint32_t(requests.size()), [&](uint32_t number) {
      absl::Status one = runOne(requests[number]);
      if (!one.ok()) {
        std::lock_guard<std::mutex> lock(mutex);
        status.Update(one);
      }
    });
    return status;
  }

private:
  absl::Status runOne(FileRequest request) const {
    while (request.bytes > 0) {
      ssize_t count = request.writes
                          ? pwrite(file, request.memory, request.bytes,
                                   off_t(request.offset))
                          : pread(file, request.memory, request.bytes,
                                  off_t(request.offset));
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count <= 0) {
        return requestError(request, count < 0 ? -errno : 0);
      }
      request.offset += uint64_t(count);
      request.memory += count;
      request.bytes -= uint64_t(count);
    }
    return absl::OkStatus();
  }

  int file;
  WorkerPool pool;
  std::mutex mutex;
  absl::Status status;
};

} // namespace

absl::StatusOr<std::unique_ptr<FileQueue>>
zerograph::makeThreadQueue(int file, unsigned depth) {
  try {
    return std::make_unique<ThreadQueue>(file, depth);
  } catch (const std::system_error &error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the system gives no ", depth, " threads to read and write a file (",
        error.what(), "): use a smaller --nvme-queue-depth"));
  }
}
