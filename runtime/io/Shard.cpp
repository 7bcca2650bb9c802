//===- Shard.cpp - one file of a run's samples ----------------------------===//

#include "runtime/io/Shard.h"

#include "runtime/base/EditDistance.h"
#include "runtime/base/Text.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

/// "[samples, 64]".
std::string expectedShape(const plan::Input &input) {
  std::vector<std::string> sizes;
  for (int i = 0; i < input.shape_size(); ++i) {
    sizes.push_back(input.per_sample() && i == 0
                        ? "samples"
                        : absl::StrCat(input.shape(i)));
  }
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

/// Returns the dims from `first` on, those of size 1 left out: they place no
/// element elsewhere.
template <typename Dims>
std::vector<uint64_t> longDims(const Dims &dims, size_t first) {
  std::vector<uint64_t> found;
  for (size_t i = first; i < size_t(dims.size()); ++i) {
    if (dims[int(i)] != 1) {
      found.push_back(dims[int(i)]);
    }
  }
  return found;
}

/// Returns whether an array has the input's elements in their order, for any
/// number of samples: labels of [samples, 1] are those of [samples].
bool sameShape(const plan::Input &input, const std::vector<uint64_t> &shape) {
  size_t first = input.per_sample() ? 1 : 0;
  return shape.size() >= first &&
         longDims(input.shape(), first) == longDims(shape, first);
}

/// "'label'" of an array that may be the input under another name: the one
/// whose name is nearly the input's, or the only one that fits. Empty: there is
/// none.
std::string likelyArray(const TensorFile &tensors, const plan::Input &input,
                        const std::vector<std::string> &extra) {
  std::vector<std::string> fitting;
  for (const std::string &name : extra) {
    const TensorExtent &array = tensors.at(name);
    if (array.type == input.type() && sameShape(input, array.shape)) {
      fitting.push_back(name);
    }
  }
  if (const std::string *near = nearest(input.name(), extra)) {
    return *near;
  }
  return fitting.size() == 1 ? fitting.front() : "";
}

/// Says what the file has instead of the inputs that are missing, and what to
/// do.
std::string arraysInstead(const std::string &path, const TensorFile &tensors,
                          const std::vector<const plan::Input *> &missing,
                          const std::vector<std::string> &extra) {
  if (extra.empty() && missing.empty()) {
    return "";
  }
  std::string text = extra.empty()
                         ? "; it has no other arrays"
                         : absl::StrCat("; it also has ", listOf(extra, 10));
  std::vector<std::string> pairs;
  for (const plan::Input *input : missing) {
    std::string name = likelyArray(tensors, *input, extra);
    if (!name.empty()) {
      pairs.push_back(absl::StrCat("'", name, "' '", input->name(), "'"));
    }
  }
  if (!pairs.empty()) {
    absl::StrAppend(&text, "; call ", listOf(pairs, 10), " there, if it is so");
  }
  if (!missing.empty() && fs::path(path).extension() == ".npy") {
    absl::StrAppend(&text,
                    "; put the .npy files of all inputs into one folder, "
                    "and give that");
  }
  return text;
}

/// Returns what to do where an array has one dim more than the integers that
/// are expected, as labels have that are one-hot; else nothing.
std::string adviseClasses(const plan::Input &input, const TensorExtent &array) {
  if (input.type() != plan::I64 && input.type() != plan::I32) {
    return "";
  }
  for (size_t axis = 1; axis < array.shape.size(); ++axis) {
    std::vector<uint64_t> classes(array.shape.begin(), array.shape.end());
    classes.erase(classes.begin() + int64_t(axis));
    if (array.shape[axis] > 1 && sameShape(input, classes)) {
      return absl::StrCat("; if these are one-hot labels, give the numbers of "
                          "their classes: numpy.argmax(labels, axis=",
                          axis, ")");
    }
  }
  return "";
}

/// `seen`: samples of the inputs before, if any had them; and of this one.
absl::Status checkInput(const TensorFile &tensors, const plan::Input &input,
                        uint64_t micro_batch, std::optional<uint64_t> &seen) {
  auto found = tensors.find(input.name());
  if (found == tensors.end()) {
    return absl::NotFoundError(absl::StrCat(
        "input '", input.name(), "' is missing, expected ",
        plan::ElementType_Name(input.type()), " ", expectedShape(input),
        input.shape_size() == 0 && !input.per_sample()
            ? ", one value for the whole run"
            : ""));
  }
  const TensorExtent &array = found->second;
  if (array.type != input.type() || !sameShape(input, array.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name(), "' is ", plan::ElementType_Name(array.type),
        " ", shapeText(array.shape), ", expected ",
        plan::ElementType_Name(input.type()), " ", expectedShape(input),
        sameShape(input, array.shape)
            ? "; no type is converted here: array.astype() or tensor.to() does"
            : adviseClasses(input, array)));
  }
  if (!input.per_sample()) {
    return absl::OkStatus();
  }
  // Usually one row a sample; flattened inputs have several.
  uint64_t rows = input.shape_size() ? input.shape(0) / micro_batch : 0;
  if (rows == 0 || input.shape(0) % micro_batch != 0 ||
      array.shape[0] % rows != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name(), "' has ", array.shape[0],
        " rows, expected a multiple of ", rows, ": the plan's micro-batch has ",
        micro_batch, " samples in ", input.shape_size() ? input.shape(0) : 0,
        " rows"));
  }
  uint64_t samples = array.shape[0] / rows;
  if (samples == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name(), "' has no samples"));
  }
  if (seen && samples != *seen) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name(), "' has ", samples,
                     " samples, the inputs before it have ", *seen));
  }
  seen = samples;
  return absl::OkStatus();
}

/// The files of a folder that hold samples; none of a folder of .npy files,
/// which is one file, or of what is no folder.
absl::StatusOr<std::vector<std::string>> filesIn(const std::string &path) {
  std::vector<std::string> files;
  std::set<std::string> kinds;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return files;
  }
  for (fs::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::string kind = it->path().extension();
    if (!holdsArrays(it->path().string())) {
      continue;
    }
    kinds.insert(kind);
    if (kind != ".npy") {
      files.push_back(it->path().string());
    }
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot list: ", error.message()));
  }
  if (kinds.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds ", absl::StrJoin(kinds, " and "),
                     " files; give a folder that holds one kind"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

absl::StatusOr<std::vector<std::string>>
zerograph::shardFiles(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    ZG_ASSIGN_OR_RETURN(std::vector<std::string> within, filesIn(path));
    if (within.empty()) {
      files.push_back(path);
    }
    files.insert(files.end(), within.begin(), within.end());
  }
  return files;
}

absl::StatusOr<TensorFile>
zerograph::firstArrays(const std::vector<std::string> &paths) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> files, shardFiles(paths));
  return readTensors(files.front());
}

absl::StatusOr<Shard> Shard::open(const std::string &path,
                                  const plan::Plan &plan) {
  ZG_ASSIGN_OR_RETURN(TensorFile tensors, readTensors(path));
  return of(path, tensors, plan);
}

absl::StatusOr<Shard> Shard::of(const std::string &path,
                                const TensorFile &tensors,
                                const plan::Plan &plan) {
  Shard shard;
  shard.path = path;
  std::vector<std::string> problems;
  std::vector<const plan::Input *> missing;
  std::optional<uint64_t> seen; // samples of the inputs so far
  std::set<std::string> names;
  for (const plan::Input &input : plan.inputs()) {
    names.insert(input.name());
    absl::Status status = checkInput(tensors, input, plan.micro_batch(), seen);
    if (status.ok()) {
      shard.arrays.push_back(tensors.at(input.name()));
      continue;
    }
    problems.push_back(std::string(status.message()));
    if (absl::IsNotFound(status)) {
      missing.push_back(&input);
    }
  }
  for (const auto &[name, extent] : tensors) {
    if (!names.count(name)) {
      shard.extra.push_back(name);
    }
  }
  if (!problems.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", absl::StrJoin(problems, "; "),
                     arraysInstead(path, tensors, missing, shard.extra)));
  }
  shard.samples = seen.value_or(0);
  return shard;
}
