//===- Kernels.cpp - kernels of CUDA on the CPU ---------------------------===//

#include "tests/emulator/Kernels.h"

#include "tests/emulator/Instructions.h"

#include "runtime/base/Status.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

#include <numeric>

using namespace zerograph;
using namespace zerograph::emulator;

Kernels::Kernels() = default;
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
  return llvm::orc::LLJITBuilder()
      .setJITTargetMachineBuilder(std::move(machine))
      .create();
}

/// Makes the functions that code calls known to it.
static llvm::Error defineInstructions(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define(kTouch, touch);
  for (const Instruction &instruction : instructions()) {
    define(instruction.name, instruction.execute);
  }
  return jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols)));
}

/// Registers are variables until here.
static void simplify(llvm::Module &module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::PromotePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  for (llvm::Function &function : module) {
    if (!function.isDeclaration()) {
      passes.run(function, functions);
    }
  }
}

/// Bytes of shared memory that every GPU gives to a block without being asked.
static constexpr uint64_t kMostShared = 48 << 10;

static absl::Status checkShared(const std::string &symbol,
                                const std::vector<SharedArray> &arrays) {
  uint64_t together = 0;
  for (const SharedArray &array : arrays) {
    together += array.bytes;
  }
  return together <= kMostShared
             ? absl::OkStatus()
             : absl::InternalError(absl::StrCat(
                   symbol, ": the threads of a block share ", together,
                   " bytes, and a GPU has ", kMostShared));
}

absl::StatusOr<Kernels> Kernels::compile(llvm::StringRef ptx) {
  ZG_ASSIGN_OR_RETURN(ptx::Text text, ptx::parse(ptx));
  Kernels kernels;
  kernels.architecture = text.target;
  for (const ptx::Array &array : text.global) {
    std::vector<uint8_t> values = array.values;
    values.resize(array.bytes);
    Arrays &arrays =
        array.values.empty() ? kernels.variables : kernels.constants;
    arrays[array.name.str()] = std::move(values);
  }
  auto jit = makeJit();
  if (!jit) {
    return toStatus(jit.takeError());
  }
  kernels.jit = std::move(*jit);
  if (auto error = defineInstructions(*kernels.jit)) {
    return toStatus(std::move(error));
  }
  ZG_RETURN_IF_ERROR(kernels.add(text));
  return kernels;
}

absl::Status Kernels::add(const ptx::Text &text) {
  auto addressOf = [&](llvm::StringRef name) {
    auto found = variables.find(name.str());
    const auto &bytes =
        found != variables.end() ? found->second : constants.at(name.str());
    return reinterpret_cast<uint64_t>(bytes.data());
  };
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("kernels", *context);
  module->setDataLayout(jit->getDataLayout());
  module->setTargetTriple(jit->getTargetTriple().str());
  for (const ptx::Kernel &kernel : text.kernels) {
    Kernel &made = kernels[kernel.name.str()];
    ZG_ASSIGN_OR_RETURN(made.shared,
                        ptx::addKernel(kernel, text, *module, addressOf));
    ZG_RETURN_IF_ERROR(checkShared(kernel.name.str(), made.shared));
    made.parameters = kernel.parameters.size();
    made.threads = kernel.threads;
  }
  simplify(*module);
  if (auto error = jit->addIRModule({std::move(module), std::move(context)})) {
    return toStatus(std::move(error));
  }
  for (auto &[symbol, kernel] : kernels) {
    auto function = jit->lookup(symbol);
    if (!function) {
      return toStatus(function.takeError());
    }
    kernel.function = function->toPtr<ptx::ThreadFunction>();
  }
  return absl::OkStatus();
}

std::optional<size_t> Kernels::parameters(const std::string &symbol) const {
  auto found = kernels.find(symbol);
  return found == kernels.end() ? std::nullopt
                                : std::optional(found->second.parameters);
}

std::vector<Buffer> Kernels::counters() const {
  std::vector<Buffer> found;
  for (auto &[name, bytes] : variables) {
    Buffer buffer{name, bytes.data(), bytes.size(), /*element=*/0};
    buffer.counts = true;
    found.push_back(buffer);
  }
  return found;
}

Accesses Kernels::watch(const std::vector<Buffer> &buffers) const {
  Accesses accesses;
  for (const Buffer &buffer : buffers) {
    accesses.add(buffer);
  }
  for (const auto &[name, values] : constants) {
    accesses.add({name, const_cast<uint8_t *>(values.data()), values.size(), 0,
                  /*mayWrite=*/false});
  }
  // Those that `buffers` has come first.
  for (const Buffer &counter : counters()) {
    accesses.add(counter);
  }
  return accesses;
}

absl::Status Kernels::launch(const std::string &symbol, uint32_t grid,
                             uint32_t block, const std::vector<Buffer> &buffers,
                             uint32_t seed, Traffic *traffic) const {
  std::vector<uint64_t> parameters;
  for (const Buffer &buffer : buffers) {
    parameters.push_back(reinterpret_cast<uint64_t>(buffer.begin));
  }
  return launch(symbol, grid, block, parameters, buffers, seed, traffic);
}

absl::Status Kernels::launch(const std::string &symbol, uint32_t grid,
                             uint32_t block,
                             const std::vector<uint64_t> &parameters,
                             const std::vector<Buffer> &buffers, uint32_t seed,
                             Traffic *traffic) const {
  auto found = kernels.find(symbol);
  if (found == kernels.end()) {
    return absl::InternalError(absl::StrCat("there is no kernel ", symbol));
  }
  const Kernel &kernel = found->second;
  if (kernel.threads != 0 && kernel.threads != block) {
    return absl::InternalError(
        absl::StrCat(symbol, " is launched with blocks of ", block,
                     " threads, and needs ", kernel.threads));
  }
  if (kernel.parameters != parameters.size()) {
    return absl::InternalError(
        absl::StrCat(symbol, " is launched with ", parameters.size(),
                     " parameters, and has ", kernel.parameters));
  }
  Accesses accesses = watch(buffers);
  std::vector<const void *> places;
  for (const uint64_t &parameter : parameters) {
    places.push_back(&parameter);
  }
  std::mt19937 order(seed);
  std::vector<uint32_t> numbers(grid);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), order);
  std::optional<TrafficRecorder> recorder;
  if (traffic) {
    recorder.emplace(*traffic);
  }
  uint64_t instructions = 0;
  Block threads(accesses, kernel.shared, recorder ? &*recorder : nullptr);
  const std::vector<void *> shared = threads.shared();
  for (uint32_t number : numbers) {
    absl::Status status = threads.run(
        number, block,
        [&] {
          kernel.function(places.data(), shared.data(), threads.thread(),
                          number, &instructions);
        },
        order);
    if (!status.ok()) {
      return annotate(status, symbol);
    }
  }
  if (traffic) {
    traffic->instructions += instructions;
  }
  return absl::OkStatus();
}
