//===- KernelSymbol.h - what a kernel's symbol says -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_KERNELSYMBOL_H
#define ZEROGRAPH_RUNTIME_PLAN_KERNELSYMBOL_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// "k3_rows_e4096_g64": machine code trusts the range it is called with, so its
/// module names the extent and the grain that it was made for. A plan that says
/// something else finds no such symbol.
std::string kernelSymbol(absl::string_view name, uint64_t extent,
                         uint64_t grain);

/// Whether the symbol is one of a kernel with this extent and grain.
bool saysRange(absl::string_view symbol, uint64_t extent, uint64_t grain);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_KERNELSYMBOL_H
