//===- InputFile.cpp - the file that a command is about -------------------===//

#include "tools/cli/InputFile.h"

#include "runtime/base/Text.h"
#include "runtime/io/TensorFile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace zerograph {
namespace {

namespace fs = std::filesystem;

/// Returns "; it holds a.onnx, b.onnx", or that the folder has none.
std::string modelsIn(const std::string &folder) {
  std::vector<std::string> models;
  std::error_code error; // of a folder that may not be listed: none
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".onnx") {
      models.push_back(it->path().filename().string());
    }
  }
  std::sort(models.begin(), models.end());
  return models.empty() ? "" : "; it holds " + listOf(models, 10);
}

/// Returns the beginning of a file; empty where it is none that can be read.
std::string beginOf(const std::string &path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) {
    return ""; // a pipe would be waited for
  }
  std::string begin(512, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), std::streamsize(begin.size()));
  begin.resize(size_t(std::max<std::streamsize>(0, file.gcount())));
  return begin;
}

/// Says what to do about a file that begins so; nothing if it is what is
/// wanted, or cannot be told.
std::optional<std::string> remedyFor(const std::string &path,
                                     const KnownFormat &known, Input wanted) {
  if (known.what == kPlanFormat) {
    return wanted != Input::Model
               ? std::nullopt
               : std::optional("give the MODEL.onnx that it was made of, or "
                               "train with it: `zerograph train " +
                               path + "`");
  }
  if (known.what == kModelFormat) {
    return wanted == Input::Model  ? std::nullopt
           : wanted == Input::Plan ? std::optional<std::string>(
                                         "`zerograph compile` makes one of it")
                                   : "give it a name that ends in .onnx";
  }
  return known.weights
             ? "weights have no graph: export the model to ONNX, as "
               "docs/exporting.md says, and give them by --load-weights"
             : "docs/exporting.md says how a model becomes ONNX";
}

} // namespace

absl::Status checkNotRead(const std::string &option, const std::string &written,
                          const std::vector<std::string> &read) {
  std::error_code ignored;
  for (const std::string &path : read) {
    if (fs::equivalent(path, written, ignored)) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, " would write over ", path, ", which is read; name another"));
    }
  }
  return absl::OkStatus();
}

bool isPlan(const std::string &path) {
  std::optional<KnownFormat> known = knownFormat(beginOf(path));
  return known && known->what == kPlanFormat;
}

absl::Status checkInputFile(const std::string &path, Input wanted) {
  const char *expected = wanted == Input::Model  ? "an ONNX model"
                         : wanted == Input::Plan ? "a plan"
                                                 : "MODEL.onnx or a plan";
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a folder, expected ", expected,
                     wanted == Input::Plan ? "" : modelsIn(path)));
  }
  std::optional<KnownFormat> known = knownFormat(beginOf(path));
  std::optional<std::string> remedy =
      known ? remedyFor(path, *known, wanted) : std::nullopt;
  return !remedy ? absl::OkStatus()
                 : absl::InvalidArgumentError(
                       absl::StrCat(path, " is ", known->what, ", expected ",
                                    expected, ": ", *remedy));
}

} // namespace zerograph
