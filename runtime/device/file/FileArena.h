//===- FileArena.h - an arena in a file -----------------------------------===//
//
// Holds what a rank keeps on NVMe. The file is made for one run: it has no name
// any more when it is open, so nothing is left of it, however the run ends.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_FILE_FILEARENA_H
#define ZEROGRAPH_RUNTIME_DEVICE_FILE_FILEARENA_H

#include "runtime/device/Buffer.h"
#include "runtime/device/FileSupport.h"
#include "runtime/device/file/FileQueue.h"

#include <mutex>
#include <string>

namespace zerograph {

/// A file of zero bytes with room on the disk for all of them. In memory there
/// are 10 bytes of each page: a checksum, which is compared when the page is
/// read, and how much of it was ever written. One thread may read while another
/// one writes, other pages.
class FileArena final : public Buffer {
public:
  /// An error where the folder cannot hold it says how much is free.
  static absl::StatusOr<std::unique_ptr<FileArena>>
  create(const FileOptions &options, uint64_t bytes, unsigned rank);
  ~FileArena() override;

  uint64_t bytes() const override { return size; }
  /// Directly where both begin at pages, the file's range and the memory; else
  /// through a buffer of one request.
  absl::Status write(uint64_t offset, const void *from,
                     uint64_t bytes) override;
  absl::Status read(uint64_t offset, void *to, uint64_t bytes) const override;
  absl::Status fill(uint64_t offset, uint64_t bytes) override;
  absl::StatusOr<uint64_t> touchedEnd(uint64_t granule) const override;

  /// Before the first read and write: memory that will often be given.
  void expect(std::byte *memory, uint64_t bytes);
  /// For tests: a path of the open file.
  std::string path() const;

private:
  /// The parts that one thread reads or writes by, at a time.
  struct Lane {
    std::unique_ptr<FileQueue> queue;
    std::vector<FileRequest> requests;
    std::byte *edges = nullptr;  // two pages
    std::byte *staged = nullptr; // of a block, and a page
    std::mutex mutex;
    ~Lane();
  };
  FileArena(std::string name, int file, uint64_t bytes, uint64_t block);
  absl::Status openLane(Lane &lane, const FileOptions &options) const;

  absl::Status check(uint64_t offset, uint64_t bytes) const;
  absl::Status readPart(uint64_t offset, std::byte *to, uint64_t bytes) const;
  absl::Status writePart(uint64_t offset, std::byte *from, uint64_t bytes);
  absl::Status loadEdge(uint64_t page, uint64_t begin, uint64_t end,
                        std::byte *to);
  void add(Lane &lane, bool writes, uint64_t offset, std::byte *memory,
           uint64_t bytes) const;
  absl::Status run(Lane &lane) const;
  absl::Status compare(uint64_t offset, const std::byte *data,
                       uint64_t bytes) const;
  void note(uint64_t offset, const std::byte *data, uint64_t bytes);
  void noteUsed(uint64_t offset, uint64_t bytes);

  std::string name; // for messages
  int file;
  uint64_t size, block;
  mutable Lane reading;
  Lane writing;
  // By page: the checksum, and the end of what was written there.
  std::vector<uint64_t> checksums;
  std::vector<uint16_t> used;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_FILE_FILEARENA_H
