//===- TrainAsRank.cpp - one rank of a training run a process -------------===//

#include "runtime/comm/nccl/NcclCollectives.h"
#include "runtime/exec/Gpus.h"
#include "runtime/exec/RankRun.h"
#include "runtime/exec/ResumeRun.h"
#include "runtime/exec/Train.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace zerograph;

namespace {

/// Returns what a rank tells rank 0 at the end of a run, as numbers.
std::string pack(const RankRun &run, const Session &session) {
  const RankResult &result = run.result();
  std::vector<int64_t> words = {
      session.signal ? session.signal->number() : 0,
      int64_t(peakResidentBytes()),
      run.ready(),
      int64_t(result.arena_bytes),
      int64_t(result.checkpoint_bytes),
      int64_t(result.checkpoint_copied),
  };
  for (const TrafficCount &count :
       {result.first_step, result.total, result.evaluation}) {
    words.insert(words.end(), {int64_t(count.gather), int64_t(count.reduce),
                               int64_t(count.scalar)});
  }
  words.insert(words.end(), {int64_t(result.first_crossing.down),
                             int64_t(result.first_crossing.up),
                             int64_t(result.first_crossing.read),
                             int64_t(result.first_crossing.written)});
  words.push_back(int64_t(result.touched.size()));
  words.insert(words.end(), result.touched.begin(), result.touched.end());
  for (const std::vector<StepTime> &program : run.times()) {
    words.push_back(int64_t(program.size()));
    for (const StepTime &time : program) {
      words.insert(words.end(),
                   {time.begin, time.end, time.work.begin, time.work.end});
    }
  }
  return std::string(reinterpret_cast<const char *>(words.data()),
                     words.size() * sizeof(int64_t));
}

struct Told {
  int64_t signal = 0, resident = 0, ready = 0;
  RankResult result;
  StepTimes times;
};

Told unpack(const std::string &text) {
  std::vector<int64_t> words(text.size() / sizeof(int64_t));
  std::memcpy(words.data(), text.data(), words.size() * sizeof(int64_t));
  size_t at = 0;
  auto next = [&] { return at < words.size() ? words[at++] : 0; };
  Told told;
  told.signal = next();
  told.resident = next();
  told.ready = next();
  told.result.arena_bytes = uint64_t(next());
  told.result.checkpoint_bytes = uint64_t(next());
  told.result.checkpoint_copied = uint64_t(next());
  for (TrafficCount *count :
       {&told.result.first_step, &told.result.total, &told.result.evaluation}) {
    count->gather = uint64_t(next());
    count->reduce = uint64_t(next());
    count->scalar = uint64_t(next());
  }
  told.result.first_crossing.down = uint64_t(next());
  told.result.first_crossing.up = uint64_t(next());
  told.result.first_crossing.read = uint64_t(next());
  told.result.first_crossing.written = uint64_t(next());
  for (int64_t arenas = next(); arenas > 0; --arenas) {
    told.result.touched.push_back(uint64_t(next()));
  }
  while (at < words.size()) {
    std::vector<StepTime> &program = told.times.emplace_back();
    for (int64_t steps = next(); steps > 0; --steps) {
      StepTime &time = program.emplace_back();
      for (int64_t *word :
           {&time.begin, &time.end, &time.work.begin, &time.work.end}) {
        *word = next();
      }
    }
  }
  return told;
}

/// The most, in nanoseconds, by which clocks are taken for those of one
/// machine. They differ by no more than ranks become ready apart; another
/// machine's are moved so that the ranks become ready together.
constexpr int64_t kSameClock = 1'000'000'000;

void move(StepTime &time, int64_t shift) {
  time.begin += shift;
  time.end += shift;
  bool known = time.work.begin != 0;
  time.work.begin += known ? shift : 0;
  time.work.end += known ? shift : 0;
}

/// Puts together what the ranks told, on rank 0.
TrainResult resultOf(Session &session, const std::vector<std::string> &texts) {
  TrainResult result = std::move(session.result);
  std::vector<StepTimes> times;
  int64_t ready = 0;
  for (const std::string &text : texts) {
    Told told = unpack(text);
    ready = times.empty() ? told.ready : ready;
    int64_t shift = ready - told.ready;
    for (std::vector<StepTime> &program : told.times) {
      for (StepTime &time : program) {
        move(time, std::abs(shift) > kSameClock ? shift : 0);
      }
    }
    if (result.stopped && result.stop_signal == 0) {
      result.stop_signal = int(told.signal);
    }
    result.peak_rss_bytes =
        std::max(result.peak_rss_bytes, uint64_t(told.resident));
    result.ranks.push_back(told.result);
    times.push_back(std::move(told.times));
  }
  if (!result.losses.empty()) {
    session.writeTrace(times);
  }
  return result;
}

/// Joins the folder that rank 0 has opened, if checkpoints are to be written.
absl::Status joinCheckpoints(Session &session, ControlPlane &control) {
  if (session.options.checkpoint.empty()) {
    return absl::OkStatus();
  }
  constexpr char kWhat[] = "opening the folder of checkpoints";
  ZG_ASSIGN_OR_RETURN(
      std::string token,
      control.broadcast(kWhat,
                        session.first() ? session.checkpoints->token() : ""));
  absl::Status status;
  if (!session.first()) {
    auto joined = CheckpointFolder::join(session.options.checkpoint, token);
    status = joined.status();
    if (joined.ok()) {
      session.checkpoints = std::move(*joined);
    }
  }
  return agree(control, kWhat, status);
}

} // namespace

absl::StatusOr<TrainResult> zerograph::trainAsRank(const LoadedPlan &loaded,
                                                   const TrainOptions &options,
                                                   Collectives &collectives,
                                                   ControlPlane &control) {
  ZG_ASSIGN_OR_RETURN(unsigned gpu, gpuOfProcess(loaded.plan, control));
  control.setBusy(true); // with weights and labels to look at
  absl::StatusOr<std::unique_ptr<Session>> opened =
      openSession(loaded, options, control.rank(), control.world(), gpu);
  control.setBusy(false);
  absl::Status status = opened.status();
  std::unique_ptr<Collectives> between_gpus;
  if (status.ok() && isForGpus(loaded.plan) && control.world() > 1) {
    auto made = makeNcclCollectives(*(*opened)->machine.module, control,
                                    ncclOptions(**opened));
    status = made.status();
    if (made.ok()) {
      between_gpus = std::move(*made);
    }
  }
  ZG_RETURN_IF_ERROR(agree(control, "opening plan and data", status));
  Session &session = **opened;
  // The data may be another file of the same name on another host.
  ZG_RETURN_IF_ERROR(compareSettings(
      control,
      {{"number of samples in --data", absl::StrCat(session.data->samples())},
       {"number of samples in --eval-data",
        absl::StrCat(session.evaluation ? session.evaluation->data().samples()
                                        : 0)},
       {"--resume (the checkpoint that it found)",
        session.resumed ? session.resumed->path() : "none"}}));
  ZG_RETURN_IF_ERROR(joinCheckpoints(session, control));
  Collectives &used = between_gpus ? *between_gpus : collectives;
  if (absl::Status open = openCollectives(session.machine, used); !open.ok()) {
    used.abort(open);
    return open;
  }
  ZG_ASSIGN_OR_RETURN(Neighbours neighbours,
                      session.machine.neighbours(control));
  ZG_RETURN_IF_ERROR(agree(
      control, "looking for memory",
      session.machine.checkRoom(loaded.plan, neighbours,
                                checkpointCopy(session, control.rank()))));
  ZG_RETURN_IF_ERROR(sayWhere(session, neighbours));
  RankRun run(session, session.machine, used, control);
  ZG_RETURN_IF_ERROR(run.run());
  if (session.signal) {
    // One that dies now keeps the others waiting for it at the end.
    session.signal->keep();
  }
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      control.collect("collecting results", pack(run, session)));
  if (control.rank() != 0) {
    return TrainResult();
  }
  TrainResult result = resultOf(session, texts);
  auto memory = gpuMemory(session.machine, loaded.plan, 1);
  if (!memory.ok()) {
    control.abort(memory.status());
    return memory.status();
  }
  result.gpu = *memory;
  return result;
}
