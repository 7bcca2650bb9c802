//===- Cudnn.h - cuDNN on the emulated GPU --------------------------------===//
//
// Convolutions are tasks of the emulated streams. What a real library may get
// away with is an error here: attributes that are missing, of another type or
// set too late, descriptors that are gone while others were made of them,
// operands aligned worse than was said. The heuristic names engines as a real
// one may: first those whose sums have no fixed order, that round, that need
// more than there is.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_CUDNN_H
#define ZEROGRAPH_TESTS_EMULATOR_CUDNN_H

#include "runtime/device/cuda/CudnnApi.h"
#include "tests/emulator/Convolution.h"
#include "tests/emulator/Gpu.h"

namespace zerograph::emulator {

/// An engine, as the library names it.
struct CudnnEngineModel {
  int64_t index;
  std::vector<int32_t> notes, behavior;
  std::map<int32_t, int64_t> knobs; ///< and the most that each can be
  Convolution::Sums sums;
  /// The status that finalizing its plan gives.
  cudnnStatus_t finalized = CUDNN_STATUS_SUCCESS;

  uint64_t workspaceBytes(const Convolution &convolution) const;
  /// Those that the heuristic names in a mode, in its order.
  static std::vector<const CudnnEngineModel *> namedIn(int32_t mode);
  /// Null if there is none.
  static const CudnnEngineModel *find(int64_t index);
};

/// While it lives, `cudnnApi` of this process gives it. One at a time; the GPU
/// outlives it, counts its calls, makes them fail and takes its complaints.
class Cudnn {
public:
  explicit Cudnn(Gpu &gpu, size_t version = 91900);
  ~Cudnn();
  Cudnn(const Cudnn &) = delete;
  Cudnn &operator=(const Cudnn &) = delete;

  /// From now on finalizing any engine's plan gives this.
  void failEngines(cudnnStatus_t with) { engines_fail = with; }

  /// Returns what a program left: "1 handles, 2 descriptors"; empty if nothing.
  std::string leftovers() const;
  /// Returns how many convolutions were computed.
  uint64_t convolutions() const { return convolution_count; }
  /// Returns by which engines.
  const std::set<int64_t> &engines() const { return engines_used; }

private:
  friend struct CudnnCalls;
  /// The value that an attribute was set to.
  struct Value {
    int type = 0;
    int64_t count = 0;
    std::string bytes;
  };
  struct Descriptor {
    int type = 0;
    bool finalized = false;
    std::map<int, Value> values;
    std::vector<const void *> made_of; ///< descriptors
    Convolution convolution;           ///< from an operation on
    const CudnnEngineModel *engine = nullptr;
    std::map<int32_t, int64_t> knobs;
  };
  struct Handle {
    unsigned device = 0;
    CUstream stream = nullptr;
    /// The recording that it was last used in; 0: none.
    uint64_t recording = 0;
  };

  /// Notes what is wrong; what a function returns then.
  cudnnStatus_t refuse(const std::string &what);
  /// Null, with a complaint, unless it and all that it is made of are there and
  /// finalized; it itself need not be finalized while it is being made.
  Descriptor *find(const void *descriptor, const char *call,
                   bool finalized = true);
  cudnnStatus_t set(Descriptor &descriptor, int name, int type, int64_t count,
                    const void *from);
  cudnnStatus_t get(Descriptor &descriptor, int name, int type, int64_t room,
                    int64_t *count, void *to);
  /// Gives descriptors that the caller made their content.
  cudnnStatus_t fill(const std::vector<Descriptor> &content, int64_t room,
                     int64_t *count, void *to);
  cudnnStatus_t finalize(Descriptor &descriptor);
  std::string finish(Descriptor &descriptor);
  std::string finishOperation(Descriptor &descriptor);
  /// Engines may launch on streams of the handle's own, which are part of a
  /// recording until that ends. Whether it is used besides.
  bool isTorn(Handle &handle);
  cudnnStatus_t execute(Handle &handle, const Descriptor &plan,
                        const Descriptor &pack);
  Descriptor engineOf(const Descriptor &of) const;

  Gpu &gpu;
  size_t version;
  cudnnStatus_t engines_fail = CUDNN_STATUS_SUCCESS;
  uint64_t convolution_count = 0;
  std::set<int64_t> engines_used;
  /// Holds, of convolutions, engines whose kernels have been loaded.
  std::set<std::string> loaded;
  std::map<const void *, std::unique_ptr<Handle>> handles;
  std::map<const void *, std::unique_ptr<Descriptor>> descriptors;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_CUDNN_H
