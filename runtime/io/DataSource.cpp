//===- DataSource.cpp - the samples of a run ------------------------------===//

#include "runtime/io/DataSource.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <set>

using namespace zerograph;

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

bool sameShape(const plan::Input &input, const std::vector<uint64_t> &shape) {
  if (size_t(input.shape_size()) != shape.size()) {
    return false;
  }
  for (size_t i = input.per_sample() ? 1 : 0; i < shape.size(); ++i) {
    if (shape[i] != input.shape(int(i))) {
      return false;
    }
  }
  return true;
}

/// The first element that is not legal, or `count`.
template <typename Integer>
uint64_t firstIllegal(const void *data, uint64_t count,
                      const plan::Input &input, int64_t &value) {
  int64_t min = input.min(), max = input.max();
  auto *values = static_cast<const Integer *>(data);
  for (uint64_t i = 0; i < count; ++i) {
    if ((values[i] < min || values[i] > max) &&
        std::find(input.ignored().begin(), input.ignored().end(),
                  int64_t(values[i])) == input.ignored().end()) {
      value = values[i];
      return i;
    }
  }
  return count;
}

} // namespace

absl::Status DataSource::checkInput(const TensorFile &tensors,
                                    const plan::Input &input,
                                    std::optional<uint64_t> &seen) {
  auto found = tensors.find(input.name());
  if (found == tensors.end()) {
    return absl::NotFoundError(absl::StrCat(
        "input '", input.name(), "' is missing, expected ",
        plan::ElementType_Name(input.type()), " ", expectedShape(input)));
  }
  const TensorExtent &array = found->second;
  if (array.type != input.type() || !sameShape(input, array.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", input.name(), "' is ", plan::ElementType_Name(array.type),
        " ", shapeText(array.shape), ", expected ",
        plan::ElementType_Name(input.type()), " ", expectedShape(input)));
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

absl::StatusOr<std::unique_ptr<DataSource>>
DataSource::open(const std::string &path, const plan::Plan &plan) {
  ZG_ASSIGN_OR_RETURN(TensorFile tensors, readTensors(path));
  std::unique_ptr<DataSource> source(new DataSource);
  source->path = path;
  source->micro_batch = plan.micro_batch();
  source->step = plan.world() * plan.micro_batch() *
                 std::max<uint64_t>(1, plan.accumulate());
  std::vector<std::string> problems;
  std::optional<uint64_t> seen; // samples of the inputs so far
  std::set<std::string> names;
  for (const plan::Input &input : plan.inputs()) {
    names.insert(input.name());
    absl::Status status = source->checkInput(tensors, input, seen);
    if (!status.ok()) {
      problems.push_back(std::string(status.message()));
      continue;
    }
    source->inputs.push_back(input);
    source->arrays.push_back(tensors.at(input.name()));
  }
  for (const auto &[name, extent] : tensors) {
    if (!names.count(name)) {
      source->extra.push_back(name);
    }
  }
  if (!problems.empty()) {
    if (!source->extra.empty()) {
      problems.push_back(absl::StrCat("the file also holds ",
                                      absl::StrJoin(source->extra, ", ")));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", absl::StrJoin(problems, "; ")));
  }
  // Without inputs that have samples, any sample is as good as another.
  source->total = seen.value_or(source->step);
  source->usable = source->total / source->step * source->step;
  if (source->usable == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds ", source->total, " samples; a step takes ",
                     source->step, " (", plan.world(), " ranks x ",
                     std::max<uint64_t>(1, plan.accumulate()),
                     " micro-batches x ", plan.micro_batch(), " samples)"));
  }
  return source;
}

absl::Status DataSource::checkValues(const plan::Input &input, uint64_t first,
                                     const void *data) const {
  if (!input.has_min()) {
    return absl::OkStatus();
  }
  uint64_t count = 1;
  for (uint64_t size : input.shape()) {
    count *= size;
  }
  int64_t value = 0;
  uint64_t at = count;
  auto search = [&](auto zero) {
    at = firstIllegal<decltype(zero)>(data, count, input, value);
  };
  switch (input.type()) {
  case plan::I64:
    search(int64_t());
    break;
  case plan::I32:
    search(int32_t());
    break;
  case plan::I16:
    search(int16_t());
    break;
  case plan::I8:
    search(int8_t());
    break;
  case plan::U8:
    search(uint8_t());
    break;
  default:
    return absl::OkStatus();
  }
  if (at == count) {
    return absl::OkStatus();
  }
  std::string where =
      input.per_sample()
          ? absl::StrCat(" in sample ", first + at / (count / micro_batch))
          : "";
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": input '", input.name(), "' has the value ", value,
                   where, ", expected ", input.min(), " to ", input.max(),
                   input.ignored().empty() ? "" : " or ",
                   absl::StrJoin(input.ignored(), " or ")));
}

absl::Status DataSource::read(int index, uint64_t first, void *data) const {
  const plan::Input &input = inputs[size_t(index)];
  const TensorExtent &array = arrays[size_t(index)];
  uint64_t offset = array.offset;
  uint64_t bytes = array.bytes;
  if (input.per_sample()) {
    uint64_t sample = array.bytes / total;
    offset += first * sample;
    bytes = micro_batch * sample;
  }
  ZG_RETURN_IF_ERROR(array.file->read(offset, bytes, data));
  return checkValues(input, first, data);
}
