//===- Guarded.h - exceptions inside the frontend, statuses outside -------===//

#ifndef ZEROGRAPH_FRONTEND_BASE_GUARDED_H
#define ZEROGRAPH_FRONTEND_BASE_GUARDED_H

#include "frontend/base/Error.h"

#include "absl/status/statusor.h"

#include <new>

namespace zerograph::frontend {

/// Calls `body`; whatever it throws becomes a status that names the file.
template <typename F>
auto guarded(const std::string &path, F body)
    -> absl::StatusOr<decltype(body())> {
  auto error = [&](const char *what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
  };
  try {
    return body();
  } catch (const TooLarge &) {
    return error("a constant that the import needs is too large to fold");
  } catch (const InternalError &internal) {
    return absl::InternalError(absl::StrCat(path, ": ", internal.what()));
  } catch (const std::bad_alloc &) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": out of memory while importing"));
  } catch (const std::exception &exception) {
    return error(exception.what());
  }
}

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_BASE_GUARDED_H
