//===- Calls.h - what every function of the C interface does --------------===//

#ifndef ZEROGRAPH_API_CALLS_H
#define ZEROGRAPH_API_CALLS_H

#include "api/zerograph.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include <string>
#include <vector>

namespace zerograph::api {

/// Calls `work`, and keeps its error, also an exception, as the thread's.
/// Returns the code.
zg_code guard(absl::FunctionRef<absl::Status()> work);

/// Returns the texts of an array of them.
std::vector<std::string> textsOf(const char *const *texts, size_t count);

/// Returns a copy for the caller to free.
char *copyOf(const std::string &text);

/// Says which process owns an object: one that was forked has neither the
/// threads nor the files of its parent.
class Owner {
public:
  Owner();
  bool isHere() const;
  /// Returns an error in another process.
  absl::Status check(const char *what) const;

private:
  int process;
};

} // namespace zerograph::api

#endif // ZEROGRAPH_API_CALLS_H
