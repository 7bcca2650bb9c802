//===- TorchWriter.cpp - a file that torch.load reads ---------------------===//
//
// All sizes and places stand in fields of 64 bits, also where 32 would do: so
// there is one form for files of any size.
//
//===----------------------------------------------------------------------===//

#include "runtime/io/torch/TorchWriter.h"

#include "runtime/base/LittleEndian.h"
#include "runtime/io/torch/ZipFormat.h"

#include <algorithm>
#include <zlib.h>

using namespace zerograph;

namespace {

/// The alignment that torch.save gives storages.
constexpr uint64_t kAlignment = 64;
/// The folder of all entries; torch.load takes any.
constexpr char kFolder[] = "archive/";
constexpr absl::string_view kByteOrder = "little";
/// The version of the format, which PyTorch has written since 1.6.
constexpr absl::string_view kVersion = "3\n";

/// The version of ZIP that has fields of 64 bits, and the first day that ZIP
/// knows, so that the same content has the same bytes.
constexpr uint64_t kZipVersion = 45;
constexpr uint64_t kFirstDay = 0x21;
/// A field with no meaning, which aligns what follows; torch.save has it too.
constexpr uint64_t kPadding = 0x4246;
constexpr uint64_t kFieldBytes = 4; // before the content of a field

/// Its fields of 64 bits.
constexpr uint64_t kHeaderField = kFieldBytes + 16;
constexpr uint64_t kEntryField = kFieldBytes + 24;

std::string record(const zip::Record &kind) {
  std::string bytes;
  appendLittleEndian(bytes, kind.signature, 4);
  return bytes;
}

/// Appends what an entry's header and its entry of the directory both have.
void appendCommon(std::string &bytes, uint32_t checksum, size_t name,
                  uint64_t fields) {
  appendLittleEndian(bytes, kZipVersion, 2);
  appendLittleEndian(bytes, 0, 2); // flags
  appendLittleEndian(bytes, 0, 2); // stored
  appendLittleEndian(bytes, 0, 2); // time
  appendLittleEndian(bytes, kFirstDay, 2);
  appendLittleEndian(bytes, checksum, 4);
  appendLittleEndian(bytes, zip::kLarge, 4);
  appendLittleEndian(bytes, zip::kLarge, 4);
  appendLittleEndian(bytes, name, 2);
  appendLittleEndian(bytes, fields, 2);
}

void beginField(std::string &bytes, uint64_t id, uint64_t count) {
  appendLittleEndian(bytes, id, 2);
  appendLittleEndian(bytes, count, 2);
}

} // namespace

/// Places an entry after what there is already.
void TorchWriter::place(std::string name, uint64_t bytes) {
  Entry entry;
  entry.name = kFolder + std::move(name);
  entry.bytes = bytes;
  entry.header = end;
  uint64_t least =
      end + zip::kHeader.bytes + entry.name.size() + kHeaderField + kFieldBytes;
  entry.offset = (least + kAlignment - 1) / kAlignment * kAlignment;
  end = entry.offset + bytes;
  entries.push_back(std::move(entry));
}

absl::StatusOr<std::unique_ptr<TorchWriter>>
TorchWriter::create(const std::string &path, PickleWriter pickle) {
  std::unique_ptr<TorchWriter> writer(new TorchWriter);
  std::string text = pickle.finish();
  writer->place("data.pkl", text.size());
  writer->place("byteorder", kByteOrder.size());
  writer->place("version", kVersion.size());
  writer->first_storage = writer->entries.size();
  for (size_t i = 0; i < pickle.storages().size(); ++i) {
    writer->place(absl::StrCat("data/", i), pickle.storages()[i]);
  }
  uint64_t bytes = writer->end + writer->directory().size();
  ZG_ASSIGN_OR_RETURN(writer->file, NewFile::create(path, bytes));
  ZG_RETURN_IF_ERROR(writer->append(0, text));
  ZG_RETURN_IF_ERROR(writer->append(1, kByteOrder));
  ZG_RETURN_IF_ERROR(writer->append(2, kVersion));
  return writer;
}

absl::Status TorchWriter::append(size_t entry, absl::string_view text) {
  return append(entries[entry], text.data(), text.size());
}

absl::Status TorchWriter::append(size_t storage, const void *data,
                                 uint64_t bytes) {
  return append(entries[first_storage + storage], data, bytes);
}

absl::Status TorchWriter::append(Entry &entry, const void *data,
                                 uint64_t bytes) {
  if (bytes > entry.bytes - entry.written) {
    return absl::InternalError(absl::StrCat(file->path(), ": '", entry.name,
                                            "' has ", entry.bytes, " bytes"));
  }
  entry.checksum = uint32_t(
      crc32_z(entry.checksum, static_cast<const Bytef *>(data), bytes));
  ZG_RETURN_IF_ERROR(file->write(entry.offset + entry.written, bytes, data));
  entry.written += bytes;
  return absl::OkStatus();
}

/// With the records that end the file; as large before checksums are known.
std::string TorchWriter::directory() const {
  std::string bytes;
  for (const Entry &entry : entries) {
    bytes += record(zip::kEntry);
    appendLittleEndian(bytes, kZipVersion, 2);
    appendCommon(bytes, entry.checksum, entry.name.size(), kEntryField);
    bytes.append(2 + 2 + 2 + 4, '\0'); // comment, disk, attributes
    appendLittleEndian(bytes, zip::kLarge, 4);
    bytes += entry.name;
    beginField(bytes, zip::kLargeField, 24);
    appendLittleEndian(bytes, entry.bytes, 8);
    appendLittleEndian(bytes, entry.bytes, 8);
    appendLittleEndian(bytes, entry.header, 8);
  }
  uint64_t count = entries.size(), size = bytes.size();
  bytes += record(zip::kLargeEnd);
  appendLittleEndian(bytes, zip::kLargeEnd.bytes - 12, 8);
  appendLittleEndian(bytes, kZipVersion, 2);
  appendLittleEndian(bytes, kZipVersion, 2);
  appendLittleEndian(bytes, 0, 4 + 4); // disks
  appendLittleEndian(bytes, count, 8);
  appendLittleEndian(bytes, count, 8);
  appendLittleEndian(bytes, size, 8);
  appendLittleEndian(bytes, end, 8);

  bytes += record(zip::kLocator);
  appendLittleEndian(bytes, 0, 4); // disk
  appendLittleEndian(bytes, end + size, 8);
  appendLittleEndian(bytes, 1, 4); // disks

  bytes += record(zip::kEnd);
  appendLittleEndian(bytes, 0, 2 + 2); // disks
  appendLittleEndian(bytes, std::min<uint64_t>(count, 0xffff), 2);
  appendLittleEndian(bytes, std::min<uint64_t>(count, 0xffff), 2);
  appendLittleEndian(bytes, std::min<uint64_t>(size, zip::kLarge), 4);
  appendLittleEndian(bytes, zip::kLarge, 4);
  appendLittleEndian(bytes, 0, 2); // comment
  return bytes;
}

absl::Status TorchWriter::commit() {
  for (const Entry &entry : entries) {
    if (entry.written != entry.bytes) {
      return absl::InternalError(absl::StrCat(file->path(), ": '", entry.name,
                                              "' has ", entry.written,
                                              " bytes of ", entry.bytes));
    }
    uint64_t fields =
        entry.offset - entry.header - zip::kHeader.bytes - entry.name.size();
    std::string bytes = record(zip::kHeader);
    appendCommon(bytes, entry.checksum, entry.name.size(), fields);
    bytes += entry.name;
    beginField(bytes, zip::kLargeField, 16);
    appendLittleEndian(bytes, entry.bytes, 8);
    appendLittleEndian(bytes, entry.bytes, 8);
    uint64_t padding = fields - kHeaderField - kFieldBytes;
    beginField(bytes, kPadding, padding);
    bytes.append(padding, '\0');
    ZG_RETURN_IF_ERROR(file->write(entry.header, bytes.size(), bytes.data()));
  }
  std::string last = directory();
  ZG_RETURN_IF_ERROR(file->write(end, last.size(), last.data()));
  return file->commit();
}
