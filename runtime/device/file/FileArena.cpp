//===- FileArena.cpp - an arena in a file ---------------------------------===//

#include "runtime/device/file/FileArena.h"

#include "runtime/base/Text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/resource.h>
#include <unistd.h>
#include <xxhash.h>

using namespace zerograph;

namespace {

uint64_t floorPage(uint64_t at) { return at / kFilePage * kFilePage; }
uint64_t ceilPage(uint64_t at) { return floorPage(at + kFilePage - 1); }

uint64_t checksumOf(const std::byte *page) {
  return XXH3_64bits(page, kFilePage);
}

uint64_t checksumOfZeros() {
  static const uint64_t sum =
      checksumOf(std::vector<std::byte>(kFilePage).data());
  return sum;
}

/// Returns whether what lies after the first page boundary of the file can be
/// given to the disk where it is.
bool isDirect(uint64_t offset, const void *memory) {
  return (reinterpret_cast<uintptr_t>(memory) - offset) % kFilePage == 0;
}

/// The pages of a range that it does not cover, as it covers them.
struct Edge {
  uint64_t page, begin, end; // bytes of the file
};
struct Edges {
  Edge edges[2];
  int count = 0;
  uint64_t body, body_end; // the whole pages between

  Edges(uint64_t begin, uint64_t end)
      : body(ceilPage(begin)), body_end(std::max(body, floorPage(end))) {
    if (begin < body) {
      edges[count++] = {floorPage(begin), begin, std::min(end, body)};
    }
    if (end > body_end) {
      edges[count++] = {body_end, body_end, end};
    }
  }
};

absl::Status noRoom(const std::string &folder, unsigned rank, uint64_t bytes,
                    int error) {
  absl::StatusOr<FileSupport> there = probeFolder(folder);
  std::string free = there.ok() ? absl::StrCat(", and ", grouped(there->free),
                                               " are free there")
                                : "";
  return absl::ResourceExhaustedError(absl::StrCat(
      folder, ": cannot make a file of ", grouped(bytes),
      " bytes for the states of rank ", rank, ": ", std::strerror(error), free,
      "; give another --nvme-path, or train on more ranks"));
}

/// Room on the disk; an error number.
int reserve(int file, uint64_t bytes) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
    return EFBIG; // to ask for it would end the process
  }
  return bytes == 0 ? 0 : posix_fallocate(file, 0, off_t(bytes));
}

} // namespace

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

FileArena::Lane::~Lane() {
  std::free(edges);
  std::free(staged);
}

FileArena::FileArena(std::string name, int file, uint64_t bytes, uint64_t block)
    : name(std::move(name)), file(file), size(bytes), block(block),
      checksums(ceilPage(bytes) / kFilePage, checksumOfZeros()),
      used(checksums.size()) {}

FileArena::~FileArena() {
  reading.queue.reset();
  writing.queue.reset();
  close(file);
}

absl::Status FileArena::openLane(Lane &lane, const FileOptions &options) const {
  lane.queue = options.uring ? makeUringQueue(file, options.depth) : nullptr;
  if (!lane.queue) {
    ZG_ASSIGN_OR_RETURN(lane.queue, makeThreadQueue(file, options.depth));
  }
  auto allocate = [&](uint64_t bytes) {
    auto *memory =
        static_cast<std::byte *>(std::aligned_alloc(kFilePage, bytes));
    if (memory) {
      lane.queue->expect(memory, bytes);
    }
    return memory;
  };
  lane.edges = allocate(2 * kFilePage);
  lane.staged = allocate(block + kFilePage);
  return lane.edges && lane.staged
             ? absl::OkStatus()
             : absl::ResourceExhaustedError(
                   "there is no memory to read a file by; use a smaller "
                   "--nvme-block-size");
}

absl::StatusOr<std::unique_ptr<FileArena>>
FileArena::create(const FileOptions &options, uint64_t bytes, unsigned rank) {
  if (options.folder.empty()) {
    return absl::FailedPreconditionError(
        "the plan keeps states on NVMe: give --nvme-path DIR, a folder there");
  }
  if (options.block_bytes % kFilePage != 0 || options.block_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--nvme-block-size ", options.block_bytes,
                     ": expected a multiple of ", kFilePage));
  }
  std::string path =
      absl::StrCat(options.folder, "/zerograph-rank", rank, "-XXXXXX");
  int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    return absl::NotFoundError(absl::StrCat(
        options.folder, ": cannot make a file for the states of rank ", rank,
        ": ", std::strerror(errno)));
  }
  // Whatever happens from now on, nothing is left behind.
  unlink(path.c_str());
  if (int error = reserve(file, ceilPage(bytes)); error != 0) {
    close(file);
    return noRoom(options.folder, rank, bytes, error);
  }
  // Without it, where the file system has it not, the system's cache helps.
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_DIRECT);
  std::unique_ptr<FileArena> arena;
  try {
    arena.reset(new FileArena(path, file, bytes, options.block_bytes));
  } catch (const std::bad_alloc &) {
    close(file);
    return absl::ResourceExhaustedError(
        absl::StrCat("there is no memory for the checksums of a file of ",
                     grouped(bytes), " bytes; train on more ranks"));
  }
  ZG_RETURN_IF_ERROR(arena->openLane(arena->reading, options));
  ZG_RETURN_IF_ERROR(arena->openLane(arena->writing, options));
  return arena;
}

void FileArena::expect(std::byte *memory, uint64_t bytes) {
  for (Lane *lane : {&reading, &writing}) {
    lane->requests.reserve(bytes / block + 4);
  }
  reading.queue->expect(memory, bytes);
  writing.queue->expect(memory, bytes);
}

std::string FileArena::path() const {
  return absl::StrCat("/proc/self/fd/", file);
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

void FileArena::add(Lane &lane, bool writes, uint64_t offset, std::byte *memory,
                    uint64_t bytes) const {
  for (uint64_t begin = 0; begin < bytes; begin += block) {
    lane.requests.push_back({writes, offset + begin, memory + begin,
                             std::min(block, bytes - begin)});
  }
}

absl::Status FileArena::run(Lane &lane) const {
  absl::Status status = lane.queue->run(lane.requests);
  lane.requests.clear();
  return status.ok() ? status : annotate(status, name);
}

absl::Status FileArena::check(uint64_t offset, uint64_t bytes) const {
  if (offset <= size && bytes <= size - offset) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrCat("bytes ", offset, " to ",
                                            offset + bytes, " of a file of ",
                                            size, " were asked for"));
}

absl::Status FileArena::compare(uint64_t offset, const std::byte *data,
                                uint64_t bytes) const {
  for (uint64_t at = 0; at < bytes; at += kFilePage) {
    if (checksumOf(data + at) != checksums[(offset + at) / kFilePage]) {
      return absl::DataLossError(absl::StrCat(
          name, ": bytes ", offset + at, " to ", offset + at + kFilePage,
          " are not those that were written there: the disk, the way to it or "
          "the machine's memory is failing, and these states are lost; go on "
          "from the last checkpoint, with another --nvme-path"));
    }
  }
  return absl::OkStatus();
}

void FileArena::note(uint64_t offset, const std::byte *data, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += kFilePage) {
    checksums[(offset + at) / kFilePage] = checksumOf(data + at);
  }
}

void FileArena::noteUsed(uint64_t offset, uint64_t bytes) {
  for (uint64_t at = offset, end = offset + bytes; at < end;) {
    uint64_t page = floorPage(at), next = std::min(end, page + kFilePage);
    uint16_t &most = used[page / kFilePage];
    most = std::max(most, uint16_t(next - page));
    at = next;
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

absl::Status FileArena::readPart(uint64_t offset, std::byte *to,
                                 uint64_t bytes) const {
  Edges parts(offset, offset + bytes);
  add(reading, false, parts.body, to + (parts.body - offset),
      parts.body_end - parts.body);
  for (int i = 0; i < parts.count; ++i) {
    add(reading, false, parts.edges[i].page, reading.edges + i * kFilePage,
        kFilePage);
  }
  ZG_RETURN_IF_ERROR(run(reading));
  ZG_RETURN_IF_ERROR(compare(parts.body, to + (parts.body - offset),
                             parts.body_end - parts.body));
  for (int i = 0; i < parts.count; ++i) {
    const Edge &edge = parts.edges[i];
    const std::byte *page = reading.edges + i * kFilePage;
    ZG_RETURN_IF_ERROR(compare(edge.page, page, kFilePage));
    std::memcpy(to + (edge.begin - offset), page + (edge.begin - edge.page),
                edge.end - edge.begin);
  }
  return absl::OkStatus();
}

absl::Status FileArena::read(uint64_t offset, void *to, uint64_t bytes) const {
  ZG_RETURN_IF_ERROR(check(offset, bytes));
  std::lock_guard<std::mutex> lock(reading.mutex);
  auto *data = static_cast<std::byte *>(to);
  if (isDirect(offset, to)) {
    return readPart(offset, data, bytes);
  }
  for (uint64_t at = 0; at < bytes; at += block) {
    uint64_t begin = offset + at, part = std::min(block, bytes - at);
    std::byte *staged = reading.staged + begin % kFilePage;
    ZG_RETURN_IF_ERROR(readPart(begin, staged, part));
    std::memcpy(data + at, staged, part);
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Loads what the page has besides bytes [begin, end) of the file.
absl::Status FileArena::loadEdge(uint64_t page, uint64_t begin, uint64_t end,
                                 std::byte *to) {
  uint64_t written = page + used[page / kFilePage];
  if (begin == page && end >= written) {
    std::memset(to, 0, kFilePage);
    return absl::OkStatus();
  }
  add(writing, false, page, to, kFilePage);
  ZG_RETURN_IF_ERROR(run(writing));
  return compare(page, to, kFilePage);
}

absl::Status FileArena::writePart(uint64_t offset, std::byte *from,
                                  uint64_t bytes) {
  Edges parts(offset, offset + bytes);
  for (int i = 0; i < parts.count; ++i) {
    const Edge &edge = parts.edges[i];
    std::byte *page = writing.edges + i * kFilePage;
    ZG_RETURN_IF_ERROR(loadEdge(edge.page, edge.begin, edge.end, page));
    std::memcpy(page + (edge.begin - edge.page), from + (edge.begin - offset),
                edge.end - edge.begin);
  }
  std::byte *body = from + (parts.body - offset);
  add(writing, true, parts.body, body, parts.body_end - parts.body);
  for (int i = 0; i < parts.count; ++i) {
    add(writing, true, parts.edges[i].page, writing.edges + i * kFilePage,
        kFilePage);
  }
  ZG_RETURN_IF_ERROR(run(writing));
  note(parts.body, body, parts.body_end - parts.body);
  for (int i = 0; i < parts.count; ++i) {
    note(parts.edges[i].page, writing.edges + i * kFilePage, kFilePage);
  }
  noteUsed(offset, bytes);
  return absl::OkStatus();
}

absl::Status FileArena::write(uint64_t offset, const void *from,
                              uint64_t bytes) {
  ZG_RETURN_IF_ERROR(check(offset, bytes));
  std::lock_guard<std::mutex> lock(writing.mutex);
  const auto *data = static_cast<const std::byte *>(from);
  if (isDirect(offset, from)) {
    // A request has one pointer for both ways; it is read from.
    return writePart(offset, const_cast<std::byte *>(data), bytes);
  }
  for (uint64_t at = 0; at < bytes; at += block) {
    uint64_t begin = offset + at, part = std::min(block, bytes - at);
    std::byte *staged = writing.staged + begin % kFilePage;
    std::memcpy(staged, data + at, part);
    ZG_RETURN_IF_ERROR(writePart(begin, staged, part));
  }
  return absl::OkStatus();
}

absl::Status FileArena::fill(uint64_t offset, uint64_t bytes) {
  ZG_RETURN_IF_ERROR(check(offset, bytes));
  std::lock_guard<std::mutex> lock(writing.mutex);
  for (uint64_t at = offset, end = offset + bytes; at < end;) {
    uint64_t next = std::min(end, floorPage(at) + block);
    uint64_t first = at / kFilePage, last = (next - 1) / kFilePage;
    bool zero = std::all_of(used.begin() + std::ptrdiff_t(first),
                            used.begin() + std::ptrdiff_t(last + 1),
                            [](uint16_t end) { return end == 0; });
    if (!zero) {
      std::byte *staged = writing.staged + at % kFilePage;
      std::memset(staged, 0, next - at);
      ZG_RETURN_IF_ERROR(writePart(at, staged, next - at));
    }
    at = next;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FileArena::touchedEnd(uint64_t granule) const {
  for (size_t page = used.size(); page-- > 0;) {
    if (used[page] > 0) {
      uint64_t end = page * kFilePage + used[page];
      return (end + granule - 1) / granule * granule;
    }
  }
  return uint64_t(0);
}
