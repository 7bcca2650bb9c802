//===- SplitProgram.cpp - a program's steps by the devices that run them --===//

#include "runtime/exec/SplitProgram.h"

#include <algorithm>
#include <map>

using namespace zerograph;

namespace {

class Splitter {
public:
  Splitter(const plan::Program &program,
           const std::vector<StreamBinding> &streams,
           const std::vector<unsigned> &device_of)
      : program(program), streams(streams), device_of(device_of),
        finished(streams.size()) {}

  std::vector<ProgramPart> split() {
    for (int i = 0; i < program.steps_size(); ++i) {
      add(program.steps(i), uint32_t(i));
    }
    std::vector<ProgramPart> result;
    for (auto &[device, part] : parts) {
      result.push_back(std::move(part));
    }
    return result;
  }

private:
  /// The place where a step went.
  struct Place {
    unsigned device;
    uint32_t index; // in its part
    Timepoint done;
  };

  ProgramPart &partOf(unsigned device) {
    ProgramPart &part = parts[device];
    if (part.binding.streams.empty()) {
      part.device = device;
      part.binding.name = program.name();
      part.binding.streams = streams;
    }
    return part;
  }

  void add(const plan::Step &step, uint32_t number) {
    unsigned stream = step.stream();
    ProgramPart &part = partOf(device_of[stream]);
    StepBinding bound;
    bound.step = &step;
    bound.number = number;
    bound.stream = stream;
    for (uint32_t earlier : step.waits()) {
      if (places[earlier].device == part.device) {
        bound.waits.push_back(places[earlier].index);
      } else {
        await(bound, places[earlier]);
      }
    }
    places.push_back({part.device,
                      uint32_t(part.binding.steps.size()),
                      {stream, ++finished[stream]}});
    part.binding.steps.push_back(std::move(bound));
  }

  /// Awaits a step of another device: at most one count a stream, whose steps
  /// are in order.
  void await(StepBinding &step, const Place &earlier) {
    parts.at(earlier.device).binding.steps[earlier.index].publishes =
        earlier.done;
    auto same = std::find_if(
        step.awaits.begin(), step.awaits.end(),
        [&](Timepoint other) { return other.counter == earlier.done.counter; });
    if (same == step.awaits.end()) {
      step.awaits.push_back(earlier.done);
    } else {
      same->value = std::max(same->value, earlier.done.value);
    }
  }

  const plan::Program &program;
  const std::vector<StreamBinding> &streams;
  const std::vector<unsigned> &device_of;
  std::vector<uint32_t> finished; // by stream
  std::vector<Place> places;      // by step
  std::map<unsigned, ProgramPart> parts;
};

} // namespace

std::vector<ProgramPart>
zerograph::splitProgram(const plan::Program &program,
                        const std::vector<StreamBinding> &streams,
                        const std::vector<unsigned> &device_of) {
  return Splitter(program, streams, device_of).split();
}

bool zerograph::needCounters(const std::vector<ProgramPart> &parts) {
  return std::any_of(parts.begin(), parts.end(), [](const ProgramPart &part) {
    return std::any_of(
        part.binding.steps.begin(), part.binding.steps.end(),
        [](const StepBinding &step) { return !step.awaits.empty(); });
  });
}
