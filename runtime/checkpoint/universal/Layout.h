//===- Layout.h - names in DeepSpeed's universal layout -------------------===//
//
//   DIR/latest_universal                 the name of the newest checkpoint
//   DIR/TAG/mp_rank_00_model_states.pt   where the run is; of ZeRO 3
//                                        zero_pp_rank_0_mp_rank_00_...
//   DIR/TAG/zero/optimizer_state.pt
//   DIR/TAG/zero/PARAMETER/fp32.pt       also exp_avg.pt, exp_avg_sq.pt,
//   step.pt
//
// As deepspeed/checkpoint/ds_to_universal.py of DeepSpeed 0.19.8 writes it, and
// its engine with `checkpoint.load_universal` reads it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_LAYOUT_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_LAYOUT_H

#include "runtime/checkpoint/Index.h"

namespace zerograph::universal {

/// The version of DeepSpeed that has this layout; its readers want to know.
inline constexpr char kVersion[] = "0.19.8";

inline constexpr char kLatest[] = "latest_universal";
inline constexpr char kZero[] = "zero";
inline constexpr char kOptimizerState[] = "optimizer_state.pt";
/// The files of ZeRO 1 and 2, and of 3.
inline constexpr const char *kModelStates[] = {
    "mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_model_states.pt"};

/// Files of a parameter, without ".pt": its values; how often it was updated.
/// The others are called as PyTorch calls an optimizer's states, and so are
/// ours.
inline constexpr char kValues[] = "fp32";
inline constexpr char kStep[] = "step";

/// Returns what such a file calls a tensor of ours.
inline std::string fileOf(const CheckpointTensor &tensor) {
  return tensor.isValues() ? kValues : tensor.role;
}

} // namespace zerograph::universal

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_LAYOUT_H
