//===- RunForward.cpp - what a model computes for some data ---------------===//

#include "runtime/exec/RunForward.h"

#include "runtime/base/Text.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Session.h"
#include "runtime/exec/Staging.h"
#include "runtime/io/Overwrite.h"

#include <algorithm>
#include <filesystem>

using namespace zerograph;

namespace {

/// The samples that each run of "forward" takes.
class Runs {
public:
  Runs(const plan::Plan &plan, const DataSource &data)
      : micro(plan.micro_batch()), whole(data.steps()), rest(data.rest()) {
    bool rows = std::all_of(
        plan.outputs().begin(), plan.outputs().end(),
        [](const plan::Output &output) { return output.per_sample(); });
    left_out = rows ? 0 : rest;
    rest -= left_out;
  }

  uint64_t count() const { return whole + (rest != 0); }
  uint64_t samples() const { return whole * micro + rest; }
  /// Returns the samples that no run takes.
  uint64_t leftOut() const { return left_out; }
  uint64_t first(uint64_t run) const {
    return run < whole ? run * micro : samples() - micro;
  }
  /// Returns the samples of the run whose outputs were already there.
  uint64_t known(uint64_t run) const { return run * micro - first(run); }

private:
  uint64_t micro, whole, rest, left_out = 0;
};

std::vector<SafetensorsWriter::Entry> entriesOf(const plan::Plan &plan,
                                                const Runs &runs) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const plan::Output &output : plan.outputs()) {
    SafetensorsWriter::Entry &entry = entries.emplace_back();
    entry.name = output.name();
    entry.type = output.type();
    entry.shape.assign(output.shape().begin(), output.shape().end());
    if (output.per_sample()) {
      entry.shape[0] = runs.samples();
    } else if (runs.count() > 1) {
      entry.shape.insert(entry.shape.begin(), runs.count());
    }
  }
  return entries;
}

absl::Status writeOutputs(const plan::Plan &plan, const Runs &runs,
                          uint64_t run, const RankMemory &memory,
                          SafetensorsWriter &writer) {
  for (const plan::Output &output : plan.outputs()) {
    DeviceRange values = memory.slice(plan, output.slice());
    uint64_t bytes = values.bytes;
    uint64_t offset = run * bytes, skipped = 0;
    if (output.per_sample()) {
      uint64_t row = bytes / output.shape(0);
      skipped = runs.known(run) * row;
      offset = runs.first(run) * row + skipped;
    }
    ZG_RETURN_IF_ERROR(readBlocks(
        values.part(skipped, bytes - skipped),
        [&](uint64_t begin, const std::byte *block, uint64_t size) {
          return writer.write(output.name(), offset + begin, size, block);
        }));
  }
  return absl::OkStatus();
}

absl::Status checkFiles(const plan::Plan &plan, const ForwardOptions &options) {
  std::string folder =
      std::filesystem::path(options.plan_path).parent_path().string();
  std::vector<NamedFile> inputs = arrayFiles("--data", options.data);
  inputs.push_back({"the model", options.model_path});
  inputs.push_back({"--load-weights", options.load_weights});
  inputs.push_back({"--names", options.names});
  for (NamedFile &source : sourceFiles(plan, folder)) {
    inputs.push_back(std::move(source));
  }
  return checkOverwrites(inputs, {{"--output", options.output}});
}

void sayWhatIsLeft(const DataSource &data, const Runs &runs,
                   const ParameterSources &sources, uint64_t micro_batch,
                   const ForwardOptions &options) {
  auto say = [&](const std::string &note) {
    if (options.say) {
      options.say(note);
    }
  };
  for (const std::string &note : sources.notes()) {
    say(note);
  }
  if (runs.leftOut() != 0) {
    say(absl::StrCat(data.name(), ": the last ", runs.leftOut(),
                     " samples are not used: a micro-batch has ", micro_batch));
  }
  if (!data.superfluous().empty()) {
    say(absl::StrCat(data.name(), ": no input of the model: ",
                     listOf(data.superfluous(), 10)));
  }
}

} // namespace

absl::StatusOr<ForwardResult>
zerograph::runForward(const LoadedPlan &loaded, const ForwardOptions &options) {
  const plan::Plan &plan = loaded.plan;
  ZG_ASSIGN_OR_RETURN(Machine machine, Machine::open(plan));
  if (!isForward(plan)) {
    return absl::InvalidArgumentError("the plan trains a model: use 'train'");
  }
  ZG_RETURN_IF_ERROR(checkFiles(plan, options));
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<DataSource> data,
                      DataSource::open(options.data, plan));
  ZG_ASSIGN_OR_RETURN(
      std::unique_ptr<ParameterSources> sources,
      ParameterSources::open(
          plan,
          {options.load_weights, options.names, options.init_missing,
           options.seed,
           std::filesystem::path(options.plan_path).parent_path().string(),
           options.model_path}));
  Runs runs(plan, *data);
  sayWhatIsLeft(*data, runs, *sources, plan.micro_batch(), options);
  ZG_RETURN_IF_ERROR(machine.checkRoom(plan));
  ZG_ASSIGN_OR_RETURN(
      std::unique_ptr<SafetensorsWriter> writer,
      SafetensorsWriter::create(options.output, entriesOf(plan, runs)));

  auto communicators = makeLocalGroup({});
  ZG_ASSIGN_OR_RETURN(
      auto device,
      machine.driver->createDevice({.threads = threadsOf(options.threads, 1)}));
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                      Executor::create(plan, *communicators[0],
                                       std::move(device), *machine.module));
  ZG_RETURN_IF_ERROR(sources->initialize(executor->memory()));
  ZG_ASSIGN_OR_RETURN(Staging staging,
                      Staging::create(plan, 0, executor->memory()));
  auto read = [&](uint64_t run) {
    return staging.read([&](int input, std::byte *room,
                            uint64_t) -> absl::StatusOr<const std::byte *> {
      ZG_RETURN_IF_ERROR(data->read(input, runs.first(run), room));
      return room;
    });
  };
  ZG_RETURN_IF_ERROR(read(0));
  for (uint64_t run = 0; run < runs.count(); ++run) {
    ScalarInputs scalars;
    scalars.seed = options.seed;
    scalars.sample_base = runs.first(run);
    ZG_ASSIGN_OR_RETURN(unsigned slot, staging.write(scalars));
    absl::Status next;
    ZG_RETURN_IF_ERROR(executor->run(0, slot, [&] {
      next = run + 1 < runs.count() ? read(run + 1) : absl::OkStatus();
    }));
    ZG_RETURN_IF_ERROR(next);
    ZG_RETURN_IF_ERROR(
        writeOutputs(plan, runs, run, executor->memory(), *writer));
  }
  ZG_RETURN_IF_ERROR(writer->commit());
  return ForwardResult{runs.count(), runs.samples()};
}
