//===- Batch.cpp - the four numbers of a batch ----------------------------===//

#include "config/Converters.h"
#include "config/FileWriter.h"
#include "config/Translation.h"
#include "runtime/base/Status.h"

namespace zerograph::config {
namespace {

std::string shown(const std::optional<int64_t> &number) {
  return number ? absl::StrCat(*number) : "?";
}

absl::Status doesNotFit(const Batch &batch) {
  return absl::InvalidArgumentError(absl::StrCat(
      "train_batch_size ", shown(batch.train),
      " is not train_micro_batch_size_per_gpu ", shown(batch.micro),
      " x gradient_accumulation_steps ", shown(batch.accumulate), " x ranks ",
      shown(batch.ranks),
      batch.micro && batch.accumulate && batch.ranks
          ? absl::StrCat(" = ", *batch.micro * *batch.accumulate * *batch.ranks)
          : ""));
}

void readBatch(const ConfigEntry &found, Translation &to) {
  to.sayBatch(found);
}

/// The micro-batch and what it makes of a step, where they are known.
void writeBatch(const Key &key, FileWriter &file) {
  int64_t samples = file.integer("micro-batch"); // 0: unknown, or auto
  int64_t whole = file.integer("global-batch");
  if (key.path == "train_batch_size") {
    if (whole > 0) {
      file.put(key, absl::StrCat(whole));
      file.cover("global-batch");
    } else if (samples > 0) {
      file.put(key, absl::StrCat(samples * file.integer("accumulate") *
                                 file.integer("ranks")));
    }
  } else if (key.option == "accumulate" && !file.has(key.option) && whole > 0) {
    int64_t each = samples * file.integer("ranks");
    if (each > 0 && whole % each == 0) {
      file.put(key, absl::StrCat(whole / each));
    } // else DeepSpeed says why not
  } else if (file.has(key.option) || key.option == "accumulate") {
    file.put(key, file.value(key.option));
  } else {
    file.put(key, "auto");
  }
}

} // namespace

const Converter batch = {
    .read = readBatch, .automatic = readBatch, .write = writeBatch};

absl::StatusOr<Batch> reconcile(const Batch &given) {
  constexpr int64_t kMost = int64_t(1) << 20; // of each: the product fits
  Batch batch = given;
  for (auto [number, most] : {std::pair(batch.train, kMost << 20),
                              {batch.micro, kMost},
                              {batch.accumulate, kMost},
                              {batch.ranks, kMost}}) {
    if (number && (*number < 1 || *number > most)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a batch of ", *number,
                       ": expected a whole number from 1 to ", most));
    }
  }
  if (!batch.ranks && !(batch.train && batch.micro && batch.accumulate)) {
    batch.ranks = 1;
  }
  if (!batch.accumulate && !(batch.train && batch.micro)) {
    batch.accumulate = 1;
  }
  if (!batch.train && !batch.micro) {
    return batch; // the model may say it, or whoever compiles
  }
  auto times = [](const std::optional<int64_t> &number) {
    return number.value_or(1);
  };
  int64_t product =
      times(batch.micro) * times(batch.accumulate) * times(batch.ranks);
  if (!batch.train) {
    batch.train = product;
  }
  if (*batch.train % product != 0) {
    return doesNotFit(batch);
  }
  int64_t rest = *batch.train / product;
  if (!batch.micro) {
    batch.micro = rest;
  } else if (!batch.accumulate) {
    batch.accumulate = rest;
  } else if (!batch.ranks) {
    batch.ranks = rest;
  } else if (rest != 1) {
    return doesNotFit(batch);
  }
  return batch;
}

/// The command line's numbers come before the file's.
void Translation::reconcileBatch() {
  auto number = [&](const char *path) -> std::optional<int64_t> {
    const Value *found = value(path);
    return found != nullptr ? found->integer() : std::nullopt;
  };
  auto win = [&](const std::optional<int64_t> &over, const std::string &option,
                 std::optional<int64_t> &said, const char *path) {
    if (over && said && *over != *said) {
      note(absl::StrCat(option, " ", *over, " wins over '", path, "' ", *said));
    }
    said = over ? over : said;
  };
  Batch said{number("train_batch_size"),
             number("train_micro_batch_size_per_gpu"),
             number("gradient_accumulation_steps"), number("num_processes")};
  if (said.ranks && *said.ranks < 1) {
    said.ranks.reset(); // Accelerate's word for what a launcher decides
  }
  win(known.micro_batch, "--micro-batch", said.micro,
      "train_micro_batch_size_per_gpu");
  if (choosesMicroBatch() && said.micro) {
    note(absl::StrCat("--micro-batch auto wins over "
                      "'train_micro_batch_size_per_gpu' ",
                      *said.micro));
    said.micro.reset();
  }
  win(known.accumulate, "--accumulate", said.accumulate,
      "gradient_accumulation_steps");
  win(known.ranks, known.ranks_from, said.ranks, "num_processes");
  win(known.global_batch, "--global-batch", said.train, "train_batch_size");
  if (known.global_batch && !known.accumulate) {
    said.accumulate.reset(); // follows
  }
  if (known.model_batch && said.micro && *said.micro != *known.model_batch) {
    config.problems.push_back(absl::StrCat(
        "the model is for ", *known.model_batch,
        " samples a micro-batch, but train_micro_batch_size_per_gpu is ",
        *said.micro));
  }
  said.micro = said.micro ? said.micro : known.model_batch;
  absl::StatusOr<Batch> whole = reconcile(said);
  if (!whole.ok()) {
    config.problems.push_back(absl::StrCat(
        whole.status().message(),
        ": change one of them, or leave one out and it is computed"));
    config.batch = said;
    return;
  }
  config.batch = *whole;
  if (!said.ranks && *whole->ranks != 1) {
    note(absl::StrCat("train_batch_size ", *whole->train, " / (", *whole->micro,
                      " x ", *whole->accumulate, ") makes --ranks ",
                      *whole->ranks));
  } else if (!said.ranks && stage() > 0) {
    note(absl::StrCat("there is 1 rank, unless you give --ranks: stage ",
                      stage(), " has nobody to divide with"));
  }
}

/// Options for what no command line and no launcher has said.
void Translation::setBatch() {
  auto add = [&](const char *option, const std::optional<int64_t> &number,
                 bool known_already, std::initializer_list<const char *> keys) {
    const ConfigEntry *from = nullptr;
    for (const char *key : keys) {
      from = from != nullptr ? from : find(key);
    }
    if (from != nullptr && number && !known_already) {
      config.settings.push_back(
          {option, absl::StrCat(*number), from->named(), false});
    }
  };
  bool said = has("num_processes") || config.batch.ranks.value_or(1) != 1;
  add("ranks", config.batch.ranks, known.ranks || !said,
      {"num_processes", "train_batch_size"});
  if (choosesMicroBatch()) {
    // A step has the file's samples, however many fit at a time.
    add("global-batch", config.batch.train, known.global_batch.has_value(),
        {"train_batch_size"});
    const Value *parts = value("gradient_accumulation_steps");
    if (parts != nullptr && parts->integer() && !config.batch.train) {
      add("accumulate", parts->integer(), known.accumulate.has_value(),
          {"gradient_accumulation_steps"});
    }
    return;
  }
  add("micro-batch", config.batch.micro, known.micro_batch || known.model_batch,
      {"train_micro_batch_size_per_gpu", "train_batch_size"});
  add("accumulate", config.batch.accumulate, known.accumulate.has_value(),
      {"gradient_accumulation_steps", "train_batch_size"});
}

void Translation::sayBatch(const ConfigEntry &found) {
  const Batch &batch = config.batch;
  if (found.value.isAuto()) {
    say("auto");
  }
  linkSettings(found);
  if (found.key->path == "train_batch_size") {
    say(absl::StrCat(shown(batch.micro), " x ", shown(batch.accumulate), " x ",
                     shown(batch.ranks), " ranks"));
  } else if (found.key->path == "train_micro_batch_size_per_gpu" &&
             !batch.micro) {
    say("--micro-batch is still to be given");
  }
}

} // namespace zerograph::config
