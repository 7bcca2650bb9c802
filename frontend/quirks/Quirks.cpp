//===- Quirks.cpp - the quirks of exporters that are known ----------------===//

#include "frontend/quirks/Quirks.h"

#include "absl/strings/str_cat.h"

namespace zerograph::frontend {

llvm::ArrayRef<const Quirk *> quirks() {
  static const Quirk *const kQuirks[] = {
#define QUIRK(name) &k##name,
#include "frontend/quirks/Quirks.def"
#undef QUIRK
  };
  return kQuirks;
}

std::string remedy(const std::string &advice, const std::string &otherwise) {
  return absl::StrCat("\n", advice,
                      " If you cannot export it again, "
                      "--allow-exporter-damage trains the file as it is: ",
                      otherwise);
}

} // namespace zerograph::frontend
