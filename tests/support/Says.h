//===- Says.h - what messages must say ------------------------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_SAYS_H
#define ZEROGRAPH_TESTS_SUPPORT_SAYS_H

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

#include <string>

namespace zerograph {

/// Expects that a text has all of the parts.
template <typename... Parts>
void expectSays(absl::string_view text, const Parts &...parts) {
  for (const std::string &part : {std::string(parts)...}) {
    EXPECT_NE(text.find(part), std::string::npos)
        << text << "\nwithout: " << part;
  }
}

/// Expects an error whose message has all of the parts.
template <typename... Parts>
void expectSays(const absl::Status &status, const Parts &...parts) {
  expectSays(status.message(), parts...);
}

} // namespace zerograph

#endif // ZEROGRAPH_TESTS_SUPPORT_SAYS_H
