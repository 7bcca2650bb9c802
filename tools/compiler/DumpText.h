//===- DumpText.h - a dump as people read it ------------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_DUMPTEXT_H
#define ZEROGRAPH_TOOLS_COMPILER_DUMPTEXT_H

#include <string>

namespace zerograph {

/// The text of a module, printed with its locations, with a comment above
/// operations that says where in the user's code they come from:
///
///     // layers.1.mlp (modeling_llama.py:176)
///     %node_mul_411 = nn.binary mul %node_silu, %node_linear : ...
///
/// The comment is left out where it is that of the operations before.
std::string withPlaces(const std::string &dump);

/// The text with the elements of each constant that would not fit a line left
/// out: `dense<"0x0000... see whole.mlir">`, which no parser takes for the
/// constant. `whole` names the file that has them. The same text if all fit.
std::string withoutLongConstants(const std::string &dump,
                                 const std::string &whole);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_DUMPTEXT_H
