//===- ExportFiles.h - the files of an exported model ---------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_EXPORTFILES_H
#define ZEROGRAPH_TOOLS_CLI_EXPORTFILES_H

#include "frontend/export/Export.h"
#include "runtime/io/Overwrite.h"

namespace zerograph {

/// Writes `exported` as `output` and the files beside it. They get their names
/// once all of them are whole, the model last; a failed export leaves none.
/// `model` is the file whose data is copied, `inputs` are the files that are
/// read; an error if any of them would be written over.
absl::Status writeExported(const frontend::ExportedModel &exported,
                           const frontend::TrainedWeights &weights,
                           const std::string &model, const std::string &output,
                           std::vector<NamedFile> inputs);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_EXPORTFILES_H
