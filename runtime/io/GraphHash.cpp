//===- GraphHash.cpp - whether a model's file has the graph of a plan -----===//

#include "runtime/io/GraphHash.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/wire_format_lite.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <memory>
#include <set>

#include <xxhash.h>

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::FileInputStream;

using namespace zerograph;

namespace {

/// The content of a field: a message of onnx.proto to walk, bytes to hash, or
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
  Value,
  Metadata
};

// Fields of TensorProto and of StringStringEntryProto, in the order in which
// they lie in a file.
constexpr int kName = 8, kRawData = 9;
constexpr int kKey = 1, kValue = 2;

/// Returns what is in a field of a message, by its number in onnx.proto.
/// `skips`: the message is a parameter, or metadata that do not count.
Part partOf(Part message, int field, bool skips) {
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
  case Part::Node: // but name, comment, devices
    return field == 5                                ? Part::Attribute
           : field == 9                              ? Part::Metadata
           : field == 3 || field == 6 || field == 10 ? Part::Nothing
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
  case Part::Tensor: // but comment, metadata; a parameter's raw data
    return field == 12 || field == 16 || (field == kRawData && skips)
               ? Part::Nothing
               : Part::Bytes;
  case Part::Metadata: // key, value: what exporters say beside operators
    return field == kValue && skips ? Part::Nothing : Part::Bytes;
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
  Walk(CodedInputStream &input, const plan::Plan &plan)
      : input(input), state(XXH3_createState(), XXH3_freeState) {
    XXH3_64bits_reset(state.get());
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::Parameter &parameter : unit.parameters()) {
        parameters.insert(parameter.name());
      }
    }
  }

  /// Walks one message, to the stream's limit; false if it is none.
  bool message(Part kind) {
    bool skips = false;
    while (uint32_t tag = input.ReadTag()) {
      int number = WireFormatLite::GetTagFieldNumber(tag);
      Part part = partOf(kind, number, skips);
      if (part == Part::Nothing) {
        if (!WireFormatLite::SkipField(&input, tag)) {
          return false;
        }
        continue;
      }
      add(tag);
      if (!field(tag, part)) {
        return false;
      }
      if (kind == Part::Tensor && number == kName) {
        skips = parameters.count(bytes) > 0;
      } else if (kind == Part::Metadata && number == kKey) {
        skips = bytes == "pkg.torch.onnx.stack_trace"; // lines of code
      }
    }
    return input.ConsumedEntireMessage();
  }

  uint64_t hash() const { return XXH3_64bits_digest(state.get()); }

private:
  bool add(uint64_t number) {
    return XXH3_64bits_update(state.get(), &number, sizeof(number)) == XXH_OK;
  }

  bool field(uint32_t tag, Part part) {
    uint64_t number = 0;
    uint32_t four = 0;
    int length = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
    case WireFormatLite::WIRETYPE_VARINT:
      return input.ReadVarint64(&number) && add(number);
    case WireFormatLite::WIRETYPE_FIXED32:
      return input.ReadLittleEndian32(&four) && add(four);
    case WireFormatLite::WIRETYPE_FIXED64:
      return input.ReadLittleEndian64(&number) && add(number);
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
      return input.ReadVarintSizeAsInt(&length) && payload(length, part);
    default:
      return false;
    }
  }

  bool payload(int length, Part part) {
    if (part == Part::Bytes) {
      return input.ReadString(&bytes, length) && add(length) &&
             XXH3_64bits_update(state.get(), bytes.data(), bytes.size()) ==
                 XXH_OK;
    }
    auto limit = input.PushLimit(length);
    bool good = input.IncrementRecursionDepth() && message(part);
    input.DecrementRecursionDepth();
    input.PopLimit(limit);
    return good && add(0); // the end: no tag
  }

  std::set<std::string> parameters;
  std::string bytes; // of the last field that has some
  CodedInputStream &input;
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state;
};

} // namespace

absl::StatusOr<uint64_t> zerograph::graphHash(const std::string &path,
                                              const plan::Plan &plan) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    int code = errno;
    return absl::ErrnoToStatus(code, "cannot open " + path);
  }
  FileInputStream file(descriptor);
  file.SetCloseOnDelete(true);
  CodedInputStream input(&file);
  input.SetTotalBytesLimit(INT_MAX);
  Walk walk(input, plan);
  bool good = walk.message(Part::Model);
  if (int code = file.GetErrno()) {
    return absl::ErrnoToStatus(code, "cannot read " + path);
  }
  if (!good) {
    return absl::InvalidArgumentError(path +
                                      ": not an ONNX file, or it is truncated");
  }
  return walk.hash();
}
