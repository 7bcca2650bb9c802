//===- ZipFile.cpp - where the entries of a ZIP file lie ------------------===//

#include "runtime/io/ZipFile.h"

#include "runtime/base/LittleEndian.h"

#include <algorithm>
#include <optional>

using namespace zerograph;

// APPNOTE.TXT of PKWARE, 4.3 and 4.5: records, and numbers that need 64 bits.
namespace zip {

/// The bytes that a record begins with, and its bytes without names and fields.
struct Record {
  const char *name;
  uint32_t signature;
  uint64_t bytes;
};

constexpr Record kHeader = {"header of an entry", 0x04034b50, 30};
constexpr Record kEntry = {"entry of the directory", 0x02014b50, 46};
constexpr Record kLargeEnd = {"end with 64 bits", 0x06064b50, 56};
constexpr Record kLocator = {"place of that end", 0x07064b50, 20};
constexpr Record kEnd = {"end", 0x06054b50, 22};

/// Instead of a number of 32 bits that stands in a field of this kind.
constexpr uint64_t kLarge = 0xffffffff;
constexpr uint64_t kLargeField = 0x0001;
/// A flag of an entry.
constexpr uint64_t kEncrypted = 1;

} // namespace zip

namespace {

/// The largest directory, and so the most that is allocated for it.
constexpr uint64_t kLargestDirectory = 100'000'000;
constexpr uint64_t kLongestComment = 0xffff;

absl::Status bad(const File &file, uint64_t offset, const std::string &what) {
  return absl::InvalidArgumentError(
      absl::StrCat(file.path(), ": no ZIP file that can be read: ", what,
                   " at byte ", offset));
}

absl::StatusOr<std::string> readBytes(const File &file, uint64_t offset,
                                      uint64_t bytes) {
  if (offset > file.bytes() || bytes > file.bytes() - offset) {
    return bad(
        file, offset,
        absl::StrCat("it has ", file.bytes(), " bytes, and needs ", bytes));
  }
  std::string text(bytes, '\0');
  ZG_RETURN_IF_ERROR(file.read(offset, bytes, text.data()));
  return text;
}

/// A record that begins with four bytes of its own.
absl::StatusOr<std::string> readRecord(const File &file, uint64_t offset,
                                       const zip::Record &record) {
  ZG_ASSIGN_OR_RETURN(std::string text, readBytes(file, offset, record.bytes));
  if (littleEndian(text.data(), 4) != record.signature) {
    return bad(file, offset, absl::StrCat("there is no ", record.name));
  }
  return text;
}

struct Directory {
  uint64_t offset = 0, bytes = 0, entries = 0;
};

/// Returns where the last record of the file begins: a comment may follow it.
absl::StatusOr<uint64_t> findEnd(const File &file) {
  uint64_t count = std::min(file.bytes(), zip::kEnd.bytes + kLongestComment);
  uint64_t begin = file.bytes() - count;
  ZG_ASSIGN_OR_RETURN(std::string tail, readBytes(file, begin, count));
  for (uint64_t at = count < zip::kEnd.bytes ? 0 : count - zip::kEnd.bytes + 1;
       at-- > 0;) {
    const char *record = tail.data() + at;
    if (littleEndian(record, 4) == zip::kEnd.signature &&
        at + zip::kEnd.bytes + littleEndian(record + 20, 2) == count) {
      return begin + at;
    }
  }
  return bad(file, file.bytes(), "it has no directory");
}

absl::StatusOr<Directory> findDirectory(const File &file) {
  ZG_ASSIGN_OR_RETURN(uint64_t end, findEnd(file));
  ZG_ASSIGN_OR_RETURN(std::string record, readRecord(file, end, zip::kEnd));
  Directory directory{littleEndian(record.data() + 16, 4),
                      littleEndian(record.data() + 12, 4),
                      littleEndian(record.data() + 10, 2)};
  uint64_t before = end < zip::kLocator.bytes ? 0 : zip::kLocator.bytes;
  absl::StatusOr<std::string> locator =
      readRecord(file, end - before, zip::kLocator);
  if (locator.ok()) {
    ZG_ASSIGN_OR_RETURN(
        std::string large,
        readRecord(file, littleEndian(locator->data() + 8, 8), zip::kLargeEnd));
    directory = {littleEndian(large.data() + 48, 8),
                 littleEndian(large.data() + 40, 8),
                 littleEndian(large.data() + 32, 8)};
  }
  if (directory.bytes > kLargestDirectory || directory.offset > end ||
      directory.bytes > end - directory.offset) {
    return bad(file, end,
               absl::StrCat("its directory has the bytes [", directory.offset,
                            ", + ", directory.bytes, "), at most ",
                            kLargestDirectory));
  }
  return directory;
}

/// Numbers of 32 bits that are all ones stand in the extra field with 64.
bool widen(absl::string_view extra, std::initializer_list<uint64_t *> numbers) {
  std::optional<absl::string_view> wide;
  while (extra.size() >= 4 && !wide) {
    uint64_t id = littleEndian(extra.data(), 2);
    uint64_t bytes = littleEndian(extra.data() + 2, 2);
    if (bytes > extra.size() - 4) {
      return false;
    }
    if (id == zip::kLargeField) {
      wide = extra.substr(4, bytes);
    }
    extra.remove_prefix(4 + bytes);
  }
  for (uint64_t *number : numbers) {
    if (*number != zip::kLarge) {
      continue;
    }
    if (!wide || wide->size() < 8) {
      return false;
    }
    *number = littleEndian(wide->data(), 8);
    wide->remove_prefix(8);
  }
  return true;
}

/// Checks an entry of the directory at `at` in the file. `header`: where its
/// own header begins.
absl::Status checkEntry(const File &file, const std::string &name, uint64_t at,
                        const char *record, const ZipEntry &entry,
                        uint64_t packed) {
  if ((littleEndian(record + 8, 2) & zip::kEncrypted) != 0) {
    return bad(file, at, absl::StrCat("'", name, "' is encrypted"));
  }
  uint64_t method = littleEndian(record + 10, 2);
  if (method != 0 || packed != entry.bytes) {
    return bad(file, at,
               absl::StrCat("'", name, "' is compressed (method ", method,
                            "); write it by numpy.savez, "
                            "which compresses nothing,"));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<ZipEntries> zerograph::readZip(const File &file) {
  ZG_ASSIGN_OR_RETURN(Directory directory, findDirectory(file));
  ZG_ASSIGN_OR_RETURN(std::string text,
                      readBytes(file, directory.offset, directory.bytes));
  ZipEntries entries;
  uint64_t at = 0;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    uint64_t place = directory.offset + at;
    const char *record = text.data() + at;
    if (text.size() - at < zip::kEntry.bytes ||
        littleEndian(record, 4) != zip::kEntry.signature) {
      return bad(
          file, place,
          absl::StrCat("there is no entry ", i, " of ", directory.entries));
    }
    uint64_t name_bytes = littleEndian(record + 28, 2);
    uint64_t extra_bytes = littleEndian(record + 30, 2);
    uint64_t bytes = zip::kEntry.bytes + name_bytes + extra_bytes +
                     littleEndian(record + 32, 2);
    if (bytes > text.size() - at) {
      return bad(file, place, absl::StrCat("entry ", i, " is cut short"));
    }
    std::string name(record + zip::kEntry.bytes, name_bytes);
    ZipEntry entry;
    uint64_t packed = littleEndian(record + 20, 4);
    uint64_t header = littleEndian(record + 42, 4);
    entry.bytes = littleEndian(record + 24, 4);
    if (!widen({record + zip::kEntry.bytes + name_bytes, extra_bytes},
               {&entry.bytes, &packed, &header})) {
      return bad(file, place, absl::StrCat("'", name, "' lacks its size"));
    }
    ZG_RETURN_IF_ERROR(checkEntry(file, name, place, record, entry, packed));
    ZG_ASSIGN_OR_RETURN(std::string own,
                        readRecord(file, header, zip::kHeader));
    entry.offset = header + zip::kHeader.bytes +
                   littleEndian(own.data() + 26, 2) +
                   littleEndian(own.data() + 28, 2);
    if (entry.offset > directory.offset ||
        entry.bytes > directory.offset - entry.offset) {
      return bad(file, place,
                 absl::StrCat("'", name, "' has the bytes [", entry.offset,
                              ", + ", entry.bytes,
                              "), which reach into the directory"));
    }
    if (!entries.emplace(name, entry).second) {
      return bad(file, place, absl::StrCat("'", name, "' is there twice"));
    }
    at += bytes;
  }
  return entries;
}
