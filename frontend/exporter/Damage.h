//===- Damage.h - parameters that an exporter merged or dropped -----------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_DAMAGE_H
#define ZEROGRAPH_FRONTEND_EXPORTER_DAMAGE_H

#include "frontend/Import.h"
#include "frontend/exporter/Signature.h"

namespace zerograph::frontend {

/// The advice on what to do about an LSTM with proj_size.
inline constexpr char kProjectionAdvice[] =
    "ONNX has no such LSTM, and PyTorch's exporter leaves the projection's "
    "weights (weight_hr_l0) out. Use proj_size=0, with a Linear behind the "
    "LSTM if its output is to be smaller; or, to keep the model as it is, "
    "write the cell out in plain operations, in a Python loop over the steps";

/// Tells users of somebody else's file what they can do.
inline constexpr char kWayOut[] =
    " If you cannot export it again, --allow-exporter-damage trains the file "
    "as it is: ";

/// Throws ImportError with `list` and what to do about it; if the user allows
/// damage, adds `list` as a warning instead.
void refuseOrWarn(const std::string &list, const std::string &remedy,
                  const ImportOptions &options, ImportReport &report);

/// Throws ImportError if the file lacks parameters of the exported module, or
/// holds several as one: training would tie or lose them; or if PyTorch does
/// more than the file computes: changes buffers, or stops gradients. If the
/// user allows it, adds a warning instead. Adds a note for each that is rightly
/// not there. `trained`: the initializers that training changes; damage known
/// to be of others is none.
void checkDamage(const Graph &graph, int64_t opset,
                 const ExporterSignature &signature, const std::string &loss,
                 const std::set<std::string> &trained,
                 const ImportOptions &options, ImportReport &report);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_DAMAGE_H
