//===- FileQueue.h - requests to a file, several under way at once --------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_FILE_FILEQUEUE_H
#define ZEROGRAPH_RUNTIME_DEVICE_FILE_FILEQUEUE_H

#include "runtime/base/Status.h"
#include "runtime/plan/Validate.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace zerograph {

/// Whole pages (kFilePage) of a file and as many bytes of memory.
struct FileRequest {
  bool writes = false;
  uint64_t offset = 0;
  std::byte *memory = nullptr;
  uint64_t bytes = 0;
};

/// Requests to an open file that outlives it. Used by one thread at a time.
class FileQueue {
public:
  virtual ~FileQueue() = default;

  /// Does all, in any order; returns when none is under way any more. An error
  /// says which bytes: those that the file has not, or the system's reason.
  virtual absl::Status run(absl::Span<const FileRequest> requests) = 0;

  /// Before the first run: memory that requests will name, which may be pinned
  /// for it.
  virtual void expect(std::byte *, uint64_t) {}
};

/// By io_uring, `depth` requests at once; null where the system refuses it, or
/// the program was built without liburing.
std::unique_ptr<FileQueue> makeUringQueue(int file, unsigned depth);

/// By as many threads.
absl::StatusOr<std::unique_ptr<FileQueue>> makeThreadQueue(int file,
                                                           unsigned depth);

/// Makes the error of a request: `result` is what the system gave, a count of 0
/// or a negative error number.
absl::Status requestError(const FileRequest &request, int64_t result);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_FILE_FILEQUEUE_H
