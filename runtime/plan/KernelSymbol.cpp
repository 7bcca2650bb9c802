//===- KernelSymbol.cpp - what a kernel's symbol says ---------------------===//

#include "runtime/plan/KernelSymbol.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace zerograph {

std::string kernelSymbol(absl::string_view name, uint64_t extent,
                         uint64_t grain) {
  return absl::StrCat(name, "_e", extent, "_g", grain);
}

bool saysRange(absl::string_view symbol, uint64_t extent, uint64_t grain) {
  return absl::EndsWith(symbol, kernelSymbol("", extent, grain));
}

} // namespace zerograph
