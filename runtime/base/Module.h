//===- Module.h - this project's own modules, opened at run time ----------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_MODULE_H
#define ZEROGRAPH_RUNTIME_BASE_MODULE_H

#include "runtime/base/Status.h"

#include <dlfcn.h>
#include <filesystem>
#include <string>

namespace zerograph {

/// Opens a module, which lies in the folder lib beside that of the program, and
/// finds a symbol in it. It stays open. The error names the file and says
/// what is wrong with it, not what to do.
inline absl::StatusOr<void *> openModule(const char *name, const char *symbol) {
  std::error_code error;
  std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error);
  std::string file = program.parent_path().parent_path() / "lib" / name;
  void *module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) {
    return absl::FailedPreconditionError(dlerror());
  }
  void *found = dlsym(module, symbol);
  if (!found) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, " is of another version of Zerograph"));
  }
  return found;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_MODULE_H
