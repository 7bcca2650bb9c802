//===- Link.cpp - objects to a shared object ------------------------------===//

#include "codegen/host/Compile.h"

#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace mlir::zg;

namespace {

/// Refuses symbols that nothing in the object defines: a kernel that calls
/// into a library would have that library's bits, or fail to load.
LogicalResult checkDefined(ArrayRef<char> object, Location location) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(
      StringRef(object.data(), object.size()), "kernels.o"));
  if (!file) {
    return emitError(location, "the generated object cannot be read: ")
           << llvm::toString(file.takeError());
  }
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      return emitError(location, "the generated object has a broken symbol");
    }
    if (*flags & llvm::object::SymbolRef::SF_Undefined && !name->empty()) {
      return emitError(location, "generated kernels need the symbol '")
             << *name << "', which no kernel defines; an op was lowered to a "
             << "library call";
    }
  }
  return success();
}

std::error_code writeFile(StringRef path, ArrayRef<char> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error) {
    return error;
  }
  stream.write(bytes.data(), bytes.size());
  stream.close();
  error = stream.error();
  stream.clear_error();
  return error;
}

/// Runs lld, which is linked into this program. Returns what it complains of;
/// nothing where all went well.
std::string runLld(ArrayRef<const char *> arguments) {
  // lld's state is global.
  static std::mutex mutex;
  static bool broken = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (broken) {
    return "the linker crashed before";
  }
  std::string said;
  llvm::raw_string_ostream stream(said);
  // Without this, lld's fatal errors (a full disk) end the process: lldMain
  // returns from them only where recovery is enabled, and says then that it
  // cannot run again.
  llvm::CrashRecoveryContext::Enable();
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  llvm::CrashRecoveryContext::Disable();
  broken = !result.canRunAgain;
  if (result.retCode == 0) {
    return "";
  }
  return said.empty() ? "no reason given" : said;
}

} // namespace

FailureOr<std::vector<char>> host::linkSharedObject(ArrayRef<Object> objects,
                                                    Location location) {
  for (const Object &object : objects) {
    if (failed(checkDefined(object, location))) {
      return failure();
    }
  }
  SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("zerograph", folder)) {
    emitError(location, "no temporary folder for linking kernels: ")
        << error.message();
    return failure();
  }
  auto remove = llvm::make_scope_exit(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  auto pathOf = [&](StringRef name) {
    SmallString<128> path = folder;
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  std::string output = pathOf("kernels.so");
  std::vector<std::string> inputs;
  for (auto [i, object] : llvm::enumerate(objects)) {
    inputs.push_back(pathOf("kernels" + std::to_string(i) + ".o"));
    if (std::error_code error = writeFile(inputs.back(), object)) {
      emitError(location, "cannot write ")
          << inputs.back() << ": " << error.message();
      return failure();
    }
  }
  // One thread is soon done, and leaves no others in this process.
  SmallVector<const char *> arguments = {
      "ld.lld",      "--threads=1", "-shared", "--build-id=none",
      "--strip-all", "-z",          "defs",    "--hash-style=gnu",
      "-z",          "noexecstack", "-o",      output.c_str()};
  for (const std::string &input : inputs) {
    arguments.push_back(input.c_str());
  }
  if (std::string error = runLld(arguments); !error.empty()) {
    emitError(location, "linking kernels with lld failed: ") << error;
    return failure();
  }
  auto linked = llvm::MemoryBuffer::getFile(output);
  if (!linked) {
    emitError(location, "cannot read ")
        << output << ": " << linked.getError().message();
    return failure();
  }
  StringRef bytes = (*linked)->getBuffer();
  return std::vector<char>(bytes.begin(), bytes.end());
}
