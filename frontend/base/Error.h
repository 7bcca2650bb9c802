//===- Error.h - how code inside the frontend gives up --------------------===//
//
// The ONNX library throws, so the frontend is built with exceptions and uses
// them inside; none gets past Guarded.h.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_BASE_ERROR_H
#define ZEROGRAPH_FRONTEND_BASE_ERROR_H

#include "absl/strings/str_cat.h"

#include <stdexcept>
#include <string>

namespace zerograph::frontend {

/// The model, or what the user asked of it, cannot be imported.
struct ImportError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The imported program is not valid: a mistake of the importer's own.
struct InternalError : ImportError {
  using ImportError::ImportError;
};

/// A value of the program would have no elements, which only a constant can be.
struct EmptyTensor : ImportError {
  using ImportError::ImportError;
};

/// A constant would be too large to compute while importing: the op becomes
/// part of the program instead.
struct TooLarge : std::runtime_error {
  TooLarge() : std::runtime_error("constant too large to fold") {}
};

/// Throws an ImportError made of `parts`.
template <typename... Parts>
[[noreturn]] void fail(const Parts &...parts) {
  throw ImportError(absl::StrCat(parts...));
}

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_BASE_ERROR_H
