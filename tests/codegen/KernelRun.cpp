//===- KernelRun.cpp - compiles and runs kernels in tests -----------------===//

#include "tests/codegen/KernelRun.h"
#include "tests/codegen/CudaRun.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

Library::Library(const Bytes &elf) {
  file = memfd_create("kernels", MFD_CLOEXEC);
  if (write(file, elf.data(), elf.size()) == static_cast<ssize_t>(elf.size())) {
    std::string path = "/proc/self/fd/" + std::to_string(file);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle) {
    ADD_FAILURE() << "cannot load kernels: " << dlerror();
  }
}

Library::~Library() {
  if (handle) {
    dlclose(handle);
  }
  close(file);
}

Library::Kernel Library::find(const std::string &symbol) const {
  return reinterpret_cast<Kernel>(dlsym(handle, symbol.c_str()));
}

namespace {

template <typename T>
void put(Bytes &bytes, double value) {
  T element = static_cast<T>(value);
  const char *begin = reinterpret_cast<const char *>(&element);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

template <typename T>
double number(const Bytes &bytes, size_t i) {
  T element;
  std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
  return static_cast<double>(element);
}

template <typename F>
auto dispatch(Type type, F f) {
  if (type.isF32()) {
    return f(float());
  }
  if (type.isF64()) {
    return f(double());
  }
  if (type.isInteger(64)) {
    return f(int64_t());
  }
  if (type.isInteger(32)) {
    return f(int32_t());
  }
  if (type.isInteger(16)) {
    return f(int16_t());
  }
  if (type.isUnsignedInteger(8) || type.isInteger(1)) {
    return f(uint8_t());
  }
  return f(int8_t());
}

} // namespace

Bytes zg::testing::toBytes(const Tensor &tensor) {
  Bytes bytes;
  dispatch(tensor.element, [&](auto zero) {
    for (double value : tensor.values) {
      put<decltype(zero)>(bytes, value);
    }
  });
  return bytes;
}

Tensor zg::testing::fromBytes(const Bytes &bytes, RankedTensorType type) {
  Tensor tensor = filled(type, 0);
  dispatch(tensor.element, [&](auto zero) {
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.values[i] = number<decltype(zero)>(bytes, i);
    }
  });
  return tensor;
}

CompiledKernel::CompiledKernel(const std::string &text, StringRef targetName)
    : program(text) {
  if (!program.ok()) {
    return;
  }
  program.getModule().walk([&](nn::KernelOp kernel) { op = kernel; });
  FailureOr<HostTarget> target = parseHostTarget(targetName);
  if (failed(target) || !op) {
    return;
  }
  KernelModuleBuilder builder(program.getContext(), *target);
  FailureOr<KernelInfo> info = builder.add(op);
  if (failed(info)) {
    return;
  }
  kernelInfo = *info;
  FailureOr<Bytes> elf = builder.finish();
  if (failed(elf)) {
    return;
  }
  bytes = *elf;
  library = std::make_unique<Library>(bytes);
}

void CompiledKernel::runRanges(ArrayRef<void *> buffers,
                               ArrayRef<int64_t> cuts) {
  Library::Kernel kernel = library->find(kernelInfo.symbol);
  int64_t begin = 0;
  for (int64_t cut : cuts) {
    kernel(buffers.data(), begin, cut);
    begin = cut;
  }
  kernel(buffers.data(), begin, kernelInfo.extent);
}

std::vector<Bytes> CompiledKernel::run(ArrayRef<Bytes> arguments,
                                       ArrayRef<int64_t> cuts) {
  constexpr size_t kGuard = 256;
  std::vector<Bytes> results;
  std::vector<void *> buffers;
  for (const Bytes &argument : arguments) {
    buffers.push_back(const_cast<char *>(argument.data()));
  }
  for (Type type : op->getResultTypes()) {
    results.emplace_back(nn::tensorBytes(type) + kGuard,
                         static_cast<char>(0xA5));
  }
  for (Bytes &result : results) {
    buffers.push_back(result.data());
  }
  runRanges(buffers, cuts);
  for (Bytes &result : results) {
    for (size_t i = result.size() - kGuard; i < result.size(); ++i) {
      if (result[i] != static_cast<char>(0xA5)) {
        ADD_FAILURE() << "the kernel wrote past the end of a result";
        break;
      }
    }
    result.resize(result.size() - kGuard);
  }
  return results;
}

std::vector<Tensor> CompiledKernel::run(ArrayRef<Tensor> arguments,
                                        ArrayRef<int64_t> cuts) {
  std::vector<Bytes> buffers;
  for (const Tensor &argument : arguments) {
    buffers.push_back(toBytes(argument));
  }
  std::vector<Tensor> results;
  for (auto [bytes, type] :
       llvm::zip(run(buffers, cuts), op->getResultTypes())) {
    results.push_back(fromBytes(bytes, cast<RankedTensorType>(type)));
  }
  return results;
}

Bytes CompiledKernel::runInPlace(ArrayRef<Bytes> arguments, unsigned argument,
                                 ArrayRef<int64_t> cuts) {
  std::vector<Bytes> copies(arguments.begin(), arguments.end());
  std::vector<void *> buffers;
  for (Bytes &copy : copies) {
    buffers.push_back(copy.data());
  }
  buffers.push_back(copies[argument].data());
  runRanges(buffers, cuts);
  return copies[argument];
}

std::vector<Tensor> CompiledKernel::randomArguments(unsigned seed, double low,
                                                    double high) {
  std::vector<Tensor> arguments;
  for (Type type : op->getOperandTypes()) {
    bool isBool = cast<RankedTensorType>(type).getElementType().isInteger(1);
    arguments.push_back(
        randomTensor(type, seed++, isBool ? 0 : low, isBool ? 2 : high));
    for (double &value : arguments.back().values) {
      value = isBool ? value != 0 : value;
      if (arguments.back().element.isF32()) {
        value = static_cast<float>(value);
      }
    }
  }
  return arguments;
}

namespace {

void expectClose(const Tensor &expected, const Tensor &got, double tolerance) {
  ASSERT_EQ(expected.values.size(), got.values.size());
  int shown = 0;
  for (size_t i = 0; i < expected.values.size() && shown < 5; ++i) {
    double e = expected.values[i], g = got.values[i];
    if (expected.element.isF32()) {
      e = static_cast<float>(e);
    }
    if (std::isnan(e) && std::isnan(g)) {
      continue;
    }
    if (e == g) {
      continue;
    }
    bool close = isa<FloatType>(expected.element) &&
                 std::abs(e - g) <= tolerance * std::max(1.0, std::abs(e));
    if (!close) {
      ++shown;
      ADD_FAILURE() << "element " << i << ": expected " << e << ", got " << g;
    }
  }
}

void expectSameBits(ArrayRef<Bytes> expected, ArrayRef<Bytes> got,
                    const char *what) {
  for (auto [i, e, g] : llvm::enumerate(expected, got)) {
    auto [at, other] = std::mismatch(e.begin(), e.end(), g.begin());
    EXPECT_TRUE(at == e.end())
        << what << ": result " << i << " differs at byte " << at - e.begin();
  }
}

void expectSameOnCuda(nn::KernelOp kernel, ArrayRef<Bytes> expected,
                      ArrayRef<Bytes> got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    auto type = cast<RankedTensorType>(kernel->getResult(i).getType());
    EXPECT_TRUE(sameBits(type.getElementType(), expected[i], got[i]))
        << "result " << i << " differs on CUDA";
  }
}

void checkKernel(CompiledKernel &kernel, const std::string &text,
                 ArrayRef<Tensor> arguments, double tolerance) {
  std::vector<Tensor> expected = evaluate(kernel.kernel(), arguments);
  std::vector<Bytes> buffers;
  for (const Tensor &argument : arguments) {
    buffers.push_back(toBytes(argument));
  }
  std::vector<Bytes> whole = kernel.run(buffers);
  for (size_t i = 0; i < whole.size(); ++i) {
    auto type = cast<RankedTensorType>(kernel.kernel()->getResult(i).getType());
    expectClose(expected[i], fromBytes(whole[i], type), tolerance);
  }
  // Every cut gives the same bits.
  int64_t extent = kernel.info().extent;
  std::vector<int64_t> cuts;
  for (int64_t cut = 1; cut < extent; cut += 1 + cut / 2) {
    cuts.push_back(cut);
  }
  expectSameBits(whole, kernel.run(buffers, cuts), "split ranges");
  CompiledKernel narrow(text, "x86-64-v3");
  ASSERT_TRUE(narrow.ok()) << narrow.diagnostics();
  expectSameBits(whole, narrow.run(buffers), "AVX2 code");
  CudaKernels cuda({kernel.kernel()});
  ASSERT_TRUE(cuda.ok());
  expectSameOnCuda(kernel.kernel(), whole, cuda.run(0, buffers));
  EXPECT_THAT(inexactLines(cuda.ptx("sm_80")), ::testing::IsEmpty());
}

} // namespace

std::string zg::testing::kernel(const std::string &a, const std::string &b,
                                const std::string &lines,
                                const std::string &result,
                                const std::string &form) {
  return "nn.program @f(%x: " + a + ", %y: " + b + ") {\n  %k = nn.kernel " +
         form + " (%a = %x, %b = %y) : (" + a + ", " + b + ") -> " + result +
         " {\n" + lines + "    nn.yield %r : " + result +
         "\n  }\n  nn.return\n}";
}

void zg::testing::expectMatchesInterpreter(
    const std::string &text, ArrayRef<std::vector<double>> arguments,
    double tolerance) {
  SCOPED_TRACE(text);
  CompiledKernel kernel(text);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  std::vector<Tensor> tensors;
  for (auto [values, type] :
       llvm::zip_equal(arguments, kernel.kernel()->getOperandTypes())) {
    tensors.push_back(filled(type, 0));
    tensors.back().values = values;
  }
  checkKernel(kernel, text, tensors, tolerance);
}

void zg::testing::expectMatchesInterpreter(const std::string &text,
                                           double tolerance, double low,
                                           double high) {
  SCOPED_TRACE(text);
  CompiledKernel kernel(text);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  checkKernel(kernel, text, kernel.randomArguments(1, low, high), tolerance);
}
