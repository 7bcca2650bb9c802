//===- Kernels.cpp - kernels of CUDA on the CPU ---------------------------===//

#include "tests/emulator/Kernels.h"

#include "tests/emulator/Block.h"
#include "tests/emulator/Instructions.h"
#include "tests/emulator/Twin.h"

#include "runtime/base/Status.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include <numeric>

using namespace zerograph;
using namespace zerograph::emulator;

Kernels::Kernels(std::unique_ptr<llvm::orc::LLJIT> jit) : jit(std::move(jit)) {}
Kernels::Kernels(Kernels &&) = default;
Kernels::~Kernels() = default;

static absl::Status toStatus(llvm::Error error) {
  return absl::InternalError(llvm::toString(std::move(error)));
}

/// The instructions that the host's kernels have as well.
static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> makeJit() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::orc::JITTargetMachineBuilder machine(
      llvm::Triple("x86_64-unknown-linux-gnu"));
  machine.addFeatures({"+avx2", "+fma", "+f16c"});
  machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return llvm::orc::LLJITBuilder()
      .setJITTargetMachineBuilder(std::move(machine))
      .create();
}

/// Bytes of shared memory that every GPU gives to a block without being asked.
static constexpr uint64_t kMostShared = 48 << 10;

/// A module belongs to its context, and the twin to one of its own.
static llvm::orc::ThreadSafeModule twinOf(const llvm::Module &module,
                                          std::vector<SharedArray> &arrays) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto twin = llvm::cantFail(llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()),
                            module.getName()),
      *context));
  arrays = makeTwin(*twin);
  return {std::move(twin), std::move(context)};
}

absl::StatusOr<Kernels> Kernels::compile(const llvm::Module &module) {
  auto jit = makeJit();
  if (!jit) {
    return toStatus(jit.takeError());
  }
  llvm::orc::SymbolMap symbols;
  for (const Instruction &instruction : instructions()) {
    symbols[(*jit)->mangleAndIntern(instruction.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(instruction.function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  }
  llvm::orc::JITDylib &library = (*jit)->getMainJITDylib();
  if (auto error = library.define(llvm::orc::absoluteSymbols(symbols))) {
    return toStatus(std::move(error));
  }
  std::vector<SharedArray> arrays;
  llvm::orc::ThreadSafeModule twin = twinOf(module, arrays);
  std::vector<std::string> missing;
  twin.withModuleDo([&](llvm::Module &code) {
    missing = missingInstructions(code);
    code.setDataLayout((*jit)->getDataLayout());
    code.setTargetTriple((*jit)->getTargetTriple().str());
  });
  if (!missing.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("the emulator has no ", absl::StrJoin(missing, ", ")));
  }
  if (auto error = (*jit)->addIRModule(std::move(twin))) {
    return toStatus(std::move(error));
  }
  Kernels kernels(std::move(*jit));
  for (SharedArray &array : arrays) {
    kernels.shared[array.kernel].push_back(std::move(array));
  }
  for (const llvm::Function &function : module) {
    if (!function.isDeclaration()) {
      std::vector<bool> &pointers = kernels.kernels[function.getName().str()];
      for (const llvm::Argument &parameter : function.args()) {
        pointers.push_back(parameter.getType()->isPointerTy());
      }
    }
  }
  return kernels;
}

absl::StatusOr<Kernels> Kernels::compile(const char *text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is no LLVM code: ", error.getMessage().str()));
  }
  return compile(*module);
}

std::optional<std::vector<bool>>
Kernels::parameters(const std::string &symbol) const {
  auto found = kernels.find(symbol);
  return found == kernels.end() ? std::nullopt : std::optional(found->second);
}

std::vector<SharedArray> Kernels::sharedOf(const std::string &symbol) const {
  auto found = shared.find(symbol);
  return found == shared.end() ? std::vector<SharedArray>() : found->second;
}

absl::Status Kernels::launch(const std::string &symbol, uint32_t grid,
                             uint32_t block, const std::vector<Buffer> &buffers,
                             uint32_t seed) const {
  std::vector<uint64_t> parameters;
  for (const Buffer &buffer : buffers) {
    parameters.push_back(reinterpret_cast<uint64_t>(buffer.begin));
  }
  return launch(symbol, grid, block, parameters, buffers, seed);
}

absl::Status Kernels::launch(const std::string &symbol, uint32_t grid,
                             uint32_t block,
                             const std::vector<uint64_t> &parameters,
                             const std::vector<Buffer> &buffers,
                             uint32_t seed) const {
  auto caller = jit->lookup(callerOf(symbol));
  if (!caller) {
    return toStatus(caller.takeError());
  }
  uint64_t together = 0;
  const std::vector<SharedArray> arrays = sharedOf(symbol);
  for (const SharedArray &array : arrays) {
    together += array.bytes;
  }
  if (together > kMostShared) {
    return absl::InternalError(
        absl::StrCat(symbol, ": the threads of a block share ", together,
                     " bytes, and a GPU has ", kMostShared));
  }
  auto *function = caller->toPtr<void (*)(const void *const *)>();
  Accesses accesses;
  for (const Buffer &buffer : buffers) {
    accesses.add(buffer);
  }
  std::vector<const void *> places;
  for (const uint64_t &parameter : parameters) {
    places.push_back(&parameter);
  }
  std::mt19937 order(seed);
  std::vector<uint32_t> numbers(grid);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), order);
  Block threads(accesses, arrays);
  for (uint32_t number : numbers) {
    absl::Status status = threads.run(
        number, block, [&] { function(places.data()); }, order);
    if (!status.ok()) {
      return annotate(status, symbol);
    }
  }
  return absl::OkStatus();
}
