//===- CudnnChoose.cpp - which engine computes a convolution --------------===//

#include "runtime/device/cuda/CudnnConvolution.h"

#include "absl/strings/str_join.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// The number of candidates, of which the first that can be used is taken; the
/// library names some forty.
constexpr int64_t kCandidates = 128;
/// The most reasons, in a message, for which engines were not taken.
constexpr size_t kMostReasons = 12;

/// The notes that keep an engine from being used, whatever the type.
constexpr std::pair<int32_t, const char *> kNever[] = {
    {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
     "its sums are made in no fixed order"},
    {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, "it rounds its inputs"},
    {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, "it rounds its sums"},
    // In these an element's error is that of the largest of its tile.
    {CUDNN_NUMERICAL_NOTE_FFT, "it transforms by FFT, which is less exact"},
    {CUDNN_NUMERICAL_NOTE_WINOGRAD,
     "it transforms by Winograd, which is less exact"}};

/// Nor if it takes more than cuDNN.
constexpr std::pair<int32_t, const char *> kNeeds[] = {
    {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION, "NVRTC compiles it"},
    {CUDNN_BEHAVIOR_NOTE_CUBLASLT_DEPENDENCY, "it needs cuBLASLt"}};

template <size_t N>
std::string firstOf(const std::pair<int32_t, const char *> (&reasons)[N],
                    const std::vector<int32_t> &notes) {
  for (const auto &[note, why] : reasons) {
    if (std::find(notes.begin(), notes.end(), note) != notes.end()) {
      return why;
    }
  }
  return {};
}

} // namespace

absl::StatusOr<std::vector<CudnnDescriptor>>
CudnnConvolution::named(int32_t mode) const {
  ZG_ASSIGN_OR_RETURN(
      CudnnDescriptor heuristic,
      CudnnDescriptor::create(device.api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  ZG_RETURN_IF_ERROR(
      heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph));
  ZG_RETURN_IF_ERROR(
      heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
  if (!device.handle) {
    ZG_RETURN_IF_ERROR(
        heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device.properties));
  }
  absl::Status status = heuristic.finalize();
  if (absl::IsUnimplemented(status)) {
    return std::vector<CudnnDescriptor>();
  }
  ZG_RETURN_IF_ERROR(status);
  return heuristic.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                               CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kCandidates);
}

absl::StatusOr<std::string>
CudnnConvolution::whyNot(const CudnnDescriptor &engine) const {
  ZG_ASSIGN_OR_RETURN(auto notes,
                      engine.values(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                    CUDNN_TYPE_NUMERICAL_NOTE,
                                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT));
  std::string why = firstOf(kNever, notes);
  // Engines of f64 multiply f64. Nothing says more of what they do with f32
  // than that it is TF32, or less.
  bool rounds = kind.shape.element_type() == plan::F32 && !kind.allow_tf32;
  if (why.empty() && rounds &&
      std::find(notes.begin(), notes.end(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE) !=
          notes.end()) {
    why = "it multiplies on tensor cores, in TF32";
  }
  if (!why.empty()) {
    return why;
  }
  ZG_ASSIGN_OR_RETURN(auto behavior,
                      engine.values(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                    CUDNN_TYPE_BEHAVIOR_NOTE,
                                    CUDNN_BEHAVIOR_NOTE_TYPE_COUNT));
  return firstOf(kNeeds, behavior);
}

absl::StatusOr<std::string> CudnnConvolution::tryEngine(CudnnDescriptor tried) {
  ZG_ASSIGN_OR_RETURN(auto engines,
                      tried.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE,
                                        CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1));
  if (engines.empty()) {
    return "it has no name";
  }
  ZG_ASSIGN_OR_RETURN(std::string why, whyNot(engines[0]));
  if (!why.empty()) {
    return why;
  }
  ZG_ASSIGN_OR_RETURN(CudnnDescriptor made,
                      CudnnDescriptor::create(
                          device.api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  ZG_RETURN_IF_ERROR(
      device.handle
          ? made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, device.handle)
          : made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device.properties));
  ZG_RETURN_IF_ERROR(made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, tried));
  // The library names engines that fail here, and says so in many ways.
  absl::Status status = made.finalize();
  if (absl::IsResourceExhausted(status)) {
    return status;
  }
  if (!status.ok()) {
    return std::string(status.message());
  }
  ZG_ASSIGN_OR_RETURN(int64_t bytes,
                      made.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  if (uint64_t(bytes) > kind.workspace) {
    return absl::StrCat("it needs a workspace of ", bytes,
                        " bytes, the plan has ", kind.workspace);
  }
  ZG_ASSIGN_OR_RETURN(chosen, CudnnEngine::read(engines[0], tried));
  needed = uint64_t(bytes);
  config = std::move(tried);
  plan = std::move(made);
  return std::string();
}

absl::Status CudnnConvolution::choose() {
  size_t count = 0;
  std::vector<std::string> reasons; // each once
  for (int32_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    ZG_ASSIGN_OR_RETURN(auto configs, named(mode));
    count += configs.size();
    for (CudnnDescriptor &candidate : configs) {
      ZG_ASSIGN_OR_RETURN(std::string why, tryEngine(std::move(candidate)));
      if (why.empty()) {
        return absl::OkStatus();
      }
      if (std::find(reasons.begin(), reasons.end(), why) == reasons.end()) {
        reasons.push_back(std::move(why));
      }
    }
  }
  if (reasons.size() > kMostReasons) {
    reasons.resize(kMostReasons);
    reasons.push_back("and more");
  }
  return absl::UnimplementedError(absl::StrCat(
      cudnnVersion(device.api),
      " has no engine for it here that gives the same bits each time, of ",
      count, " that it names", reasons.empty() ? "" : ": ",
      absl::StrJoin(reasons, "; "),
      ". --convolution generated convolves by generated kernels"));
}

absl::StatusOr<CudnnDescriptor>
CudnnConvolution::configOf(const CudnnEngine &engine) {
  parts.clear();
  std::vector<cudnnBackendDescriptor_t> knobs;
  for (const auto &[type, value] : engine.knobs) {
    ZG_ASSIGN_OR_RETURN(CudnnDescriptor knob,
                        CudnnDescriptor::create(
                            device.api, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
    ZG_RETURN_IF_ERROR(
        knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, type));
    ZG_RETURN_IF_ERROR(knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                                std::vector<int64_t>{value}));
    ZG_RETURN_IF_ERROR(knob.finalize());
    knobs.push_back(knob.get());
    parts.push_back(std::move(knob));
  }
  ZG_ASSIGN_OR_RETURN(
      CudnnDescriptor named,
      CudnnDescriptor::create(device.api, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  ZG_RETURN_IF_ERROR(named.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph));
  ZG_RETURN_IF_ERROR(named.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                               std::vector<int64_t>{engine.index}));
  if (!device.handle) {
    ZG_RETURN_IF_ERROR(
        named.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *device.properties));
  }
  ZG_RETURN_IF_ERROR(named.finalize());
  ZG_ASSIGN_OR_RETURN(
      CudnnDescriptor made,
      CudnnDescriptor::create(device.api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  ZG_RETURN_IF_ERROR(made.set(CUDNN_ATTR_ENGINECFG_ENGINE, named));
  parts.push_back(std::move(named));
  if (!knobs.empty()) {
    ZG_RETURN_IF_ERROR(made.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                int64_t(knobs.size()), knobs.data()));
  }
  ZG_RETURN_IF_ERROR(made.finalize());
  return made;
}

absl::Status CudnnConvolution::take(const CudnnEngine &engine) {
  ZG_ASSIGN_OR_RETURN(CudnnDescriptor taken, configOf(engine));
  ZG_ASSIGN_OR_RETURN(std::string why, tryEngine(std::move(taken)));
  return why.empty() ? absl::OkStatus()
                     : absl::FailedPreconditionError(absl::StrCat(
                           "the engine of the file cannot be used: ", why));
}
