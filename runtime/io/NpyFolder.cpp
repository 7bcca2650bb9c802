//===- NpyFolder.cpp - reads a folder of .npy files -----------------------===//

#include "runtime/io/TensorFile.h"

#include <algorithm>
#include <filesystem>
#include <regex>

using namespace zerograph;

namespace {

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

/// The Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape':
/// (3, 4), } in whatever order.
absl::Status parseHeader(const std::string &path, const std::string &header,
                         TensorExtent &extent) {
  static const std::regex descr(R"('descr'\s*:\s*'([^']*)')");
  static const std::regex order(R"('fortran_order'\s*:\s*(True|False))");
  static const std::regex shape(R"('shape'\s*:\s*\(([0-9,\s]*)\))");
  std::smatch match;
  if (!std::regex_search(header, match, descr)) {
    return bad(path, "the header names no plain element type");
  }
  extent.type = typeOf(match[1]);
  if (extent.type == plan::ELEMENT_INVALID) {
    return bad(path, absl::StrCat("its elements are ", match[1].str(),
                                  "; little-endian floats, signed integers, "
                                  "uint8 and bool are read"));
  }
  if (!std::regex_search(header, match, order) || match[1] != "False") {
    return bad(path, "it is in Fortran order; save it in C order");
  }
  if (!std::regex_search(header, match, shape)) {
    return bad(path, "the header has no shape");
  }
  std::string sizes = match[1];
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator it(sizes.begin(), sizes.end(), number), end;
       it != end; ++it) {
    std::string digits = it->str();
    if (digits.size() > 18) {
      return bad(path, "its shape is too large");
    }
    extent.shape.push_back(std::stoull(digits));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorExtent> readNpy(const std::string &path) {
  TensorExtent extent;
  ZG_ASSIGN_OR_RETURN(extent.file, File::openForReading(path));
  uint64_t size = extent.file->bytes();
  uint8_t prefix[12] = {};
  ZG_RETURN_IF_ERROR(
      extent.file->read(0, std::min<uint64_t>(size, 12), prefix));
  if (size < 12 ||
      std::string(reinterpret_cast<char *>(prefix), 6) != "\x93NUMPY") {
    return bad(path, "it does not begin as a .npy file");
  }
  bool wide = prefix[6] >= 2;
  uint64_t begin = wide ? 12 : 10;
  uint64_t length = uint64_t(prefix[8]) | uint64_t(prefix[9]) << 8;
  if (wide) {
    length |= uint64_t(prefix[10]) << 16 | uint64_t(prefix[11]) << 24;
  }
  if (prefix[6] < 1 || prefix[6] > 3 || length > 65536 ||
      begin + length > size) {
    return bad(path, absl::StrCat("a header of version ", prefix[6], " with ",
                                  length, " bytes"));
  }
  std::string header(length, '\0');
  ZG_RETURN_IF_ERROR(extent.file->read(begin, length, header.data()));
  ZG_RETURN_IF_ERROR(parseHeader(path, header, extent));
  extent.offset = begin + length;
  if (!byteCount(extent.shape, elementSize(extent.type), extent.bytes) ||
      extent.bytes != size - extent.offset) {
    return bad(path, absl::StrCat("an array ", shapeText(extent.shape), " has ",
                                  size - extent.offset, " bytes"));
  }
  return extent;
}

} // namespace

absl::StatusOr<TensorFile> zerograph::readNpyFolder(const std::string &path) {
  TensorFile tensors;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".npy") {
      continue;
    }
    ZG_ASSIGN_OR_RETURN(TensorExtent extent, readNpy(it->path().string()));
    tensors.emplace(it->path().stem().string(), std::move(extent));
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot list: ", error.message()));
  }
  if (tensors.empty()) {
    return absl::NotFoundError(absl::StrCat(path, ": holds no .npy file"));
  }
  return tensors;
}
