//===- SavedImport.h - a model that is imported once ----------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_SAVEDIMPORT_H
#define ZEROGRAPH_TOOLS_COMPILER_SAVEDIMPORT_H

#include "tools/compiler/Compile.h"

#include <memory>

namespace zerograph {

/// A model as the importer left it, for plans that differ in what the importer
/// does not ask for, as a strategy. Several threads may compile it.
struct SavedImport {
  std::string bytecode;    ///< of its MLIR module
  std::string loss_output; ///< empty: to be run forward
  std::string precision;   ///< of the options, or else of the model
  CompileResult said;      ///< no plan: what the importer has to say
};

/// Imports the model of the options.
absl::StatusOr<std::shared_ptr<const SavedImport>>
saveImport(const CompileOptions &options);

/// A model of which some equal blocks were kept, and how many it had.
struct ShortImport {
  std::shared_ptr<const SavedImport> import;
  uint64_t blocks = 0;
};

/// Keeps so many of the equal blocks of a model (see EqualBlocks.h): all,
/// unchanged, where it has no more than that. One that is to be evaluated too
/// counts as one without equal blocks.
absl::StatusOr<ShortImport> keepBlocks(const SavedImport &whole, uint64_t kept);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_SAVEDIMPORT_H
