//===- ModelFile.cpp - reading and checking an ONNX file ------------------===//

#include "frontend/file/ModelFile.h"

#include "frontend/base/Error.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "runtime/base/Text.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedInputStream;

namespace zerograph::frontend {

namespace {

constexpr int64_t kMinIr = 3, kMaxIr = 13;

// Field numbers of onnx.proto.
constexpr int kModelGraph = 7, kGraphInitializer = 5;
constexpr int kTensorName = 8, kTensorRawData = 9;

std::string readFile(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    fail("is a folder, not an ONNX file");
  }
  if (std::filesystem::exists(path, error) &&
      !std::filesystem::is_regular_file(path, error)) {
    fail("is not a regular file: a model's weights are read from it by place");
  }
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) {
    fail("cannot open the model: ", std::strerror(errno));
  }
  std::streamoff size = stream.tellg();
  if (size < 0 || size > INT_MAX) {
    fail("'", path, "' holds ", static_cast<int64_t>(size),
         " bytes; an ONNX file ends at 2 GiB: export with external data");
  }
  std::string bytes(size, '\0');
  stream.seekg(0);
  stream.read(bytes.data(), size);
  if (!stream) {
    fail("cannot read '", path, "'");
  }
  return bytes;
}

/// Calls `visit(field, begin of payload)` for each length-delimited field of
/// a message, with the stream's limit at its end; skips all other fields.
template <typename F>
bool walkMessage(CodedInputStream &input, F visit) {
  while (uint32_t tag = input.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) !=
        WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&input, tag)) {
        return false;
      }
      continue;
    }
    uint32_t length;
    if (!input.ReadVarint32(&length)) {
      return false;
    }
    int begin = input.CurrentPosition();
    auto limit = input.PushLimit(length);
    if (input.BytesUntilLimit() != static_cast<int>(length)) {
      return false;
    }
    if (!visit(WireFormatLite::GetTagFieldNumber(tag), begin)) {
      return false;
    }
    if (!input.Skip(input.BytesUntilLimit())) {
      return false;
    }
    input.PopLimit(limit);
  }
  return true;
}

/// Finds the raw_data payload of every initializer. The parsed message has
/// the bytes but not where they came from.
std::map<std::string, ByteRange> findRawData(const std::string &bytes,
                                             const std::string &fileName) {
  std::map<std::string, ByteRange> found;
  CodedInputStream input(reinterpret_cast<const uint8_t *>(bytes.data()),
                         static_cast<int>(bytes.size()));
  walkMessage(input, [&](int field, int) {
    if (field != kModelGraph) {
      return true;
    }
    return walkMessage(input, [&](int graphField, int) {
      if (graphField != kGraphInitializer) {
        return true;
      }
      std::string name;
      ByteRange range{fileName};
      bool raw = false;
      bool good = walkMessage(input, [&](int tensorField, int begin) {
        int length = input.BytesUntilLimit();
        if (tensorField == kTensorName) {
          return input.ReadString(&name, length);
        }
        if (tensorField == kTensorRawData) {
          range.offset = begin;
          range.length = length;
          raw = true;
        }
        return true;
      });
      if (raw) {
        found[name] = range;
      }
      return good;
    });
  });
  return found;
}

void checkVersions(ModelFile &file) {
  onnx::ModelProto &model = file.model;
  if (model.ir_version() < kMinIr || model.ir_version() > kMaxIr) {
    fail("IR version ", model.ir_version(), " is not supported; versions ",
         kMinIr, " to ", kMaxIr, " are");
  }
  for (const auto &import : model.opset_import()) {
    if (isOnnxDomain(import.domain())) {
      file.opset = import.version();
    }
  }
  if (file.opset == 0) {
    fail("the model does not import the ai.onnx operator set");
  }
  if (file.opset < kMinOpset || file.opset > kMaxOpset) {
    fail("ai.onnx operator set ", file.opset, " is not supported; sets ",
         kMinOpset, " to ", kMaxOpset, " are: export again with one of them");
  }
}

} // namespace

std::unique_ptr<ModelFile> readModelFile(const std::string &path) {
  auto file = std::make_unique<ModelFile>();
  size_t slash = path.find_last_of('/');
  if (slash != std::string::npos) {
    file->folder = path.substr(0, slash + 1);
  }
  file->fileName = path.substr(file->folder.size());
  std::string bytes = readFile(path);

  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  CodedInputStream input(&stream);
  input.SetTotalBytesLimit(INT_MAX);
  if (!file->model.ParseFromCodedStream(&input) ||
      !input.ConsumedEntireMessage()) {
    fail("is not an ONNX file, or it is truncated");
  }
  if (!file->model.has_graph()) {
    fail("is not an ONNX model: it holds no graph");
  }
  checkVersions(*file);
  if (file->model.training_info_size() != 0) {
    fail("the model carries TrainingInfoProto, which is not supported: remove "
         "training_info; backward and optimizer are made here");
  }
  if (file->graph().sparse_initializer_size() != 0) {
    fail("sparse initializers are not supported: '",
         file->graph().sparse_initializer(0).values().name(), "'");
  }
  file->embedded = findRawData(bytes, file->fileName);
  return file;
}

std::unique_ptr<ModelFile> loadModel(const std::string &path) {
  std::unique_ptr<ModelFile> file = readModelFile(path);
  inlineFunctions(file->model);
  leaveForeignOut(*file);
  return file;
}

void checkShapes(const onnx::GraphProto &graph) {
  for (const auto &tensor : graph.initializer()) {
    Shape shape(tensor.dims().begin(), tensor.dims().end());
    try {
      elementCount(shape);
    } catch (const ImportError &error) {
      fail("initializer '", tensor.name(), "': ", error.what());
    }
  }
}

} // namespace zerograph::frontend
