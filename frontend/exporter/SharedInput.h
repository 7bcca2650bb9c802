//===- SharedInput.h - two inputs that an exporter made one ---------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_SHAREDINPUT_H
#define ZEROGRAPH_FRONTEND_EXPORTER_SHAREDINPUT_H

#include "frontend/Import.h"
#include "frontend/graph/Graph.h"

namespace zerograph::frontend {

/// Throws ImportError where a loss of classes compares scores with the input
/// that they are computed from, while nothing reads the values of another input
/// of the same type and shape: one tensor was passed for both when the model
/// was exported, and the exporter connects both to one input. A warning if the
/// user allows damage.
void checkSharedInput(const Graph &graph, const ImportOptions &options,
                      ImportReport &report);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_SHAREDINPUT_H
