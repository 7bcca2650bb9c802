//===- PlaceWeights.h - which weight goes where ---------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORT_PLACEWEIGHTS_H
#define ZEROGRAPH_FRONTEND_EXPORT_PLACEWEIGHTS_H

#include "frontend/export/Export.h"
#include "frontend/file/ModelFile.h"

namespace zerograph::frontend {

/// Gives the model's tensors the values of `weights`. Embedded ones get their
/// bytes; for external ones `data` says which files are to be written, named
/// after `output` (without a folder), and the tensors name these. Throws
/// ImportError with all weights that have no place and need one. Gives the
/// number of those that have one.
size_t placeWeights(ModelFile &file, const std::string &output,
                    const TrainedWeights &weights, std::vector<DataFile> &data,
                    std::vector<std::string> &notes);

/// The part of placeWeights that is about files of external data. `placed`: the
/// external tensors that get other bytes.
void moveExternalData(
    ModelFile &file, const std::string &output,
    const std::map<const onnx::TensorProto *, std::string> &placed,
    std::vector<DataFile> &data, std::vector<std::string> &notes);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORT_PLACEWEIGHTS_H
