//===- DataSource.cpp - the samples of a run ------------------------------===//

#include "runtime/io/DataSource.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <optional>

using namespace zerograph;

namespace {

/// How much is looked at in one piece, of what is not read into a slot.
constexpr uint64_t kBytesAtOnce = 4 << 20;

/// An element that is not legal.
struct Illegal {
  uint64_t at;
  int64_t value;
};

template <typename Integer>
std::optional<Illegal> firstIllegalOf(const void *data, uint64_t count,
                                      const plan::Input &input, int64_t min) {
  int64_t max = input.max();
  auto *values = static_cast<const Integer *>(data);
  for (uint64_t i = 0; i < count; ++i) {
    if ((values[i] < min || values[i] > max) &&
        std::find(input.ignored().begin(), input.ignored().end(),
                  int64_t(values[i])) == input.ignored().end()) {
      return Illegal{i, int64_t(values[i])};
    }
  }
  return std::nullopt;
}

/// The first one if the input's least value were `min`; of what is no integer,
/// none.
std::optional<Illegal> firstIllegal(const void *data, uint64_t count,
                                    const plan::Input &input, int64_t min) {
  switch (input.type()) {
  case plan::I64:
    return firstIllegalOf<int64_t>(data, count, input, min);
  case plan::I32:
    return firstIllegalOf<int32_t>(data, count, input, min);
  case plan::I16:
    return firstIllegalOf<int16_t>(data, count, input, min);
  case plan::I8:
    return firstIllegalOf<int8_t>(data, count, input, min);
  case plan::U8:
    return firstIllegalOf<uint8_t>(data, count, input, min);
  default:
    return std::nullopt;
  }
}

/// Returns whether two arrays of one type and shape have the same bytes.
absl::StatusOr<bool> sameBytes(const TensorExtent &a, const TensorExtent &b) {
  std::vector<std::byte> left, right;
  for (uint64_t at = 0; at < a.bytes; at += kBytesAtOnce) {
    uint64_t size = std::min(kBytesAtOnce, a.bytes - at);
    left.resize(size);
    right.resize(size);
    ZG_RETURN_IF_ERROR(a.file->read(a.offset + at, size, left.data()));
    ZG_RETURN_IF_ERROR(b.file->read(b.offset + at, size, right.data()));
    if (left != right) {
      return false;
    }
  }
  return true;
}

} // namespace

absl::Status DataSource::add(Shard shard) {
  for (size_t i = 0; i < inputs.size() && !shards.empty(); ++i) {
    if (inputs[i].per_sample()) {
      continue;
    }
    ZG_ASSIGN_OR_RETURN(bool same,
                        sameBytes(shards.front().arrays[i], shard.arrays[i]));
    if (!same) {
      return absl::InvalidArgumentError(absl::StrCat(
          shard.path, ": input '", inputs[i].name(), "' has other values than ",
          "in ", shards.front().path, "; one without samples must be the same ",
          "in every file"));
    }
  }
  total += shard.samples;
  ends.push_back(total);
  for (const std::string &name : shard.extra) {
    if (std::find(extra.begin(), extra.end(), name) == extra.end()) {
      extra.push_back(name);
    }
  }
  shards.push_back(std::move(shard));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DataSource>>
DataSource::open(const std::vector<std::string> &paths, const plan::Plan &plan,
                 Purpose purpose) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> files, shardFiles(paths));
  if (files.empty()) {
    return absl::InvalidArgumentError("no data is given");
  }
  std::string name =
      paths.size() == 1
          ? paths.front()
          : absl::StrCat(paths.front(), " and ", paths.size() - 1, " more");
  std::unique_ptr<DataSource> source(new DataSource(name, plan, purpose));
  for (const std::string &file : files) {
    ZG_ASSIGN_OR_RETURN(Shard shard, Shard::open(file, plan));
    ZG_RETURN_IF_ERROR(source->add(std::move(shard)));
  }
  ZG_RETURN_IF_ERROR(source->finish(plan, purpose));
  return source;
}

absl::StatusOr<std::unique_ptr<DataSource>>
DataSource::of(const std::string &name, const TensorFile &arrays,
               const plan::Plan &plan, Purpose purpose) {
  std::unique_ptr<DataSource> source(new DataSource(name, plan, purpose));
  ZG_ASSIGN_OR_RETURN(Shard shard, Shard::of(name, arrays, plan));
  ZG_RETURN_IF_ERROR(source->add(std::move(shard)));
  ZG_RETURN_IF_ERROR(source->finish(plan, purpose));
  return source;
}

DataSource::DataSource(std::string name, const plan::Plan &plan,
                       Purpose purpose)
    : name_(std::move(name)),
      inputs(plan.inputs().begin(), plan.inputs().end()),
      micro_batch(plan.micro_batch()),
      step(purpose == Purpose::Training ? zerograph::samplesOfStep(plan)
                                        : plan.micro_batch()) {}

absl::Status DataSource::finish(const plan::Plan &plan, Purpose purpose) {
  const Shard &first = shards.front();
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint64_t parts = inputs[i].per_sample() ? first.samples : 1;
    bytes.push_back(first.arrays[i].bytes / parts);
  }
  // Without inputs that have samples, any sample is as good as another.
  if (first.samples == 0) {
    total = step;
  }
  if (steps() > 0 || purpose != Purpose::Training) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      name_, ": holds ", total, " samples; a step takes ", step, " (",
      worldOf(plan), " ranks x ", std::max<uint64_t>(1, plan.accumulate()),
      " micro-batches x ", plan.micro_batch(), " samples)"));
}

const std::byte *DataSource::find(int input, uint64_t first) const {
  const Shard &shard = shards.front();
  const TensorExtent &array = shard.arrays[size_t(input)];
  bool per_sample = inputs[size_t(input)].per_sample();
  if (array.file->memory() == nullptr ||
      (per_sample && first + micro_batch > shard.samples)) {
    return nullptr;
  }
  return array.file->memory() + array.offset +
         (per_sample ? first * bytesOf(input) : 0);
}

std::string DataSource::countedFromEnd() const {
  std::lock_guard<std::mutex> lock(mutex);
  return from_end;
}

absl::Status DataSource::checkValues(const Shard &shard, int index,
                                     uint64_t first, uint64_t samples,
                                     const void *data) const {
  const plan::Input &input = inputs[size_t(index)];
  if (!input.has_min()) {
    return absl::OkStatus();
  }
  uint64_t count = samples * bytesOf(index) / elementSize(input.type());
  auto said = [&](const Illegal &found) {
    std::string where =
        input.per_sample()
            ? absl::StrCat(" in sample ", first + found.at / (count / samples))
            : "";
    return absl::StrCat(shard.path, ": input '", input.name(),
                        "' has the value ", found.value, where);
  };
  // Most data have no index below 0, and are looked at once.
  auto outside =
      firstIllegal(data, count, input, std::max<int64_t>(0, input.min()));
  if (!outside) {
    return absl::OkStatus();
  }
  if (auto found = firstIllegal(data, count, input, input.min())) {
    return absl::InvalidArgumentError(
        absl::StrCat(said(*found), ", expected ", input.min(), " to ",
                     input.max(), input.ignored().empty() ? "" : " or ",
                     absl::StrJoin(input.ignored(), " or ")));
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (from_end.empty()) {
    from_end = said(*outside);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DataSource::readRun(int input, uint64_t first,
                                             uint64_t count,
                                             std::byte *data) const {
  auto number =
      size_t(std::upper_bound(ends.begin(), ends.end(), first) - ends.begin());
  const Shard &shard = shards[number];
  uint64_t begin = first - (ends[number] - shard.samples);
  uint64_t here = std::min(count, ends[number] - first);
  const TensorExtent &array = shard.arrays[size_t(input)];
  uint64_t size = bytesOf(input);
  ZG_RETURN_IF_ERROR(
      array.file->read(array.offset + begin * size, here * size, data));
  ZG_RETURN_IF_ERROR(checkValues(shard, input, begin, here, data));
  return here;
}

absl::Status DataSource::readPlaces(int input, uint64_t begin, uint64_t end,
                                    Order order, std::byte *data) const {
  if (!inputs[size_t(input)].per_sample()) {
    const TensorExtent &array = shards.front().arrays[size_t(input)];
    ZG_RETURN_IF_ERROR(array.file->read(array.offset, array.bytes, data));
    return checkValues(shards.front(), input, 0, 1, data);
  }
  // LocalTopology in a file are read at once.
  uint64_t next = begin < end ? order(begin) : 0;
  while (begin < end) {
    uint64_t first = next, past = first + 1;
    while (++begin < end && (next = order(begin)) == past) {
      ++past;
    }
    while (first < past) {
      ZG_ASSIGN_OR_RETURN(uint64_t count,
                          readRun(input, first, past - first, data));
      first += count;
      data += count * bytesOf(input);
    }
  }
  return absl::OkStatus();
}

absl::Status DataSource::read(int input, Order order, void *data) const {
  return readPlaces(input, 0, micro_batch, order,
                    static_cast<std::byte *>(data));
}

absl::Status DataSource::read(int input, uint64_t first, void *data) const {
  return read(
      input, [first](uint64_t place) { return first + place; }, data);
}

absl::Status DataSource::check(uint64_t begin, uint64_t end,
                               Order order) const {
  std::vector<std::byte> buffer;
  for (int i = 0; i < int(inputs.size()); ++i) {
    if (!inputs[size_t(i)].has_min()) {
      continue;
    }
    uint64_t size = std::max<uint64_t>(1, bytesOf(i));
    // One without samples is read once.
    bool whole = !inputs[size_t(i)].per_sample();
    uint64_t most = std::max<uint64_t>(1, kBytesAtOnce / size);
    buffer.resize(whole ? size : size * std::min(most, end - begin));
    for (uint64_t first = begin; first < end;
         first = whole ? end : first + most) {
      ZG_RETURN_IF_ERROR(readPlaces(i, first, std::min(end, first + most),
                                    order, buffer.data()));
    }
  }
  return absl::OkStatus();
}
