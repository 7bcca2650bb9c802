//===- Progress.cpp - how far a run is, for who watches it ----------------===//

#include "runtime/exec/Progress.h"

#include "runtime/base/Text.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace zerograph;

namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr auto kOldLine = std::chrono::seconds(30);

/// Returns "2 h 05 m", "3 m 20 s", "12 s".
std::string duration(double seconds) {
  auto whole = int64_t(std::ceil(seconds));
  if (whole >= 3600) {
    return absl::StrFormat("%d h %02d m", whole / 3600, whole / 60 % 60);
  }
  return whole >= 60 ? absl::StrFormat("%d m %02d s", whole / 60, whole % 60)
                     : absl::StrFormat("%d s", whole);
}

/// Returns "12,345", or "3.21" for what is slow.
std::string rate(double value) {
  return value >= 100 ? grouped(uint64_t(std::llround(value)))
                      : absl::StrFormat("%.3g", value);
}

/// Returns whether it is one of 1, 2, 5, 10, 20, 50, ...
bool isRound(uint64_t number) {
  while (number % 10 == 0 && number > 0) {
    number /= 10;
  }
  return number == 1 || number == 2 || number == 5;
}

/// Cuts what a terminal would wrap, which "\r" could not take back.
std::string fitted(std::string text) {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
      text.size() >= size.ws_col) {
    text.resize(size.ws_col - 1u);
  }
  return text;
}

} // namespace

uint64_t zerograph::tokensOfSample(const plan::Plan &plan) {
  uint64_t tokens = 0;
  for (const plan::Input &input : plan.inputs()) {
    bool sequence = input.per_sample() && input.has_min() &&
                    input.shape_size() == 2 &&
                    input.shape(0) == plan.micro_batch();
    tokens = sequence ? std::max(tokens, uint64_t(input.shape(1))) : tokens;
  }
  return tokens;
}

Progress::Progress(const ProgressRun &run, std::optional<uint64_t> every)
    : run(run), every(every), moves(isatty(STDERR_FILENO)),
      prints(every || !moves || !isatty(STDOUT_FILENO)),
      together(moves && isatty(STDOUT_FILENO)),
      begin(Clock::now()), line{run.first_step, begin}, draw(line) {}

void Progress::endLine() {
  if (drawn) {
    std::fputc('\n', stderr);
    drawn = false;
  }
}

bool Progress::isDue(uint64_t done, Clock::time_point now) const {
  if (done == run.steps) {
    return true;
  }
  return every ? done % *every == 0 : isRound(done) || now - line.at > kOldLine;
}

std::string Progress::lineOf(const StepRecord &record, Clock::time_point now,
                             const Shown &since) const {
  uint64_t done = record.step + 1;
  auto seconds = [](auto time) {
    return std::max(1e-9, std::chrono::duration<double>(time).count());
  };
  double steps = double(done - since.done) / seconds(now - since.at);
  double each = seconds(now - begin) / double(done - run.first_step);
  // A NaN has no sign that means anything.
  std::string loss =
      std::isnan(record.loss) ? "nan" : absl::StrFormat("%.6f", record.loss);
  std::string text = absl::StrFormat("step %d/%d  loss %s  lr %.4g", done,
                                     run.steps, loss, record.learning_rate);
  auto add = [&](const char *prefix, const std::vector<NamedNumber> &metrics) {
    for (const NamedNumber &metric : metrics) {
      absl::StrAppendFormat(&text, "  %s%s %.4g", prefix, metric.name,
                            metric.value);
    }
  };
  add("", record.metrics);
  if (eval) {
    absl::StrAppendFormat(&text, "  eval_loss %.6f", eval->loss);
    add("eval_", eval->metrics);
  }
  absl::StrAppend(&text, "  ", rate(steps * double(run.samples)), " samples/s");
  if (run.tokens > 0) {
    absl::StrAppend(&text, "  ", rate(steps * double(run.tokens)), " tokens/s");
  }
  return absl::StrCat(text, "  ", duration(each * double(run.steps - done)),
                      " left", record.skipped ? "  update skipped" : "");
}

void Progress::add(const StepRecord &record) {
  Clock::time_point now = Clock::now();
  uint64_t done = record.step + 1;
  if (record.eval) {
    eval = record.eval;
  }
  bool due = prints && (isDue(done, now) || record.eval);
  if (due) {
    if (together) {
      endLine();
    }
    std::printf("%s\n", lineOf(record, now, line).c_str());
    std::fflush(stdout);
    line = {done, now};
  }
  bool soon = drawn && done != run.steps && now - draw.at < kBetweenDraws;
  if (moves && !soon && !(due && together)) {
    std::fprintf(stderr, "\r%s\x1b[K",
                 fitted(lineOf(record, now, draw)).c_str());
    std::fflush(stderr);
    drawn = true;
    draw = {done, now};
  }
}
