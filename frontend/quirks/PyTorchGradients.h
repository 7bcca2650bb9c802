//===- PyTorchGradients.h - gradients that a file does not tell -----------===//

#ifndef ZEROGRAPH_FRONTEND_QUIRKS_PYTORCHGRADIENTS_H
#define ZEROGRAPH_FRONTEND_QUIRKS_PYTORCHGRADIENTS_H

#include "frontend/walk/Op.h"

namespace zerograph::frontend {

// An operator of ONNX stands for several functions of PyTorch whose gradients
// differ. These tell which function a node was made of.

/// Returns whether the gradient passes where x equals a bound of a Clip, or of
/// the Max or Min that clamp with one bound becomes: that of clamp does before
/// PyTorch 2.14. That of hardtanh and relu6, which become Clips too, never
/// does. Where the file does not say which it was, a Clip of two bounds is one
/// of these.
bool passesAtBounds(const Op &op);

/// Returns whether the first of equal extremes gets the whole gradient of a
/// ReduceMax or ReduceMin along `axes` (not negative) of an input of `rank`
/// dims. PyTorch does so in max(dim) and min(dim), which return the place too;
/// its amax and amin, and max and min of everything, share the gradient.
///
/// The newer exporter says which function a node is. Otherwise it is max(dim)
/// if an ArgMax finds the place, or if the older exporter reduces one axis: it
/// writes amax likewise, which is the rarer.
bool choosesFirst(Op &op, const std::vector<int64_t> &axes);

/// Returns whether no gradient flows through an Identity: it was detach().
bool stopsGradient(const onnx::NodeProto &node);

/// Returns an embedding's padding_idx: the row of the table that gets no
/// gradient from this lookup.
std::optional<int64_t> paddingRow(const Op &op);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_QUIRKS_PYTORCHGRADIENTS_H
