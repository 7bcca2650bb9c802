//===- Overwrite.cpp - would a file that is read be written over? ---------===//

#include "runtime/io/Overwrite.h"

#include "runtime/io/TensorFile.h"

#include <filesystem>
#include <set>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

/// Returns where a file that is opened for writing as `name` would be created.
fs::path destination(const std::string &name) {
  std::error_code ignored; // what cannot be looked at is compared as it is
  fs::path path = fs::absolute(name, ignored);
  // A link to what is not there is followed by hand; 40 are Linux's limit.
  for (int links = 0; links < 40 && fs::is_symlink(path, ignored) &&
                      !fs::exists(path, ignored);
       ++links) {
    path = path.parent_path() / fs::read_symlink(path, ignored);
  }
  fs::path canonical = fs::weakly_canonical(path, ignored);
  return canonical.empty() ? path.lexically_normal() : canonical;
}

} // namespace

bool zerograph::sameFile(const std::string &a, const std::string &b) {
  if (a.empty() || b.empty()) {
    return false;
  }
  std::error_code ignored; // a file that is not there is no other's equal
  return a == b || fs::equivalent(a, b, ignored) ||
         destination(a) == destination(b);
}

absl::Status zerograph::checkOverwrites(const std::vector<NamedFile> &inputs,
                                        const std::vector<NamedFile> &outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile &input : inputs) {
      if (sameFile(outputs[i].path, input.path)) {
        return absl::InvalidArgumentError(
            absl::StrCat(outputs[i].name, " ", outputs[i].path,
                         " would write over ", input.name, " ", input.path));
      }
    }
    for (size_t j = 0; j < i; ++j) {
      std::error_code ignored;
      if (sameFile(outputs[i].path, outputs[j].path) &&
          !fs::is_character_file(outputs[i].path, ignored)) {
        return absl::InvalidArgumentError(
            absl::StrCat(outputs[j].name, " and ", outputs[i].name,
                         " are the same file ", outputs[i].path));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<NamedFile>
zerograph::arrayFiles(const std::string &name,
                      const std::vector<std::string> &paths) {
  std::vector<NamedFile> files;
  for (const std::string &path : paths) {
    files.push_back({name, path});
    std::error_code error; // of what is no folder, or may not be listed: none
    for (fs::directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
      if (holdsArrays(it->path().string())) {
        files.push_back({name, it->path().string()});
      }
    }
  }
  return files;
}

std::vector<NamedFile> zerograph::sourceFiles(const plan::Plan &plan,
                                              const std::string &folder) {
  std::set<std::string> paths;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      if (!parameter.has_source()) {
        continue;
      }
      const plan::Source &source = parameter.source();
      paths.insert((fs::path(folder) / source.file()).string());
      if (!source.folder().empty()) {
        paths.insert((fs::path(source.folder()) / source.file()).string());
      }
    }
  }
  std::vector<NamedFile> files;
  for (const std::string &path : paths) {
    files.push_back({"weights that the plan names,", path});
  }
  return files;
}
