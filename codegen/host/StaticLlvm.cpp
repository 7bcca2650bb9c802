//===- StaticLlvm.cpp - what a static LLVM is to do without ---------------===//
//
// Compiled with ZEROGRAPH_STATIC alone. What is defined here is not taken from
// the archives, nor is what that needs.
//
//===----------------------------------------------------------------------===//

#include "llvm/Config/llvm-config.h"

#include <cstdint>
#include <sys/random.h>
#include <vector>

#if LLVM_VERSION_MAJOR != 19
#error "look at lld's BitcodeCompiler (ELF/LTO.h) before you take this for it"
#endif

namespace lld::elf {

class BitcodeFile;
class InputFile;

/// lld's link-time optimization as lld itself sees it, over no bitcode: it is
/// asked in every link, and has nothing to add.
class BitcodeCompiler {
public:
  BitcodeCompiler();
  ~BitcodeCompiler();
  void add(BitcodeFile &file);
  std::vector<InputFile *> compile();
};

BitcodeCompiler::BitcodeCompiler() = default;
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile &file) {}
std::vector<InputFile *> BitcodeCompiler::compile() { return {}; }

} // namespace lld::elf

/// LLVM names temporary files by it; glibc has it from 2.36 on.
extern "C" uint32_t arc4random() {
  uint32_t value = 0;
  (void)!getrandom(&value, sizeof(value), 0);
  return value;
}
