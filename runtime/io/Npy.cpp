//===- Npy.cpp - reads .npy files, alone, in a folder or in a .npz file ---===//

#include "runtime/base/LittleEndian.h"
#include "runtime/io/TensorFile.h"
#include "runtime/io/ZipFile.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <filesystem>
#include <set>

using namespace zerograph;

namespace {

/// Numpy's own limit.
constexpr size_t kMostAxes = 64;

absl::Status bad(const std::string &path, const std::string &what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": no array that can be read: ", what));
}

plan::ElementType typeOf(const std::string &descr) {
  static const auto *types = new std::map<std::string, plan::ElementType>{
      {"<f4", plan::F32}, {"<f8", plan::F64}, {"<f2", plan::F16},
      {"<i8", plan::I64}, {"<i4", plan::I32}, {"<i2", plan::I16},
      {"|i1", plan::I8},  {"|u1", plan::U8},  {"|b1", plan::BOOL}};
  auto found = types->find(descr);
  return found == types->end() ? plan::ELEMENT_INVALID : found->second;
}

/// Reads the Python dictionary of a header: {'descr': '<f4',
/// 'fortran_order': False, 'shape': (3, 4), } in whatever order. Numpy writes
/// nothing else there, and a file may come from anybody.
class HeaderReader {
public:
  HeaderReader(const std::string &path, absl::string_view text,
               TensorExtent &extent)
      : path(path), rest(text), extent(extent) {}

  absl::Status read() {
    if (!take('{')) {
      return bad(path, "the header is no dictionary");
    }
    while (!take('}')) {
      std::string key;
      if (!takeText(key) || !take(':')) {
        return bad(path, "the header is no dictionary of names");
      }
      if (!seen.insert(key).second) {
        return bad(path, absl::StrCat("the header has '", absl::CHexEscape(key),
                                      "' twice"));
      }
      ZG_RETURN_IF_ERROR(readValue(key));
      if (!take(',') && !rest.empty() && rest.front() != '}') {
        return bad(path, "the header is no dictionary");
      }
    }
    space();
    if (!rest.empty()) {
      return bad(path, "the header goes on behind its dictionary");
    }
    for (const char *key : {"descr", "fortran_order", "shape"}) {
      if (!seen.count(key)) {
        return bad(path, absl::StrCat("the header has no ", key));
      }
    }
    return absl::OkStatus();
  }

private:
  void space() {
    size_t end = rest.find_first_not_of(" \t\r\n");
    rest.remove_prefix(end == absl::string_view::npos ? rest.size() : end);
  }
  bool take(char wanted) {
    space();
    if (rest.empty() || rest.front() != wanted) {
      return false;
    }
    rest.remove_prefix(1);
    space();
    return true;
  }
  bool takeWord(absl::string_view word) {
    space();
    return absl::ConsumePrefix(&rest, word);
  }
  bool takeText(std::string &text) {
    space();
    char quote = rest.empty() ? ' ' : rest.front();
    size_t end = quote == '\'' || quote == '"' ? rest.find(quote, 1)
                                               : absl::string_view::npos;
    if (end == absl::string_view::npos) {
      return false;
    }
    text = std::string(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    return true;
  }

  absl::Status readValue(const std::string &key) {
    if (key == "descr") {
      std::string name;
      if (!takeText(name)) {
        return bad(path, "the header names no plain element type");
      }
      extent.type = typeOf(name);
      if (extent.type == plan::ELEMENT_INVALID) {
        return bad(path, absl::StrCat("its elements are ",
                                      absl::CHexEscape(name.substr(0, 40)),
                                      "; little-endian floats, signed "
                                      "integers, uint8 and bool are read"));
      }
      return absl::OkStatus();
    }
    if (key == "fortran_order") {
      return takeWord("False")
                 ? absl::OkStatus()
                 : bad(path, "it is in Fortran order; save it in C order");
    }
    if (key == "shape") {
      return readShape();
    }
    return bad(path, absl::StrCat("the header has an unknown entry '",
                                  absl::CHexEscape(key.substr(0, 40)), "'"));
  }

  absl::Status readShape() {
    if (!take('(')) {
      return bad(path, "the header has no shape");
    }
    while (!take(')')) {
      size_t digits =
          std::min(rest.find_first_not_of("0123456789"), rest.size());
      uint64_t size = 0;
      if (digits == 0 || !absl::SimpleAtoi(rest.substr(0, digits), &size)) {
        return bad(path, digits == 0 ? "its shape is no list of numbers"
                                     : "its shape is too large");
      }
      rest.remove_prefix(digits);
      takeWord("L"); // of Python 2
      extent.shape.push_back(size);
      if (extent.shape.size() > kMostAxes) {
        return bad(path, absl::StrCat("it has more than ", kMostAxes, " axes"));
      }
      if (!take(',') && (rest.empty() || rest.front() != ')')) {
        return bad(path, "its shape is no list of numbers");
      }
    }
    return absl::OkStatus();
  }

  const std::string &path;
  absl::string_view rest;
  TensorExtent &extent;
  std::set<std::string> seen;
};

/// The array of `size` bytes of `file` from `at` on; `path` is for messages.
absl::StatusOr<TensorExtent> readArray(std::shared_ptr<File> file,
                                       const std::string &path, uint64_t at,
                                       uint64_t size) {
  TensorExtent extent;
  extent.file = std::move(file);
  char prefix[12] = {};
  ZG_RETURN_IF_ERROR(
      extent.file->read(at, std::min<uint64_t>(size, 12), prefix));
  if (size < 12 || std::string(prefix, 6) != "\x93NUMPY") {
    return bad(path, "it does not begin as a .npy file");
  }
  auto version = uint8_t(prefix[6]);
  uint64_t begin = version >= 2 ? 12 : 10;
  uint64_t length = littleEndian(prefix + 8, begin - 8);
  if (version < 1 || version > 3 || length > 65536 || begin + length > size) {
    return bad(path, absl::StrCat("a header of version ", version, " with ",
                                  length, " bytes"));
  }
  std::string header(length, '\0');
  ZG_RETURN_IF_ERROR(extent.file->read(at + begin, length, header.data()));
  ZG_RETURN_IF_ERROR(HeaderReader(path, header, extent).read());
  extent.offset = at + begin + length;
  uint64_t bytes = size - begin - length;
  if (!byteCount(extent.shape, elementSize(extent.type), extent.bytes) ||
      extent.bytes != bytes) {
    return bad(path, absl::StrCat("an array ", shapeText(extent.shape), " has ",
                                  bytes, " bytes"));
  }
  return extent;
}

} // namespace

absl::StatusOr<TensorFile> zerograph::readNpy(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::openForReading(path));
  ZG_ASSIGN_OR_RETURN(TensorExtent array,
                      readArray(file, path, 0, file->bytes()));
  return TensorFile{{std::filesystem::path(path).stem().string(), array}};
}

absl::StatusOr<TensorFile> zerograph::readNpz(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::openForReading(path));
  ZG_ASSIGN_OR_RETURN(ZipEntries entries, readZip(*file));
  TensorFile tensors;
  for (const auto &[name, entry] : entries) {
    absl::string_view array = name;
    if (absl::ConsumeSuffix(&array, ".npy")) {
      ZG_ASSIGN_OR_RETURN(
          tensors[std::string(array)],
          readArray(file, absl::StrCat(path, ": ", absl::CHexEscape(name)),
                    entry.offset, entry.bytes));
    }
  }
  return tensors;
}

absl::StatusOr<TensorFile> zerograph::readNpyFolder(const std::string &path) {
  TensorFile tensors;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".npy") {
      ZG_ASSIGN_OR_RETURN(TensorFile array, readNpy(it->path().string()));
      tensors.merge(array);
    }
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot list: ", error.message()));
  }
  if (tensors.empty()) {
    return absl::NotFoundError(
        absl::StrCat(path, ": holds no .npy or .safetensors file"));
  }
  return tensors;
}
