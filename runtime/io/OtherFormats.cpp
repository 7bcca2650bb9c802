//===- OtherFormats.cpp - what a file is that is not read -----------------===//

#include "runtime/io/TensorFile.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// The upper half of a header's length is zero.
constexpr absl::string_view kNoLength("\0\0\0\0", 4);

constexpr char kSave[] =
    "make arrays of it in Python, one an input, and save them: "
    "numpy.savez('data.npz', INPUT=array, ...)";

constexpr char kConvert[] =
    "Zerograph's Python package makes a .safetensors file of a dictionary of "
    "tensors: zerograph.convert.torch_to_safetensors(FILE, OUTPUT)";

const KnownFormat kPickle = {
    "a pickle of Python, or of torch.save before PyTorch 1.6", kConvert,
    /*weights=*/true};

const std::pair<absl::string_view, KnownFormat> kFormats[] = {
    {"\x80\x02", kPickle},
    {"\x80\x03", kPickle},
    {"\x80\x04", kPickle},
    {"\x80\x05", kPickle},
    {"PK\3\4",
     {"a ZIP file, as torch.save writes it", kConvert, /*weights=*/true}},
    {"\x89HDF\r\n", {"an HDF5 file", kSave, /*weights=*/true}},
    {"\x1f\x8b", {"compressed by gzip", "unpack it first"}},
    {"ARROW1", {"an Arrow file", "write it as .parquet"}},
    {"PAR1", {"a Parquet file", "give it a name that ends in .parquet"}},
    {"ZGPLAN", {kPlanFormat, "give it as the FILE to train with"}},
};

/// The first fields of an ONNX model: its version of the format, and what wrote
/// it or its graph.
bool isOnnx(absl::string_view begin) {
  return begin.size() > 3 && begin[0] == 8 && begin[1] > 0 && begin[1] < 32 &&
         (begin[2] == 0x12 || begin[2] == 0x3a);
}

/// The length of a header, which is a JSON object.
bool isSafetensors(absl::string_view begin) {
  return begin.size() > 8 && begin[8] == '{' && begin.substr(4, 4) == kNoLength;
}

} // namespace

std::optional<KnownFormat> zerograph::knownFormat(absl::string_view begin) {
  if (isSafetensors(begin)) {
    return KnownFormat{"a .safetensors file", "", /*weights=*/true};
  }
  for (const auto &[first, format] : kFormats) {
    if (absl::StartsWith(begin, first)) {
      return format;
    }
  }
  if (isOnnx(begin)) {
    return KnownFormat{kModelFormat,
                       "give it as the FILE to train, its name ending in "
                       ".onnx"};
  }
  bool text = begin.size() >= 8 &&
              std::none_of(begin.begin(), begin.end(), [](unsigned char c) {
                return c < 0x80
                           ? !absl::ascii_isprint(c) && !absl::ascii_isspace(c)
                           : c >= 0xf8; // no byte of UTF-8
              });
  return text ? std::optional(KnownFormat{"a text, as CSV or JSON", kSave})
              : std::nullopt;
}
