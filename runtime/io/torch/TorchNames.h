//===- TorchNames.h - what a file of torch.save names ---------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_TORCHNAMES_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_TORCHNAMES_H

#include "runtime/plan/plan.pb.h"

#include <iterator>

namespace zerograph::torch_file {

inline constexpr char kTensor[] = "torch._utils._rebuild_tensor_v2";
inline constexpr char kParameter[] = "torch._utils._rebuild_parameter";
inline constexpr char kSize[] = "torch.Size";

/// By the class of a storage, the type of its elements.
struct Storage {
  const char *name;
  plan::ElementType type;
};
inline constexpr Storage kStorages[] = {
    {"torch.FloatStorage", plan::F32}, {"torch.DoubleStorage", plan::F64},
    {"torch.HalfStorage", plan::F16},  {"torch.BFloat16Storage", plan::BF16},
    {"torch.LongStorage", plan::I64},  {"torch.IntStorage", plan::I32},
    {"torch.ShortStorage", plan::I16}, {"torch.CharStorage", plan::I8},
    {"torch.ByteStorage", plan::U8},   {"torch.BoolStorage", plan::BOOL},
};

} // namespace zerograph::torch_file

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_TORCHNAMES_H
