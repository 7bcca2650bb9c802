//===- FoldedWeights.h - weights computed while exporting -----------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_FOLDEDWEIGHTS_H
#define ZEROGRAPH_FRONTEND_EXPORTER_FOLDEDWEIGHTS_H

#include "frontend/exporter/Signature.h"
#include "frontend/file/ModelFile.h"

namespace zerograph::frontend {

/// The exporter's optimizer takes initial weights for constants, and computes
/// what follows from them: in place of Transpose(weight) stands an initializer
/// that no gradient would change. Finds those that a product reads and that the
/// exporter lists as nothing, and moves to `signature.folded`
///   - those that hold a listed parameter's values, in other places or in
///     another shape: reads the bytes of both, and in doubt, where a file is
///     not there, goes by the shapes;
///   - while `signature.absent` names parameters, those whose names are of
///     operators on weights, with the names of all parameters that are gone:
///     each was made of one of these.
/// Others, such as tables of cosines, it adds to `signature.computed`.
void findFoldedWeights(const ModelFile &file, const Graph &graph,
                       ExporterSignature &signature);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_FOLDEDWEIGHTS_H
