//===- Status.h - how the runtime and the frontend report errors ----------===//
//
// absl::Status and StatusOr throughout, no exceptions across an interface.
// Debian's absl has no macros for passing them on; these are ours.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_STATUS_H
#define ZEROGRAPH_RUNTIME_BASE_STATUS_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

/// Returns from the enclosing function if `expr`, an absl::Status, is an error.
#define ZG_RETURN_IF_ERROR(expr)                                               \
  do {                                                                         \
    if (absl::Status zg_status = (expr); !zg_status.ok()) {                    \
      return zg_status;                                                        \
    }                                                                          \
  } while (false)

#define ZG_STATUS_CONCAT_INNER(a, b) a##b
#define ZG_STATUS_CONCAT(a, b) ZG_STATUS_CONCAT_INNER(a, b)

/// `ZG_ASSIGN_OR_RETURN(auto x, f())`: x is the value, or the error returns.
#define ZG_ASSIGN_OR_RETURN(lhs, expr)                                         \
  ZG_ASSIGN_OR_RETURN_IMPL(ZG_STATUS_CONCAT(zg_status_or_, __LINE__), lhs, expr)
#define ZG_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)                               \
  auto tmp = (expr);                                                           \
  if (!tmp.ok()) {                                                             \
    return std::move(tmp).status();                                            \
  }                                                                            \
  lhs = *std::move(tmp)

namespace zerograph {

/// The same code with `context` and a colon put before the message.
inline absl::Status annotate(const absl::Status &status,
                             absl::string_view context) {
  return absl::Status(status.code(),
                      absl::StrCat(context, ": ", status.message()));
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_STATUS_H
