//===- EmbeddedFile.h - a text file that is in the program ----------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_EMBEDDEDFILE_H
#define ZEROGRAPH_RUNTIME_BASE_EMBEDDEDFILE_H

#include "absl/strings/string_view.h"

namespace zerograph {

/// A file that zg_embed put into the program, which holds both texts.
struct EmbeddedFile {
  absl::string_view name; ///< without its folder and its ending
  absl::string_view text;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_EMBEDDEDFILE_H
