//===- KeysTest.cpp - the table of keys -----------------------------------===//

#include "tests/config/Read.h"
#include "tests/support/Says.h"

#include "absl/strings/match.h"

#include <set>

namespace zerograph::config {
namespace {

using testing::HasSubstr;

TEST(Keys, AreComplete) {
  std::set<std::pair<Dialect, std::string>> paths;
  for (const Key &key : keys()) {
    EXPECT_TRUE(paths.emplace(key.dialect, key.path).second) << key.path;
    if (key.type == Type::Section) {
      continue;
    }
    bool says = !key.text.empty() || !key.option.empty() || !key.target.empty();
    EXPECT_TRUE(says) << key.path << " says nothing";
    EXPECT_EQ(key.does == KeySupport::Refused && key.text.empty(), false)
        << key.path;
    if (!key.target.empty()) {
      EXPECT_NE(findKey(Dialect::DeepSpeed, key.target), nullptr) << key.path;
    }
    absl::StatusOr<Value> value = parseValue("{x: " + key.value + "}");
    ASSERT_TRUE(value.ok()) << key.path;
    EXPECT_TRUE(hasType(value->children[0], key.type))
        << key.path << " " << key.value;
    EXPECT_FALSE(asks(value->children[0], key)) << key.path;
  }
  for (const Key &key : keys()) {
    size_t dot = key.path.find_last_of('.');
    const Key *section = dot == std::string::npos
                             ? nullptr
                             : findKey(key.dialect, key.path.substr(0, dot));
    EXPECT_TRUE(dot == std::string::npos ||
                (section != nullptr && section->type == Type::Section))
        << key.path << " is in no section";
    if (!key.on.empty()) {
      EXPECT_NE(findKey(key.dialect, key.path + "." + key.on), nullptr);
    }
  }
  for (const Alias &alias : aliases()) {
    EXPECT_EQ(findKey(Dialect::DeepSpeed, alias.path), nullptr) << alias.path;
    EXPECT_NE(findKey(Dialect::DeepSpeed, alias.target), nullptr) << alias.path;
  }
}

/// {a: {b: 1}} of "a.b" and 1.
std::string fileOf(std::string path, const std::string &value) {
  std::string text = value;
  for (size_t dot; (dot = path.find_last_of('.')) != std::string::npos;) {
    text = "{\"" + path.substr(dot + 1) + "\": " + text + "}";
    path.resize(dot);
  }
  return "{\"" + path + "\": " + text + "}";
}

/// A key that asks for what DeepSpeed does anyway is never refused, nor is what
/// is left open.
TEST(Keys, AreTakenAtTheirDefaults) {
  for (const Key &key : keys()) {
    if (key.dialect != Dialect::DeepSpeed || key.type == Type::Section) {
      continue;
    }
    for (const std::string &value : {key.value, std::string("\"auto\"")}) {
      Config config = readGood(fileOf(key.path, value));
      EXPECT_EQ(linesOf(config.problems), "") << key.path << " " << value;
      EXPECT_EQ(config.meanings.size(), 1u) << key.path;
    }
  }
}

/// Each refused key is, for a value that asks for something.
TEST(Keys, AreRefusedBeyondTheirDefaults) {
  int refused = 0;
  for (const Key &key : keys()) {
    if (key.dialect != Dialect::DeepSpeed || key.does != KeySupport::Refused ||
        absl::StrContains(key.path, ".offload_optimizer.") ||
        absl::EndsWith(key.path, ".decay_mom_rate")) {
      continue;
    }
    const char *value = key.type == Type::Bool
                            ? key.value == "true" ? "false" : "true"
                        : key.type == Type::Any  ? "{\"enabled\": true}"
                        : key.type == Type::Text ? "\"other\""
                                                 : "7";
    std::string file = fileOf(key.path, value);
    // In a section that is on.
    for (const Key &section : keys()) {
      std::string on = section.path + "." + section.on;
      if (!section.on.empty() && absl::StartsWith(key.path, section.path) &&
          key.path != on) {
        size_t at = file.find("\": {\"") + 4;
        file.insert(at, absl::StrCat(
                            "\"", section.on, "\": ",
                            section.on == "type" ? "\"AdamW\"" : "true", ", "));
      }
    }
    Config config = readGood(file);
    EXPECT_THAT(linesOf(config.problems), HasSubstr(key.text)) << file;
    ++refused;
  }
  EXPECT_GT(refused, 30);
}

TEST(Keys, OfOtherSpellingsAreTheSame) {
  for (const Alias &alias : aliases()) {
    const Key &target = *findKey(Dialect::DeepSpeed, alias.target);
    bool section = target.type == Type::Section;
    bool device = absl::StrContains(alias.path, "cpu_offload");
    std::string value = section  ? "{\"enabled\": false}"
                        : device ? "false"
                                 : target.value;
    Config config = readGood(fileOf(alias.path, value));
    EXPECT_EQ(linesOf(config.problems), "") << alias.path;
    ASSERT_EQ(config.meanings.size(), 1u) << alias.path;
    EXPECT_TRUE(absl::StartsWith(config.meanings[0].key, alias.path));
  }
}

TEST(Keys, ThatAreUnknownAreSaidWithWhatIsNear) {
  const std::pair<const char *, const char *> kUnknown[] = {
      {R"({"zero_optimization": {"stag": 2}})",
       "'zero_optimization.stag' (c, line 1): there is no such key; did you "
       "mean 'zero_optimization.stage'?"},
      {R"({"zero_optimisation": {"stage": 2}})",
       "did you mean 'zero_optimization'?"},
      {R"({"gradient_cliping": 1})", "did you mean 'gradient_clipping'?"},
      // The right name in the wrong place.
      {R"({"cpu_offload": true})",
       "did you mean 'zero_optimization.cpu_offload'?"},
      {R"({"zero_optimization": {"offload_optimizer": {"buffer_size": 5}}})",
       "did you mean 'zero_optimization.offload_param.buffer_size'?"},
      {R"({"bf16": {"check_overflow": true}})",
       "'bf16.check_overflow' (c, line 1): there is no such key"},
      // A path is no name: DeepSpeed does not know it either.
      {R"({"zero_optimization.stage": 2})",
       "'zero_optimization.stage' (c, line 1): there is no such key; did you "
       "mean 'stage' in a section 'zero_optimization'?"},
      {R"({"zero_optimization": {"offload_optimizer.device": "cpu"}})",
       "did you mean 'device' in a section "
       "'zero_optimization.offload_optimizer'?"},
      {R"({"my.notes": 1})", "'my.notes' (c, line 1): there is no such key"},
      {R"({"my_own_notes": 1})",
       "'my_own_notes' (c, line 1): there is no such key"},
  };
  for (auto [text, message] : kUnknown) {
    Config config = readGood(text);
    ASSERT_EQ(config.problems.size(), 1u) << text;
    expectSays(config.problems[0], message);
    EXPECT_EQ(valueOf(config, "zero"), "");
  }
}

/// Nothing is made of its value.
TEST(Keys, WithoutEffectMayHaveAnyType) {
  for (const Key &key : keys()) {
    if (key.dialect != Dialect::DeepSpeed || key.type == Type::Section ||
        (key.does != KeySupport::NoEffect &&
         key.does != KeySupport::OutOfScope)) {
      continue;
    }
    for (const char *value :
         {"Infinity", "[1, {\"a\": 2}]", "{\"a\": 1}", "\"word\"", "2.5"}) {
      Config config = readGood(fileOf(key.path, value));
      EXPECT_EQ(linesOf(config.problems), "") << key.path << " " << value;
      EXPECT_EQ(meaningOf(config, key.path).does, key.does) << key.path;
    }
  }
}

TEST(Keys, OfTheWrongTypeAreRefused) {
  Config config = readGood("{\"zero_optimization\": {\"stage\": 2.5},\n"
                           "\"gradient_clipping\": \"much\",\n"
                           "\"bf16\": true,\n"
                           "\"optimizer\": {\"type\": \"Adam\", \"params\": "
                           "{\"betas\": [0.9], \"lr\": [1]}}}");
  EXPECT_THAT(
      linesOf(config.problems),
      testing::AllOf(
          HasSubstr("'zero_optimization.stage' (c, line 1) is 2.5: expected a "
                    "whole number"),
          HasSubstr("'gradient_clipping' (c, line 2) is \"much\": expected a "
                    "number"),
          HasSubstr("'bf16' (c, line 3) is true: expected a section {...}"),
          HasSubstr("'optimizer.params.betas' (c, line 4) is [0.9]: expected a "
                    "list of two numbers"),
          HasSubstr("'optimizer.params.lr'")));
  EXPECT_EQ(config.problems.size(), 5u) << linesOf(config.problems);
}

} // namespace
} // namespace zerograph::config
