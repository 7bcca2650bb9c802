//===- CublasLtAlgorithms.cpp - algorithms of products, in a file ---------===//

#include "runtime/device/cuda/CublasLtAlgorithms.h"

#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace zerograph;

namespace {

constexpr char kTitle[] = "zerograph algorithms 1";
constexpr char kLibrary[] = "library ";
constexpr char kGpu[] = "gpu ";
constexpr char kProduct[] = "product ";
constexpr char kAlgorithm[] = "  algorithm ";

/// The file's lines in turn.
class Lines {
public:
  Lines(std::istream &stream, const std::string &path)
      : stream(stream), path(path) {}

  bool next() {
    ++number;
    return bool(std::getline(stream, line));
  }
  /// What follows `beginning` in the next line.
  absl::StatusOr<std::string> expect(const char *beginning) {
    if (!next() || line.rfind(beginning, 0) != 0) {
      return wrong(absl::StrCat("'", beginning, "...'"));
    }
    return line.substr(std::strlen(beginning));
  }
  absl::Status wrong(absl::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": line ", number, " is '", line, "', expected ", expected,
        "; no file of algorithms that this version wrote"));
  }

  std::string line;

private:
  std::istream &stream;
  const std::string &path;
  int number = 0;
};

absl::StatusOr<cublasLtMatmulAlgo_t> parseAlgorithm(Lines &lines) {
  cublasLtMatmulAlgo_t algorithm;
  ZG_ASSIGN_OR_RETURN(std::string text, lines.expect(kAlgorithm));
  bool digits = text.find_first_not_of("0123456789abcdef") == text.npos;
  if (!digits || text.size() != 2 * sizeof(algorithm)) {
    return lines.wrong(
        absl::StrCat(2 * sizeof(algorithm), " hexadecimal digits"));
  }
  std::string bytes = absl::HexStringToBytes(text);
  std::memcpy(&algorithm, bytes.data(), sizeof(algorithm));
  return algorithm;
}

} // namespace

absl::StatusOr<std::optional<CublasLtAlgorithms>>
zerograph::readAlgorithms(const std::string &path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    return std::nullopt;
  }
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat(path, " cannot be read: ", std::strerror(errno)));
  }
  Lines lines(file, path);
  if (!lines.next() || lines.line != kTitle) {
    return lines.wrong(absl::StrCat("'", kTitle, "'"));
  }
  CublasLtAlgorithms read;
  ZG_ASSIGN_OR_RETURN(read.library, lines.expect(kLibrary));
  ZG_ASSIGN_OR_RETURN(read.gpu, lines.expect(kGpu));
  while (lines.next()) {
    absl::string_view product = lines.line;
    if (!absl::ConsumePrefix(&product, kProduct)) {
      return lines.wrong(absl::StrCat("'", kProduct, "...'"));
    }
    std::string key(product);
    ZG_ASSIGN_OR_RETURN(read.products[key], parseAlgorithm(lines));
  }
  return read;
}

absl::Status zerograph::writeAlgorithms(const std::string &path,
                                        const CublasLtAlgorithms &algorithms) {
  // Processes of one run may write the same at once.
  std::string unfinished = absl::StrCat(path, ".", getpid(), ".tmp");
  std::ofstream file(unfinished);
  file << kTitle << '\n'
       << kLibrary << algorithms.library << '\n'
       << kGpu << algorithms.gpu << '\n';
  for (const auto &[product, algorithm] : algorithms.products) {
    absl::string_view bytes(reinterpret_cast<const char *>(&algorithm),
                            sizeof(algorithm));
    file << kProduct << product << '\n'
         << kAlgorithm << absl::BytesToHexString(bytes) << '\n';
  }
  file.close();
  if (!file || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::string why = std::strerror(errno);
    unlink(unfinished.c_str());
    return absl::InternalError(absl::StrCat(path, " cannot be written: ", why));
  }
  return absl::OkStatus();
}
