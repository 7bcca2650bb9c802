//===- OptionsTest.cpp - the table of options -----------------------------===//

#include "options/Groups.h"
#include "options/Memory.h"
#include "options/Sizes.h"
#include "runtime/plan/schedules/Schedule.h"
#include "tools/cli/OptionTable.h"

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

#include <map>
#include <set>

namespace zerograph {
namespace {

/// As of a pass or an interface: of four fields three are options, and one of
/// those is of a type that takes no option's.
struct Taker {
  int64_t ranks = 7;
  double lr = 7;
  struct {
  } units;
  int other = 7;
};

TEST(Options, AreCopiedByTheNamesOfFields) {
  options::Compile given;
  given.ranks = 3;
  given.lr = 0.5;
  given.units = "h*";
  Taker taker;
  options::copy<options::kPasses>(given, taker);
  EXPECT_EQ(taker.ranks, 3);
  EXPECT_EQ(taker.lr, 0.5);
  EXPECT_EQ(taker.other, 7);
}

TEST(Options, BetasAreTwoNumbers) {
  auto betas = options::parseBetas("0.9,0.999");
  ASSERT_TRUE(betas);
  EXPECT_EQ(*betas, std::pair(0.9, 0.999));
  for (const char *text :
       {"", "0.9", "0.9,", ",0.9", "0.9,0.9,0.9", "0.9;0.9", "a,b"}) {
    EXPECT_FALSE(options::parseBetas(text)) << text;
  }
}

TEST(Options, LimitsOfMemoryAreBytesOrUnits) {
  options::MemoryLimits limits =
      options::parseMemory("device=1.5GiB,host=1000000", 1);
  EXPECT_EQ(limits.error, "");
  EXPECT_EQ(limits.device, 3 << 29);
  EXPECT_EQ(limits.host, 1000000);
  EXPECT_EQ(options::parseMemory("1024TiB", 1).device, int64_t(1) << 50);
  EXPECT_EQ(options::parseMemory("1125899906842624", 1).device, int64_t(1)
                                                                    << 50);
  for (const char *text : {"0",
                           "0.5",
                           "1.5",
                           "1025TiB",
                           "-1GiB",
                           "+1",
                           "inf",
                           "nan",
                           "1e3",
                           "1.5.5GiB",
                           "1gb",
                           "1XB",
                           "1G",
                           "1KiBB",
                           "GiB",
                           "GB",
                           "1 GiB",
                           "disk=1",
                           "1,2",
                           "device=",
                           "1,",
                           ",",
                           "99999999999999999999999999999999999999999999"}) {
    EXPECT_NE(options::parseMemory(text, 1).error, "") << text;
  }
  EXPECT_EQ(options::parseMemory("1.5GB,host=2TB", 1).device, 1500000000);
  EXPECT_EQ(options::parseMemory("1.5GB,host=2TB", 1).host, 2000000000000);
}

TEST(Options, ACardIsALimitOfMemory) {
  options::MemoryLimits one = options::parseMemory("h100", 1);
  options::MemoryLimits two = options::parseMemory("device=H100,host=1GB", 2);
  EXPECT_EQ(one.error + two.error, "");
  ASSERT_TRUE(two.card);
  EXPECT_EQ(two.card->name, std::string("h100"));
  EXPECT_EQ(two.host, 1000000000);
  // Never what nvidia-smi says; and NCCL has its part.
  EXPECT_LT(one.device, int64_t(81559) << 20);
  EXPECT_EQ(one.device - two.device, options::kNcclNvlinkMib << 20);
  EXPECT_GT(two.device, int64_t(70) << 30);
  for (const char *wrong : {"h1000", "host=h100", "h100,80GiB"}) {
    EXPECT_NE(options::parseMemory(wrong, 1).error.find("l40s"),
              std::string::npos)
        << wrong;
  }
  int64_t last = 0;
  for (const options::Card &card : options::kCards) {
    int64_t usable = options::usableBytes(card, 8);
    EXPECT_GE(usable, last) << card.name << ": the smallest come first";
    EXPECT_EQ(options::findCard(card.name), &card);
    last = usable;
  }
}

TEST(Options, SizesAreReadAsTheyAreWritten) {
  for (auto [bytes, text] : {std::pair<uint64_t, const char *>(0, "0 B"),
                             {999, "999 B"},
                             {1000, "0.98 KiB"},
                             {1024, "1.00 KiB"},
                             {10230, "9.99 KiB"},
                             {10240, "10.0 KiB"},
                             {1023u << 10, "1.00 MiB"},
                             {uint64_t(3) << 29, "1.50 GiB"},
                             {UINT64_MAX, "16.0 EiB"}}) {
    EXPECT_EQ(options::sizeText(bytes), text);
  }
}

TEST(Options, GroupsAreAPatternAndNumbers) {
  options::Group group =
      options::parseGroup("a:*.b:lr=1e-4,betas=0.5,0.25,weight_decay=0");
  EXPECT_EQ(group.error, "");
  EXPECT_EQ(group.pattern, "a:*.b");
  std::vector<std::pair<std::string, double>> numbers,
      expected = {
          {"lr", 1e-4}, {"beta1", 0.5}, {"beta2", 0.25}, {"weight_decay", 0}};
  for (auto [number, value] : group.numbers) {
    numbers.emplace_back(number->name, value);
  }
  EXPECT_EQ(numbers, expected);
  for (const char *text :
       {"", "a", ":lr=1", "a:", "a:lr", "a:lr=", "a:lr=x", "a:lr=1,", "a:,lr=1",
        "a:betas=0.9", "a:betas=0.9,lr=1", "a:rate=1", "a:nesterov=1",
        "a:lr=1,2"}) {
    EXPECT_NE(options::parseGroup(text).error, "") << text;
  }
}

/// Returns the values that the options give an optimizer.
options::Hyperparameters valuesOf(std::string_view optimizer,
                                  const options::Compile &given) {
  return *options::hyperparametersOf(*options::findOptimizer(optimizer), given);
}

TEST(Options, AnOptimizersDefaultsHoldWhereNothingIsGiven) {
  options::Compile given;
  EXPECT_EQ(valuesOf("adamw", given).eps, 1e-8);
  EXPECT_EQ(valuesOf("adagrad", given).eps, 1e-10);
  EXPECT_EQ(valuesOf("adamw", given).weight_decay, 0.01);
  EXPECT_EQ(valuesOf("adam", given).weight_decay, 0);
  EXPECT_EQ(valuesOf("lion", given).beta2, 0.99);
  EXPECT_EQ(valuesOf("lamb", given).lamb_max_coeff, 10);
  EXPECT_EQ(valuesOf("sgd", given).lr, 1e-3);
  EXPECT_EQ(valuesOf("sgd", given).beta2, 0); // which it does not take
  given.eps = given.weight_decay = 0;
  given.betas = "0.5,0.25";
  EXPECT_EQ(valuesOf("adagrad", given).eps, 0);
  EXPECT_EQ(valuesOf("adamw", given).weight_decay, 0);
  EXPECT_EQ(valuesOf("lion", given).beta1, 0.5);
  EXPECT_EQ(valuesOf("lion", given).beta2, 0.25);
  given.betas = "0.5";
  EXPECT_FALSE(
      options::hyperparametersOf(*options::findOptimizer("lion"), given));
}

/// Returns what is wrong with an optimizer's numbers.
std::string faults(std::string_view optimizer,
                   const options::Hyperparameters &values) {
  return options::faultsText(*options::findOptimizer(optimizer), values);
}

TEST(Options, NumbersOutOfTheirRangesAreFaults) {
  const double inf = options::kInfinity, nan = NAN;
  EXPECT_EQ(faults("adam", {.beta1 = 0.9, .eps = 1}), "");
  EXPECT_EQ(faults("adam", {.lr = -1, .beta2 = 1}),
            "lr is -1, expected a finite number that is not negative; beta2 is "
            "1, expected at least 0 and below 1");
  EXPECT_EQ(faults("sgd", {.beta2 = 1}), ""); // which it does not take
  EXPECT_NE(faults("sgd", {.lr = inf}), "");
  EXPECT_NE(faults("sgd", {.weight_decay = nan}), "");
  EXPECT_EQ(faults("sgd", {.nesterov = 1}),
            "nesterov needs a momentum above 0");
  EXPECT_EQ(faults("sgd", {.momentum = 1, .nesterov = 2}),
            "nesterov is 2, expected 0 or 1");
  EXPECT_EQ(faults("adagrad", {.eps = 0}), "");
  EXPECT_EQ(faults("lamb", {.eps = 0, .lamb_max_coeff = inf}),
            "eps is 0, expected a finite number above 0");
  EXPECT_EQ(
      faults("lamb", {.eps = 1, .lamb_min_coeff = 2, .lamb_max_coeff = 1}),
      "lamb_min_coeff is 2, expected at most lamb_max_coeff, 1");
}

TEST(Options, TheHelpSaysAnOptimizersDefaults) {
  EXPECT_EQ(options::defaultsText("eps"),
            "1e-08 of adam, adamw and lamb; 1e-10 of adagrad");
  EXPECT_EQ(options::defaultsText("betas"),
            "0.9,0.999 of adam, adamw and lamb; 0.9,0.99 of lion");
  EXPECT_EQ(options::defaultsText("lr"), "");
}

/// Returns what the help says that an option of `compile` may be.
std::string valuesOf(const std::string &name) {
  options::Compile options;
  std::string values;
  eachOption(options, [&](const OptionRow &row, auto &) {
    values = row.name == name ? row.value : values;
  });
  return values;
}

/// The schedules that the option names are those of the runtime's table.
TEST(Options, NameEverySchedule) {
  EXPECT_EQ(absl::StrReplaceAll(scheduleNames(), {{", ", "|"}}),
            valuesOf("schedule"));
}

/// No command has two options of one name, and every option a command and a
/// text.
TEST(Options, AreComplete) {
  std::map<std::string, unsigned> commands;
  auto look = [&](const OptionRow &row, const auto &) {
    EXPECT_NE(row.commands, 0u) << row.name;
    EXPECT_EQ(commands[row.name] & row.commands, 0u) << row.name;
    commands[row.name] |= row.commands;
    EXPECT_NE(*row.help, '\0') << row.name;
  };
  options::Compile compile;
  options::Train train;
  eachOption(compile, look);
  eachOption(train, look);
  EXPECT_EQ(commands["dump-gradients"], kCompiles | kTrains);
}

/// Parses what a command line of one command gives.
template <typename Fields>
Fields parse(OptionCommands command, std::vector<std::string> arguments) {
  Fields fields;
  CLI::App app;
  addOptions(app, command, fields);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return fields;
}

TEST(Options, AreReadIntoTheirFields) {
  auto given = parse<options::Compile>(
      kTrains, {"--zero", "3", "--dim", "a=1", "--dim", "b=2", "--nesterov",
                "--dropout", "0.5", "--weight-decay", "0"});
  EXPECT_EQ(given.zero_stage, 3);
  EXPECT_EQ(given.dim, (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_TRUE(given.nesterov);
  EXPECT_EQ(given.dropout, 0.5);
  EXPECT_EQ(given.weight_decay, 0);
  EXPECT_EQ(given.ranks, 1);
  EXPECT_EQ(given.bucket_bytes, 32 << 20);
  for (std::vector<std::string> wrong :
       std::vector<std::vector<std::string>>{{"--zero", "4"},
                                             {"--optimizer", "rmsprop"},
                                             {"--dropout", "1"},
                                             {"--timing"}}) {
    EXPECT_THROW(parse<options::Compile>(kTrains, wrong), CLI::Error)
        << wrong[0];
  }
  EXPECT_THROW(parse<options::Train>(kTrains, {}), CLI::Error); // no --data
}

} // namespace
} // namespace zerograph
