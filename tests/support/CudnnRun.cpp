//===- CudnnRun.cpp - one convolution by cuDNN ----------------------------===//

#include "tests/support/CudnnRun.h"

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/Cudnn.h"
#include "runtime/device/cuda/LibraryWorkspace.h"
#include "runtime/plan/Describe.h"
#include "runtime/state/Convert.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::testing;

OneConvolution::OneConvolution(const ConvolutionShape &shape,
                               plan::ConvolutionKind kind,
                               plan::ElementType type, uint64_t workspace,
                               bool tf32)
    : ConvolutionCase(shape, kind, type) {
  plan.add_devices()->set_device("cuda");
  plan.mutable_devices(0)->set_allow_tf32(tf32);
  plan::Program &program = *plan.add_programs();
  program.set_name("step");
  step = program.add_steps();
  step->set_name("conv");
  *step->mutable_convolution() = convolution;
  plan.add_arenas()->set_alignment(64);
  for (int tensor : order()) {
    add(tensors[size_t(tensor)].size() * elementBytes());
  }
  if (workspace > 0) {
    add(workspace + kWorkspaceSlack);
  }
}

void OneConvolution::add(uint64_t bytes) {
  plan::Slice &slice = *plan.add_slices();
  slice.set_offset(arena);
  slice.set_bytes(bytes);
  plan::Access &access = *step->add_accesses();
  access.set_slice(uint32_t(plan.slices_size() - 1));
  access.set_bytes(bytes);
  arena += (bytes + 63) / 64 * 64;
}

uint64_t OneConvolution::elementBytes() const {
  return elementSize(convolution.element_type());
}

std::string OneConvolution::memory() const {
  std::string memory(arena, char(0xff));
  for (int access : {0, 1}) {
    const auto &values = tensors[size_t(order()[size_t(access)])];
    char *to = memory.data() + offset(access);
    if (convolution.element_type() == plan::F64) {
      std::memcpy(to, values.data(), values.size() * sizeof(double));
      continue;
    }
    std::vector<float> floats(values.begin(), values.end());
    convertElements(plan::F32, reinterpret_cast<std::byte *>(floats.data()),
                    convolution.element_type(),
                    reinterpret_cast<std::byte *>(to), floats.size());
  }
  return memory;
}

std::vector<double> OneConvolution::result(const std::string &memory) const {
  const size_t count = tensors[size_t(order()[2])].size();
  const char *from = memory.data() + offset(2);
  std::vector<double> values(count);
  if (convolution.element_type() == plan::F64) {
    std::memcpy(values.data(), from, count * sizeof(double));
    return values;
  }
  std::vector<float> floats(count);
  convertElements(convolution.element_type(),
                  reinterpret_cast<const std::byte *>(from), plan::F32,
                  reinterpret_cast<std::byte *>(floats.data()), count);
  return std::vector<double>(floats.begin(), floats.end());
}

absl::StatusOr<std::string>
zerograph::testing::runCudnn(const OneConvolution &one, std::string &memory,
                             const std::string &file) {
  const CudaApi &api = **cudaApi();
  ZG_ASSIGN_OR_RETURN(auto context, CudaContext::open(api, 0));
  ZG_ASSIGN_OR_RETURN(Algorithms algorithms, Algorithms::open(file));
  ZG_ASSIGN_OR_RETURN(auto library, Cudnn::open(context, one.plan, algorithms));
  ZG_RETURN_IF_ERROR(algorithms.finish());
  ZG_ASSIGN_OR_RETURN(auto buffer,
                      makeCudaBuffer(context, plan::DEVICE, one.arena, 64));
  ZG_RETURN_IF_ERROR(buffer->write(0, memory.data(), memory.size()));
  StepBinding binding;
  binding.step = one.step;
  for (int i = 0; i < one.plan.slices_size(); ++i) {
    binding.ranges.push_back(
        {buffer.get(), one.offset(i), one.plan.slices(i).bytes()});
  }
  ZG_ASSIGN_OR_RETURN(auto operation, library->bind(binding));
  CUstream stream = nullptr;
  ZG_CUDA(api, cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, 0);
  absl::Status status = operation->issue({stream, 0});
  status.Update(
      cudaStatus(api, api.cuStreamSynchronize(stream), "cuStreamSynchronize"));
  ZG_CUDA(api, cuStreamDestroy, stream);
  ZG_RETURN_IF_ERROR(status);
  ZG_RETURN_IF_ERROR(buffer->read(0, memory.data(), memory.size()));
  return library->choices();
}
