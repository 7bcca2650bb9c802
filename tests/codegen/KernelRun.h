//===- KernelRun.h - compiles and runs kernels in tests -------------------===//

#ifndef ZEROGRAPH_TESTS_CODEGEN_KERNELRUN_H
#define ZEROGRAPH_TESTS_CODEGEN_KERNELRUN_H

#include "codegen/host/KernelModule.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"
#include <memory>
#include <string>
#include <vector>

namespace mlir::zg::testing {

using Bytes = std::vector<char>;

/// A loaded shared object. The file descriptor stays open: the dynamic loader
/// knows libraries by name, and a reused number would be the old library.
class Library {
public:
  explicit Library(const Bytes &elf);
  ~Library();
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  using Kernel = void (*)(void *const *, int64_t, int64_t);
  /// Null if there is no such symbol.
  Kernel find(const std::string &symbol) const;
  bool ok() const { return handle != nullptr; }

private:
  int file = -1;
  void *handle = nullptr;
};

/// The elements of a tensor as they lie in memory, and back.
Bytes toBytes(const Tensor &tensor);
Tensor fromBytes(const Bytes &bytes, RankedTensorType type);

/// One `nn.kernel` compiled for a target.
class CompiledKernel {
public:
  /// `text`: a module with one function that holds one nn.kernel. On an error
  /// `ok()` is false and `diagnostics()` says why.
  CompiledKernel(const std::string &text, StringRef target = "native");

  bool ok() const { return library && library->ok(); }
  const std::string &diagnostics() const { return program.diagnostics(); }
  const Bytes &elf() const { return bytes; }
  const KernelInfo &info() const { return kernelInfo; }
  nn::KernelOp kernel() const { return op; }

  /// Runs ranges [0, cuts[0]), [cuts[0], cuts[1]) ... to the extent. Results
  /// begin filled with 0xA5 and are followed by a guard that must stay.
  std::vector<Bytes> run(ArrayRef<Bytes> arguments,
                         ArrayRef<int64_t> cuts = {});
  std::vector<Tensor> run(ArrayRef<Tensor> arguments,
                          ArrayRef<int64_t> cuts = {});
  /// Runs the same ranges with result 0 in the place of argument `argument`.
  Bytes runInPlace(ArrayRef<Bytes> arguments, unsigned argument,
                   ArrayRef<int64_t> cuts = {});

  /// Random arguments for the kernel's operands.
  std::vector<Tensor> randomArguments(unsigned seed, double low = -3,
                                      double high = 3);

private:
  void runRanges(ArrayRef<void *> buffers, ArrayRef<int64_t> cuts);

  Program program;
  nn::KernelOp op;
  KernelInfo kernelInfo;
  Bytes bytes;
  std::unique_ptr<Library> library;
};

/// A kernel over %a and %b whose body is `lines`, yielding %r.
std::string kernel(const std::string &a, const std::string &b,
                   const std::string &lines, const std::string &result,
                   const std::string &form = "rows");

/// The kernel agrees with the interpreter within `tolerance`, relative to the
/// larger of 1 and the number, and its bits are the same for split ranges, for
/// AVX2 code and on CUDA, as the emulator has it. Integers must be equal.
void expectMatchesInterpreter(const std::string &text,
                              ArrayRef<std::vector<double>> arguments,
                              double tolerance);
/// With random arguments.
void expectMatchesInterpreter(const std::string &text, double tolerance = 2e-6,
                              double low = -3, double high = 3);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_CODEGEN_KERNELRUN_H
