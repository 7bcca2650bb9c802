//===- Algorithms.cpp - what libraries chose, in a file -------------------===//

#include "runtime/device/cuda/Algorithms.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

using namespace zerograph;

namespace {

constexpr char kTitle[] = "zerograph algorithms 1";
constexpr char kLibrary[] = "library ";
constexpr char kGpu[] = "gpu ";
constexpr char kAlgorithm[] = "  algorithm ";

/// "cuBLASLt" of "cuBLASLt 13.1.0".
absl::string_view nameOf(const std::string &library) {
  return absl::string_view(library).substr(0, library.find(' '));
}

/// The file's lines in turn.
class Lines {
public:
  Lines(std::istream &stream, const std::string &path)
      : stream(stream), path(path) {}

  bool next() {
    ++number;
    return bool(std::getline(stream, line));
  }
  /// Returns what follows `beginning` in the next line.
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

} // namespace

std::string LibraryAlgorithms::choices() const {
  std::string all;
  for (const auto &[kind, algorithm] : kinds) {
    absl::StrAppend(&all, kind, "\n", algorithm, "\n");
  }
  return absl::StrCat(
      library, " on ", gpu, ", algorithms ",
      absl::Hex(XXH3_64bits(all.data(), all.size()), absl::kZeroPad16));
}

absl::StatusOr<Algorithms> Algorithms::open(const std::string &path) {
  Algorithms algorithms;
  algorithms.path = path;
  std::error_code none;
  algorithms.found = !path.empty() && std::filesystem::exists(path, none);
  if (std::filesystem::is_directory(path, none)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--algorithms ", path, " is a folder; name a file in it"));
  }
  if (algorithms.found) {
    ZG_RETURN_IF_ERROR(algorithms.read());
  }
  return algorithms;
}

absl::Status Algorithms::read() {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(
        absl::StrCat(path, " cannot be read: ", std::strerror(errno)));
  }
  Lines lines(file, path);
  if (!lines.next() || lines.line != kTitle) {
    return lines.wrong(absl::StrCat("'", kTitle, "'"));
  }
  while (lines.next()) {
    absl::string_view line = lines.line;
    if (absl::ConsumePrefix(&line, kLibrary)) {
      LibraryAlgorithms &section = known.emplace_back();
      section.library = std::string(line);
      ZG_ASSIGN_OR_RETURN(section.gpu, lines.expect(kGpu));
      continue;
    }
    bool kind = absl::StartsWith(line, "product ") ||
                absl::StartsWith(line, "convolution ");
    if (known.empty() || !kind) {
      return lines.wrong(known.empty() ? "'library ...'"
                                       : "'product ...', 'convolution ...' "
                                         "or 'library ...'");
    }
    std::string key(line);
    ZG_ASSIGN_OR_RETURN(known.back().kinds[key], lines.expect(kAlgorithm));
  }
  return absl::OkStatus();
}

absl::Status Algorithms::check(const LibraryAlgorithms &here) const {
  for (const LibraryAlgorithms &section : known) {
    if (nameOf(section.library) == nameOf(here.library) &&
        (section.library != here.library || section.gpu != here.gpu)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--algorithms ", path, " was written for ", section.library, " on ",
          section.gpu, "; here is ", here.library, " on ", here.gpu,
          ". Take one that was written here, or name one that does not exist"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Algorithms::of(const LibraryAlgorithms &here,
                                           const std::string &kind) const {
  for (const LibraryAlgorithms &section : known) {
    auto found = section.kinds.find(kind);
    if (section.library == here.library && found != section.kinds.end()) {
      return found->second;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("--algorithms ", path,
                   " does not have it: it was written for another plan. Name a "
                   "new file, which is then written"));
}

absl::Status Algorithms::finish() const {
  if (path.empty()) {
    return absl::OkStatus();
  }
  if (added.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--algorithms ", path,
        ": the plan has no product by cuBLASLt and no convolution by cuDNN; "
        "leave the option out"));
  }
  if (found) {
    return absl::OkStatus();
  }
  // Processes of one run may write the same at once, also of several machines.
  std::string unfinished = absl::StrCat(path, ".XXXXXX");
  int made = mkstemp(unfinished.data());
  if (made < 0) {
    return absl::InternalError(
        absl::StrCat(path, " cannot be written: ", std::strerror(errno)));
  }
  fchmod(made, 0644);
  close(made);
  std::ofstream file(unfinished);
  file << kTitle << '\n';
  for (const LibraryAlgorithms &section : added) {
    file << kLibrary << section.library << '\n' << kGpu << section.gpu << '\n';
    for (const auto &[kind, algorithm] : section.kinds) {
      file << kind << '\n' << kAlgorithm << algorithm << '\n';
    }
  }
  file.close();
  if (!file || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    std::string why = std::strerror(errno);
    unlink(unfinished.c_str());
    return absl::InternalError(absl::StrCat(path, " cannot be written: ", why));
  }
  return absl::OkStatus();
}
