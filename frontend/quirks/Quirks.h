//===- Quirks.h - the quirks of exporters that are known ------------------===//

#ifndef ZEROGRAPH_FRONTEND_QUIRKS_QUIRKS_H
#define ZEROGRAPH_FRONTEND_QUIRKS_QUIRKS_H

#include "frontend/walk/Quirk.h"

namespace zerograph::frontend {

#define QUIRK(name) extern const Quirk k##name;
#include "frontend/quirks/Quirks.def"
#undef QUIRK

/// Advises on an LSTM with proj_size.
inline constexpr char kProjectionAdvice[] =
    "ONNX has no such LSTM, and PyTorch's exporter leaves the projection's "
    "weights (weight_hr_l0) out. Use proj_size=0, with a Linear after the "
    "LSTM if its output is to be smaller; or, to keep the model as it is, "
    "write the cell out in plain operations, in a Python loop over the steps";

/// Returns a Finding's remedy: `advice`, and that --allow-exporter-damage
/// trains the file as it is, so that `otherwise` holds.
std::string remedy(const std::string &advice, const std::string &otherwise);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_QUIRKS_QUIRKS_H
