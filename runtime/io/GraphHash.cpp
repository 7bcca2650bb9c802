//===- GraphHash.cpp - whether a model's file has the graph of a plan -----===//

#include "runtime/io/GraphHash.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/wire_format_lite.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <memory>

#include <xxhash.h>

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::FileInputStream;

using namespace zerograph;

namespace {

/// What is in a field: a message of onnx.proto to walk, bytes to hash, or
/// nothing that counts.
enum class Part {
  Nothing,
  Bytes,
  Model,
  Graph,
  Node,
  Attribute,
  Function,
  Tensor,
  Value
};

/// Returns what is in a field of a message, by its number in onnx.proto.
Part partOf(Part message, int field, bool integers) {
  switch (message) {
  case Part::Model:
    return field == 7    ? Part::Graph
           : field == 8  ? Part::Bytes // operator sets
           : field == 25 ? Part::Function
                         : Part::Nothing;
  case Part::Graph:
    return field == 1                   ? Part::Node
           : field == 5                 ? Part::Tensor
           : field == 11 || field == 12 ? Part::Value // inputs, outputs
                                        : Part::Nothing;
  case Part::Node: // but name, comment, metadata, devices
    return field == 5 ? Part::Attribute
           : field == 3 || field == 6 || field == 9 || field == 10
               ? Part::Nothing
               : Part::Bytes;
  case Part::Attribute: // but its comment
    return field == 6 || field == 11 ? Part::Graph
           : field == 13             ? Part::Nothing
                                     : Part::Bytes;
  case Part::Function: // but comment, shapes, metadata
    return field == 7                                 ? Part::Node
           : field == 11                              ? Part::Attribute
           : field == 8 || field == 12 || field == 14 ? Part::Nothing
                                                      : Part::Bytes;
  case Part::Tensor: // dims, type, name, external data; int64_data, raw_data
    return field == 1 || field == 2 || field == 8 || field == 13 || field == 14
               ? Part::Bytes
           : integers && (field == 7 || field == 9) ? Part::Bytes
                                                    : Part::Nothing;
  case Part::Value: // name, type
    return field == 1 || field == 2 ? Part::Bytes : Part::Nothing;
  case Part::Nothing:
  case Part::Bytes:
    break;
  }
  return Part::Nothing;
}

/// Hashes what a walk over a file meets.
class Walk {
public:
  explicit Walk(CodedInputStream &input)
      : input(input), state(XXH3_createState(), XXH3_freeState) {
    XXH3_64bits_reset(state.get());
  }

  /// Walks one message, to the stream's limit; false if it is none.
  bool message(Part kind) {
    constexpr uint64_t kTensorType = 2, kInt64 = 7;
    bool integers = false;
    while (uint32_t tag = input.ReadTag()) {
      Part part =
          partOf(kind, WireFormatLite::GetTagFieldNumber(tag), integers);
      if (part == Part::Nothing) {
        if (!WireFormatLite::SkipField(&input, tag)) {
          return false;
        }
        continue;
      }
      add(tag);
      uint64_t number = 0;
      if (!field(tag, part, number)) {
        return false;
      }
      if (kind == Part::Tensor &&
          tag == WireFormatLite::MakeTag(kTensorType,
                                         WireFormatLite::WIRETYPE_VARINT)) {
        integers = number == kInt64;
      }
    }
    return input.ConsumedEntireMessage();
  }

  uint64_t hash() const { return XXH3_64bits_digest(state.get()); }

private:
  void add(uint64_t number) {
    XXH3_64bits_update(state.get(), &number, sizeof(number));
  }

  /// Hashes one field; `number`: its value, if it is a varint.
  bool field(uint32_t tag, Part part, uint64_t &number) {
    uint32_t four = 0;
    int length = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
    case WireFormatLite::WIRETYPE_VARINT:
      return input.ReadVarint64(&number) && (add(number), true);
    case WireFormatLite::WIRETYPE_FIXED32:
      return input.ReadLittleEndian32(&four) && (add(four), true);
    case WireFormatLite::WIRETYPE_FIXED64:
      return input.ReadLittleEndian64(&number) && (add(number), true);
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
      return input.ReadVarintSizeAsInt(&length) && payload(length, part);
    default:
      return false;
    }
  }

  bool payload(int length, Part part) {
    if (part == Part::Bytes) {
      std::string bytes;
      if (!input.ReadString(&bytes, length)) {
        return false;
      }
      add(length);
      XXH3_64bits_update(state.get(), bytes.data(), bytes.size());
      return true;
    }
    auto limit = input.PushLimit(length);
    bool good = input.IncrementRecursionDepth() && message(part);
    input.DecrementRecursionDepth();
    input.PopLimit(limit);
    add(0); // the end: no tag
    return good;
  }

  CodedInputStream &input;
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state;
};

} // namespace

absl::StatusOr<uint64_t> zerograph::graphHash(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    int code = errno;
    return absl::ErrnoToStatus(code, "cannot open " + path);
  }
  FileInputStream file(descriptor);
  file.SetCloseOnDelete(true);
  CodedInputStream input(&file);
  input.SetTotalBytesLimit(INT_MAX);
  Walk walk(input);
  if (!walk.message(Part::Model)) {
    return absl::InvalidArgumentError(path +
                                      ": not an ONNX file, or it is truncated");
  }
  return walk.hash();
}
