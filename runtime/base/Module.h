//===- Module.h - this project's own modules, opened at run time ----------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_MODULE_H
#define ZEROGRAPH_RUNTIME_BASE_MODULE_H

#include "runtime/base/Status.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <string>

namespace zerograph {

/// Returns the file that this code was loaded from: the program, or
/// libzerograph.so in a program of another's.
inline std::filesystem::path loadedFrom() {
  static const char here = 0;
  std::error_code error;
  Dl_info info;
  link_map *map = nullptr;
  // A program has no name there.
  if (dladdr1(&here, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) ==
          0 ||
      map == nullptr || *map->l_name == 0) {
    return std::filesystem::read_symlink("/proc/self/exe", error);
  }
  return std::filesystem::canonical(map->l_name, error);
}

/// Opens a module, which lies in the folder lib beside that of the program, or
/// of the library, and finds a symbol in it. It stays open. The error names the
/// file and says what is wrong with it, not what to do.
inline absl::StatusOr<void *> openModule(const char *name, const char *symbol) {
  std::string file = loadedFrom().parent_path().parent_path() / "lib" / name;
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
