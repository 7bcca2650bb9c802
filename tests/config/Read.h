//===- Read.h - what the tests of config look at --------------------------===//

#ifndef ZEROGRAPH_TESTS_CONFIG_READ_H
#define ZEROGRAPH_TESTS_CONFIG_READ_H

#include "config/Read.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "absl/strings/str_join.h"

namespace zerograph::config {

/// Reads a file's text, which can be read.
inline Config readGood(absl::string_view text, const Known &known = {}) {
  absl::StatusOr<Config> config = readText(text, "c", known);
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << std::string(text);
  return config.ok() ? *std::move(config) : Config();
}

/// The value that an option gets; empty where it gets none.
inline std::string valueOf(const Config &config, const std::string &option) {
  for (const Setting &setting : config.settings) {
    if (setting.option == option) {
      return setting.value;
    }
  }
  return "";
}

/// Returns what a key means; the test fails where it is not listed once.
inline TranslatedKey meaningOf(const Config &config, const std::string &key) {
  TranslatedKey meaning;
  int count = 0;
  for (const TranslatedKey &each : config.meanings) {
    if (each.key == key) {
      meaning = each;
      ++count;
    }
  }
  EXPECT_EQ(count, 1) << key;
  return meaning;
}

/// All that was said, a line each.
inline std::string linesOf(const std::vector<std::string> &lines) {
  return absl::StrJoin(lines, "\n");
}

} // namespace zerograph::config

#endif // ZEROGRAPH_TESTS_CONFIG_READ_H
