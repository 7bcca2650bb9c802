//===- Require.h - what holds for any input -------------------------------===//

#ifndef ZEROGRAPH_TESTS_FUZZ_REQUIRE_H
#define ZEROGRAPH_TESTS_FUZZ_REQUIRE_H

#include "absl/status/status.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace zerograph::fuzz {

/// Ends the process, which libFuzzer reports with the input.
inline void require(bool good, const std::string &what) {
  if (!good) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::abort();
  }
}

/// A failure must say why.
inline void requireReason(const absl::Status &status) {
  require(status.ok() || !status.message().empty(),
          "an error without a message");
}

} // namespace zerograph::fuzz

#endif // ZEROGRAPH_TESTS_FUZZ_REQUIRE_H
