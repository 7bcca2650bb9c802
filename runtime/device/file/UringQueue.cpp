//===- UringQueue.cpp - requests by io_uring ------------------------------===//

#include "runtime/device/file/FileQueue.h"

#include <algorithm>
#include <cerrno>
#include <liburing.h>
#include <sys/uio.h>
#include <vector>

using namespace zerograph;

namespace {

/// The most that the kernel registers as one buffer.
constexpr uint64_t kRegisteredBytes = uint64_t(1) << 30;

class UringQueue final : public FileQueue {
public:
  /// `ring` is open.
  UringQueue(const io_uring &ring, int file, unsigned depth)
      : ring(ring), file(file), depth(depth) {}
  ~UringQueue() override { io_uring_queue_exit(&ring); }

  void expect(std::byte *begin, uint64_t bytes) override {
    if (bytes > 0 && !opened) {
      buffers.push_back({begin, bytes});
    }
  }

  absl::Status run(absl::Span<const FileRequest> requests) override {
    ZG_RETURN_IF_ERROR(broken);
    if (!std::exchange(opened, true)) {
      registerBuffers();
    }
    left.assign(requests.begin(), requests.end());
    absl::Status status;
    size_t next = 0;
    unsigned under_way = 0;
    while (under_way > 0 || (status.ok() && next < left.size())) {
      while (status.ok() && under_way < depth && next < left.size()) {
        prepare(next++);
        ++under_way;
      }
      int submitted = io_uring_submit_and_wait(&ring, 1);
      if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN &&
          submitted != -EBUSY) {
        // The ring's failure, not a request's: nothing says any more what is
        // under way. The run ends, and nothing else is tried with it.
        return broken = requestError(left[next - 1], submitted);
      }
      io_uring_cqe *done = nullptr;
      while (io_uring_peek_cqe(&ring, &done) == 0) {
        size_t number = size_t(io_uring_cqe_get_data64(done));
        int64_t result = done->res;
        io_uring_cqe_seen(&ring, done);
        under_way -= finish(number, result, status);
      }
    }
    return status;
  }

private:
  /// Returns whether the request is done, or has failed; else what is left of
  /// it is given to the system again.
  bool finish(size_t number, int64_t result, absl::Status &status) {
    FileRequest &request = left[number];
    if (result == -EINTR || result == -EAGAIN) {
      result = 0;
    } else if (result <= 0) {
      status.Update(requestError(request, result));
      return true;
    }
    request.offset += uint64_t(result);
    request.memory += result;
    request.bytes -= uint64_t(result);
    if (request.bytes == 0 || !status.ok()) {
      return true;
    }
    prepare(number);
    return false;
  }

  /// There is a free entry: at most `depth` are under way.
  void prepare(size_t number) {
    const FileRequest &request = left[number];
    io_uring_sqe *entry = io_uring_get_sqe(&ring);
    int buffer = bufferOf(request);
    unsigned bytes = unsigned(request.bytes);
    if (buffer < 0) {
      request.writes ? io_uring_prep_write(entry, file, request.memory, bytes,
                                           request.offset)
                     : io_uring_prep_read(entry, file, request.memory, bytes,
                                          request.offset);
    } else {
      request.writes ? io_uring_prep_write_fixed(entry, file, request.memory,
                                                 bytes, request.offset, buffer)
                     : io_uring_prep_read_fixed(entry, file, request.memory,
                                                bytes, request.offset, buffer);
    }
    io_uring_sqe_set_data64(entry, number);
  }

  /// The registered buffer that the request's memory lies in; -1: none.
  int bufferOf(const FileRequest &request) const {
    auto after = std::upper_bound(
        buffers.begin(), buffers.end(), request.memory,
        [](const std::byte *at, const Memory &one) { return at < one.begin; });
    if (!registered || after == buffers.begin()) {
      return -1;
    }
    const Memory &before = *std::prev(after);
    bool within = request.memory + request.bytes <= before.begin + before.bytes;
    return within ? int(std::prev(after) - buffers.begin()) : -1;
  }

  /// Joins what was expected, and pins it once instead of for each request.
  /// Where the system allows less, nothing is registered.
  void registerBuffers() {
    std::sort(
        buffers.begin(), buffers.end(),
        [](const Memory &a, const Memory &b) { return a.begin < b.begin; });
    std::vector<Memory> joined;
    for (const Memory &one : buffers) {
      Memory *last = joined.empty() ? nullptr : &joined.back();
      std::byte *end = one.begin + one.bytes;
      if (last && one.begin <= last->begin + last->bytes &&
          uint64_t(end - last->begin) <= kRegisteredBytes) {
        last->bytes = std::max(last->bytes, uint64_t(end - last->begin));
      } else if (!last || one.begin >= last->begin + last->bytes) {
        joined.push_back(one);
      }
    }
    buffers = std::move(joined);
    std::vector<iovec> vectors;
    for (const Memory &one : buffers) {
      vectors.push_back({one.begin, one.bytes});
    }
    registered = !vectors.empty() &&
                 io_uring_register_buffers(&ring, vectors.data(),
                                           unsigned(vectors.size())) == 0;
  }

  struct Memory {
    std::byte *begin;
    uint64_t bytes;
  };

  io_uring ring;
  int file;
  unsigned depth;
  bool opened = false, registered = false;
  absl::Status broken;
  std::vector<Memory> buffers;   // by address, once opened
  std::vector<FileRequest> left; // of each, what is not done yet
};

} // namespace

std::unique_ptr<FileQueue> zerograph::makeUringQueue(int file, unsigned depth) {
  io_uring ring;
  if (io_uring_queue_init(depth, &ring, 0) < 0) {
    return nullptr;
  }
  // Kernels before 5.6 have rings and no such requests, and cannot be asked.
  io_uring_probe *probe = io_uring_get_probe_ring(&ring);
  bool can = probe && io_uring_opcode_supported(probe, IORING_OP_READ) &&
             io_uring_opcode_supported(probe, IORING_OP_WRITE);
  io_uring_free_probe(probe);
  if (!can) {
    io_uring_queue_exit(&ring);
    return nullptr;
  }
  return std::make_unique<UringQueue>(ring, file, depth);
}
