//===- TrainLog.cpp - what a run tells while it runs ----------------------===//

#include "runtime/exec/TrainLog.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace zerograph;

namespace {

std::string number(double value) {
  if (!std::isfinite(value)) {
    return "null";
  }
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

/// "2 h 05 m", "3 m 20 s", "12 s".
std::string duration(double seconds) {
  auto whole = int64_t(std::ceil(seconds));
  char text[48];
  if (whole >= 3600) {
    std::snprintf(text, sizeof(text), "%ld h %02ld m", long(whole / 3600),
                  long(whole / 60 % 60));
  } else if (whole >= 60) {
    std::snprintf(text, sizeof(text), "%ld m %02ld s", long(whole / 60),
                  long(whole % 60));
  } else {
    std::snprintf(text, sizeof(text), "%ld s", long(whole));
  }
  return text;
}

} // namespace

std::string zerograph::toJson(const StepRecord &record) {
  std::string scaling;
  if (record.loss_scale) {
    scaling = absl::StrCat(", \"loss_scale\": ", number(*record.loss_scale));
  }
  std::string eval =
      record.eval ? absl::StrCat(", \"eval_loss\": ", number(record.eval->loss),
                                 ", \"eval_samples\": ", record.eval->samples,
                                 ", \"eval_ms\": ", number(record.eval->ms))
                  : "";
  return absl::StrCat(
      "{\"step\": ", record.step, ", \"loss\": ", number(record.loss),
      ", \"grad_norm\": ", number(record.gradient_norm.value_or(NAN)),
      ", \"lr\": ", number(record.learning_rate),
      ", \"step_ms\": ", number(record.step_ms),
      ", \"samples_per_s\": ", number(record.samples_per_s), scaling, eval,
      record.skipped ? ", \"skipped\": true" : "", "}");
}

std::vector<NamedNumber> zerograph::numbersOf(const StepRecord &record) {
  std::vector<NamedNumber> numbers = {{"loss", record.loss},
                                      {"lr", record.learning_rate},
                                      {"samples_per_s", record.samples_per_s}};
  if (record.gradient_norm) {
    numbers.push_back({"grad_norm", *record.gradient_norm});
  }
  if (record.loss_scale) {
    numbers.push_back({"loss_scale", *record.loss_scale});
  }
  if (record.eval) {
    numbers.push_back({"eval_loss", record.eval->loss});
  }
  return numbers;
}

absl::StatusOr<std::unique_ptr<TrainLog>>
TrainLog::open(const std::string &path, uint64_t steps, bool progress,
               uint64_t first_step) {
  std::unique_ptr<TrainLog> log(new TrainLog);
  log->path = path;
  log->steps = steps;
  log->first_step = first_step;
  log->progress = progress && isatty(STDERR_FILENO);
  log->begin = std::chrono::steady_clock::now();
  if (!path.empty()) {
    log->created = access(path.c_str(), F_OK) != 0;
    log->file = std::fopen(path.c_str(), "ae");
    if (!log->file) {
      return absl::UnavailableError(
          absl::StrCat(path, ": cannot create: ", std::strerror(errno)));
    }
    ZG_RETURN_IF_ERROR(log->findKept());
  }
  return log;
}

/// What a run that was killed wrote last may be half a line.
absl::Status TrainLog::findKept() {
  struct stat found = {};
  if (first_step == 0 || fstat(fileno(file), &found) != 0 ||
      !S_ISREG(found.st_mode)) {
    return absl::OkStatus();
  }
  std::ifstream stream(path, std::ios::binary);
  std::string line;
  for (uint64_t number = 1; std::getline(stream, line) && !stream.eof();
       ++number) {
    nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("step") ||
        !entry["step"].is_number_unsigned()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": line ", number,
                       " is not of a log, to which the run would add its "
                       "steps: give another --log"));
    }
    if (entry["step"].get<uint64_t>() >= first_step) {
      break;
    }
    kept += off_t(line.size() + 1);
  }
  return absl::OkStatus();
}

void TrainLog::endLine() {
  if (drawn) {
    std::fputc('\n', stderr);
    drawn = false;
  }
}

TrainLog::~TrainLog() {
  endLine();
  if (file) {
    std::fclose(file);
    if (created && !started) {
      unlink(path.c_str());
    }
  }
}

absl::Status TrainLog::start() {
  if (!file || started) {
    return absl::OkStatus();
  }
  started = true;
  struct stat found = {};
  // Of a device or a pipe there is nothing to empty.
  bool regular = fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode);
  if (regular && ftruncate(fileno(file), kept) != 0) {
    return absl::UnavailableError(absl::StrCat(
        path,
        ": cannot empty what an earlier run wrote: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status TrainLog::add(const StepRecord &record) {
  if (record.eval) {
    eval_loss = record.eval->loss;
  }
  if (progress) {
    draw(record);
  }
  if (!file) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(start());
  std::string line = toJson(record) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file) != line.size() ||
      std::fflush(file) != 0) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

void TrainLog::draw(const StepRecord &record) {
  auto now = std::chrono::steady_clock::now();
  bool last = record.step + 1 == steps;
  if (drawn && !last && now - last_drawn < std::chrono::milliseconds(100)) {
    return;
  }
  last_drawn = now;
  drawn = true;
  double elapsed = std::chrono::duration<double>(now - begin).count();
  double each = elapsed / double(record.step + 1 - first_step);
  std::string eval;
  if (eval_loss) {
    char text[48];
    std::snprintf(text, sizeof(text), "eval_loss %.5g  ", *eval_loss);
    eval = text;
  }
  std::fprintf(stderr,
               "\rstep %llu/%llu  loss %.5g  %s%.4g samples/s  %s left \x1b[K",
               static_cast<unsigned long long>(record.step + 1),
               static_cast<unsigned long long>(steps), record.loss,
               eval.c_str(), record.samples_per_s,
               duration(each * double(steps - record.step - 1)).c_str());
  std::fflush(stderr);
}
