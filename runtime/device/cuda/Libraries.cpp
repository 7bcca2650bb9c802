//===- Libraries.cpp - NVIDIA's libraries, opened at run time -------------===//

#include "runtime/device/cuda/Libraries.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <unistd.h>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Folders, each once, that exist.
class Folders {
public:
  void add(const fs::path &folder) {
    std::error_code none;
    fs::path real = fs::canonical(folder, none);
    if (!none && fs::is_directory(real, none) &&
        std::find(list.begin(), list.end(), real.string()) == list.end()) {
      list.push_back(real.string());
    }
  }

  /// Adds the folders of an installation of Python:
  /// PREFIX/lib/python3.11/site-packages, or Debian's dist-packages; the newest
  /// first.
  void addPrefix(const fs::path &prefix) {
    std::error_code none;
    std::vector<fs::path> versions;
    // Its ++ would throw.
    for (fs::directory_iterator entry(prefix / "lib", none), end;
         !none && entry != end; entry.increment(none)) {
      if (entry->path().filename().string().rfind("python3", 0) == 0) {
        versions.push_back(entry->path());
      }
    }
    std::sort(versions.begin(), versions.end(), isNewer);
    for (const fs::path &version : versions) {
      add(version / "site-packages");
      add(version / "dist-packages");
    }
  }

  std::vector<std::string> list;

private:
  /// python3.11 is newer than python3.9, and both than python3.
  static bool isNewer(const fs::path &a, const fs::path &b) {
    std::string x = a.filename().string(), y = b.filename().string();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  }
};

/// A virtual environment's python3 is a link to the one that it was made of:
/// the packages are beside the link, and beside what it links to.
void addInterpreters(Folders &folders) {
  for (absl::string_view text : absl::StrSplit(variable("PATH"), ':')) {
    fs::path python = fs::path(std::string(text)) / "python3";
    std::error_code none;
    fs::path real = fs::canonical(python, none);
    if (text.empty() || none) {
      continue;
    }
    folders.addPrefix(python.parent_path().parent_path());
    folders.addPrefix(real.parent_path().parent_path());
  }
}

/// Returns the places where the loader does not look.
std::vector<fs::path> placesOf(const LibraryNames &names) {
  std::vector<fs::path> places;
  for (const std::string &packages : pythonPackages()) {
    for (const std::string &folder : names.wheel_folders) {
      places.push_back(fs::path(packages) / "nvidia" / folder / "lib");
    }
  }
  for (const std::string &toolkit :
       {variable("CUDA_HOME"), variable("CUDA_PATH"),
        std::string("/usr/local/cuda")}) {
    if (!toolkit.empty()) {
      places.push_back(fs::path(toolkit) / "lib64");
      places.push_back(fs::path(toolkit) / "lib");
    }
  }
  return places;
}

/// The file that a handle is of.
std::string pathOf(void *handle, const std::string &otherwise) {
  link_map *map = nullptr;
  bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map;
  return known && map->l_name && *map->l_name ? map->l_name : otherwise;
}

void *tryOpen(const std::string &file) {
  return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

} // namespace

std::vector<std::string> zerograph::pythonPackages() {
  Folders folders;
  for (absl::string_view text :
       absl::StrSplit(variable("PYTHONPATH"), ':', absl::SkipEmpty())) {
    folders.add(std::string(text));
  }
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (std::string prefix = variable(name); !prefix.empty()) {
      folders.addPrefix(prefix);
    }
  }
  addInterpreters(folders);
  if (std::string home = variable("HOME"); !home.empty()) {
    folders.addPrefix(fs::path(home) / ".local");
  }
  return folders.list;
}

absl::StatusOr<OpenedLibrary>
zerograph::openLibrary(const LibraryNames &names) {
  for (const std::string &file : names.files) {
    if (void *handle = tryOpen(file)) {
      return OpenedLibrary{handle, pathOf(handle, file)};
    }
  }
  std::string broken; // why the first that is there cannot be opened
  for (const fs::path &place : placesOf(names)) {
    for (const std::string &file : names.files) {
      std::string path = (place / file).string();
      std::error_code none;
      if (!fs::exists(path, none)) {
        continue;
      }
      if (void *handle = tryOpen(path)) {
        return OpenedLibrary{handle, pathOf(handle, path)};
      }
      const char *why = dlerror();
      if (broken.empty()) {
        broken = absl::StrCat("; ", path, " cannot be opened: ",
                              why ? why : "for no reason given");
      }
    }
  }
  return absl::NotFoundError(
      absl::StrCat(names.name, " (", absl::StrJoin(names.files, ", "),
                   ") is not on this machine", broken,
                   ". Install it: pip install ", names.wheel,
                   " in the Python that is first on PATH; or name its folder "
                   "in LD_LIBRARY_PATH"));
}

absl::Status zerograph::findSymbols(const LibraryNames &names,
                                    const OpenedLibrary &library,
                                    const std::vector<LibrarySymbol> &symbols) {
  for (const auto &[symbol, place] : symbols) {
    *place = dlsym(library.handle, symbol);
    if (!*place) {
      return absl::FailedPreconditionError(absl::StrCat(
          names.name, " has no ", symbol, " (", library.path,
          "): it is too old",
          names.needs.empty() ? ". Install a newer one: pip install " : "; ",
          names.needs.empty() ? names.wheel : names.needs));
    }
  }
  return absl::OkStatus();
}

absl::Status
zerograph::refuseEnvironment(const std::string &library,
                             const std::vector<std::string> &names) {
  std::vector<std::string> found;
  for (char **entry = environ; entry && *entry; ++entry) {
    for (const std::string &name : names) {
      if (absl::StartsWith(*entry, name)) {
        found.emplace_back(*entry);
      }
    }
  }
  if (found.empty()) {
    return absl::OkStatus();
  }
  std::sort(found.begin(), found.end());
  return absl::FailedPreconditionError(absl::StrCat(
      "the environment has ", absl::StrJoin(found, ", "),
      ", which would change how ", library,
      " computes: unset it. A plan says how it is computed (compile with "
      "--allow-tf32 for TF32)"));
}
