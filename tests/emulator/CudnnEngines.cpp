//===- CudnnEngines.cpp - the engines of the emulated cuDNN ---------------===//

#include "tests/emulator/Cudnn.h"

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

using Sums = Convolution::Sums;

constexpr int64_t kPlain = 0, kHuge = 26;
constexpr int kTile = 2, kParts = 12; // types of knobs

/// In the heuristic's order.
const std::vector<CudnnEngineModel> &all() {
  static const std::vector<CudnnEngineModel> kEngines = {
      {20, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {}, {}, Sums::AnyOrder},
      {21, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, {{kTile, 8}}, Sums::Rough},
      {22, {CUDNN_NUMERICAL_NOTE_WINOGRAD}, {}, {}, Sums::Rough},
      {23, {CUDNN_NUMERICAL_NOTE_FFT}, {}, {}, Sums::Rough},
      {24, {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, {}, {}, Sums::Rough},
      {25,
       {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION},
       {},
       {},
       Sums::Rough},
      {kHuge, {}, {}, {}, Sums::Rough},
      {27, {}, {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION}, {}, Sums::Rough},
      {28, {}, {CUDNN_BEHAVIOR_NOTE_CUBLASLT_DEPENDENCY}, {}, Sums::Rough},
      {29, {}, {}, {}, Sums::Rough, CUDNN_STATUS_NOT_SUPPORTED},
      {31, {}, {}, {}, Sums::Rough, CUDNN_STATUS_INTERNAL_ERROR},
      {30, {}, {}, {{kTile, 4}, {kParts, 2}}, Sums::Halves},
      {kPlain, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, {}, {}, Sums::Plain}};
  return kEngines;
}

} // namespace

uint64_t
CudnnEngineModel::workspaceBytes(const Convolution &convolution) const {
  if (index == kHuge) {
    return uint64_t(1) << 40;
  }
  return sums == Sums::Halves  ? convolution.workspaceBytes()
         : sums == Sums::Rough ? 512 // of which nothing is used
                               : 0;
}

std::vector<const CudnnEngineModel *> CudnnEngineModel::namedIn(int32_t mode) {
  std::vector<const CudnnEngineModel *> named;
  for (const CudnnEngineModel &engine : all()) {
    bool simple = engine.index == kPlain || engine.index == 20;
    bool fallback = mode == CUDNN_HEUR_MODE_FALLBACK;
    if (fallback ? simple : engine.index != kPlain) {
      named.push_back(&engine);
    }
  }
  return named;
}

const CudnnEngineModel *CudnnEngineModel::find(int64_t index) {
  for (const CudnnEngineModel &engine : all()) {
    if (engine.index == index) {
      return &engine;
    }
  }
  return nullptr;
}
