//===- Link.cpp - objects to a shared object ------------------------------===//

#include "codegen/host/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

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
  std::string output = pathOf("kernels.so"), log = pathOf("log");
  std::vector<std::string> inputs;
  for (auto [i, object] : llvm::enumerate(objects)) {
    inputs.push_back(pathOf("kernels" + std::to_string(i) + ".o"));
    if (std::error_code error = writeFile(inputs.back(), object)) {
      emitError(location, "cannot write ")
          << inputs.back() << ": " << error.message();
      return failure();
    }
  }
  SmallVector<StringRef> arguments = {ZEROGRAPH_LLD,
                                      "-shared",
                                      "--build-id=none",
                                      "--strip-all",
                                      "-z",
                                      "defs",
                                      "--hash-style=gnu",
                                      "-z",
                                      "noexecstack",
                                      "-o",
                                      output};
  llvm::append_range(arguments, inputs);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log),
                                          StringRef(log)};
  std::string error;
  int status = llvm::sys::ExecuteAndWait(ZEROGRAPH_LLD, arguments,
                                         /*Env=*/std::nullopt, redirects,
                                         /*SecondsToWait=*/60,
                                         /*MemoryLimit=*/0, &error);
  if (status != 0) {
    auto text = llvm::MemoryBuffer::getFile(log);
    emitError(location, "linking kernels with " ZEROGRAPH_LLD " failed: ")
        << error << (text ? (*text)->getBuffer() : StringRef());
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
