//===- TrainLog.cpp - what a run tells while it runs ----------------------===//

#include "runtime/exec/TrainLog.h"

#include "runtime/base/OutputPath.h"

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

/// Returns `, "KEY": {"NAME": NUMBER, ...}`, or nothing where there are none.
std::string textOf(const char *key, const std::vector<NamedNumber> &metrics) {
  std::string all;
  for (const NamedNumber &metric : metrics) {
    absl::StrAppend(&all, all.empty() ? "" : ", ",
                    nlohmann::json(metric.name).dump(), ": ",
                    number(metric.value));
  }
  return all.empty() ? all : absl::StrCat(", \"", key, "\": {", all, "}");
}

} // namespace

std::vector<NamedNumber>
zerograph::namedMetrics(const plan::Plan &plan,
                        const std::vector<double> &metrics, double scale) {
  std::vector<NamedNumber> result;
  for (size_t i = 0; i < metrics.size(); ++i) {
    result.push_back({plan.metrics(int(i)).name(), metrics[i] * scale});
  }
  return result;
}

std::string zerograph::toJson(const StepRecord &record) {
  std::string scaling;
  if (record.loss_scale) {
    scaling = absl::StrCat(", \"loss_scale\": ", number(*record.loss_scale));
  }
  std::string eval =
      record.eval ? absl::StrCat(", \"eval_loss\": ", number(record.eval->loss),
                                 ", \"eval_samples\": ", record.eval->samples,
                                 ", \"eval_ms\": ", number(record.eval->ms),
                                 textOf("eval_metrics", record.eval->metrics))
                  : "";
  return absl::StrCat(
      "{\"step\": ", record.step, ", \"loss\": ", number(record.loss),
      ", \"grad_norm\": ", number(record.gradient_norm.value_or(NAN)),
      ", \"lr\": ", number(record.learning_rate),
      ", \"step_ms\": ", number(record.step_ms),
      ", \"samples_per_s\": ", number(record.samples_per_s), scaling,
      textOf("metrics", record.metrics), eval,
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
  auto add = [&](const char *folder, const std::vector<NamedNumber> &metrics) {
    for (const NamedNumber &metric : metrics) {
      numbers.push_back({folder + metric.name, metric.value});
    }
  };
  add("metrics/", record.metrics);
  if (record.eval) {
    numbers.push_back({"eval_loss", record.eval->loss});
    add("eval_metrics/", record.eval->metrics);
  }
  return numbers;
}

absl::StatusOr<std::unique_ptr<TrainLog>>
TrainLog::open(const std::string &path, uint64_t first_step) {
  std::unique_ptr<TrainLog> log(new TrainLog);
  log->path = path;
  log->first_step = first_step;
  ZG_RETURN_IF_ERROR(checkParentFolder(path));
  log->created = access(path.c_str(), F_OK) != 0;
  log->file = std::fopen(path.c_str(), "ae");
  if (!log->file) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot create: ", std::strerror(errno)));
  }
  ZG_RETURN_IF_ERROR(log->findKept());
  return log;
}

/// Finds the lines to keep. The last one of a run that was killed may be half a
/// line.
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

TrainLog::~TrainLog() {
  if (file) {
    std::fclose(file);
    if (created && !started) {
      unlink(path.c_str());
    }
  }
}

absl::Status TrainLog::start() {
  if (started) {
    return absl::OkStatus();
  }
  started = true;
  struct stat found = {};
  // A device or a pipe holds nothing to empty.
  bool regular = fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode);
  if (regular && ftruncate(fileno(file), kept) != 0) {
    return absl::UnavailableError(absl::StrCat(
        path,
        ": cannot empty what an earlier run wrote: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status TrainLog::add(const StepRecord &record) {
  ZG_RETURN_IF_ERROR(start());
  std::string line = toJson(record) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file) != line.size() ||
      std::fflush(file) != 0) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}
