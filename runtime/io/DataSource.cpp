//===- DataSource.cpp - the samples of a run ------------------------------===//

#include "runtime/io/DataSource.h"

#include "runtime/plan/Describe.h"

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
  source->step = worldOf(plan) * plan.micro_batch() *
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
                     source->step, " (", worldOf(plan), " ranks x ",
                     std::max<uint64_t>(1, plan.accumulate()),
                     " micro-batches x ", plan.micro_batch(), " samples)"));
  }
  return source;
}

uint64_t DataSource::bytesOf(int input, uint64_t samples) const {
  uint64_t bytes = arrays[size_t(input)].bytes;
  return inputs[size_t(input)].per_sample() ? bytes / total * samples : bytes;
}

absl::Status DataSource::checkValues(int index, uint64_t first,
                                     uint64_t samples, const void *data) const {
  const plan::Input &input = inputs[size_t(index)];
  if (!input.has_min()) {
    return absl::OkStatus();
  }
  uint64_t count = bytesOf(index, samples) / elementSize(input.type());
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
          ? absl::StrCat(" in sample ", first + at / (count / samples))
          : "";
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": input '", input.name(), "' has the value ", value,
                   where, ", expected ", input.min(), " to ", input.max(),
                   input.ignored().empty() ? "" : " or ",
                   absl::StrJoin(input.ignored(), " or ")));
}

absl::Status DataSource::readSamples(int index, uint64_t first, uint64_t count,
                                     void *data) const {
  const TensorExtent &array = arrays[size_t(index)];
  uint64_t skipped =
      inputs[size_t(index)].per_sample() ? bytesOf(index, first) : 0;
  ZG_RETURN_IF_ERROR(
      array.file->read(array.offset + skipped, bytesOf(index, count), data));
  return checkValues(index, first, count, data);
}

absl::Status DataSource::read(int index, uint64_t first, void *data) const {
  return readSamples(index, first, micro_batch, data);
}

absl::Status DataSource::check(uint64_t begin, uint64_t end) const {
  constexpr uint64_t kBytesAtOnce = 4 << 20;
  std::vector<std::byte> buffer;
  for (int i = 0; i < int(inputs.size()); ++i) {
    if (!inputs[size_t(i)].has_min()) {
      continue;
    }
    uint64_t sample = std::max<uint64_t>(1, bytesOf(i, 1));
    uint64_t most = inputs[size_t(i)].per_sample()
                        ? std::max<uint64_t>(1, kBytesAtOnce / sample)
                        : end - begin;
    for (uint64_t first = begin; first < end; first += most) {
      uint64_t count = std::min(most, end - first);
      buffer.resize(bytesOf(i, count));
      ZG_RETURN_IF_ERROR(readSamples(i, first, count, buffer.data()));
    }
  }
  return absl::OkStatus();
}
