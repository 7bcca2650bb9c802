//===- Ptx.cpp - LLVM's code as PTX ---------------------------------------===//

#include "codegen/cuda/Ptx.h"

#include "codegen/emit/Lower.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::zg;

/// The version that both architectures have and that drivers since CUDA 11.8
/// read.
static constexpr const char *kPtxVersion = "+ptx78";

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(const CudaTarget &target, std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  // So every product and sum says `.rn`, and ptxas contracts nothing either.
  return emit::openTargetMachine("nvptx64-nvidia-cuda",
                                 target.architecture == kEmulated
                                     ? kEmulatedAs.str()
                                     : target.architecture,
                                 kPtxVersion, error);
}

FailureOr<std::string> cuda::toPtx(llvm::Module &module,
                                   const CudaTarget &target,
                                   std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine =
      makeTargetMachine(target, error);
  if (!machine) {
    return failure();
  }
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple().str());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile)) {
    error = "LLVM cannot write PTX";
    return failure();
  }
  passes.run(module);
  return std::string(text);
}
