//===- SharedFlags.h - options that several commands have -----------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_SHAREDFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_SHAREDFLAGS_H

#include "absl/strings/numbers.h"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace zerograph {

inline void addSeed(CLI::App &app, uint64_t &seed) {
  app.add_option("--seed", seed, "Seed of made up parameters and of dropout")
      ->check([](const std::string &text) {
        uint64_t number; // the option itself would take -1, and wrap around
        return absl::SimpleAtoi(text, &number)
                   ? std::string()
                   : text + " is no whole number below 2^64";
      });
}

inline void addDropout(CLI::App &app, std::optional<double> &ratio) {
  app.add_option("--dropout", ratio,
                 "Ratio of every dropout; 0 turns them off; default: the "
                 "model's")
      ->check([](const std::string &text) {
        double number;
        bool good =
            absl::SimpleAtod(text, &number) && number >= 0 && number < 1;
        return good ? std::string()
                    : text + " is no ratio of at least 0 and less than 1";
      });
}

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_SHAREDFLAGS_H
