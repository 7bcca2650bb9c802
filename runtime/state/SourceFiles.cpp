//===- SourceFiles.cpp - the files that a plan names ----------------------===//

#include "runtime/state/SourceFiles.h"

#include "runtime/io/GraphHash.h"

#include <filesystem>

using namespace zerograph;

namespace {

bool isThere(const std::string &path) {
  std::error_code ignored; // what cannot be looked at fails when it is opened
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

} // namespace

/// Empty if the file is not there.
std::string SourceFiles::pathOf(const plan::Source &source) {
  std::filesystem::path beside = plan_folder;
  std::filesystem::path folder =
      source.folder().empty() ? beside : std::filesystem::path(source.folder());
  std::string path = (folder / source.file()).string();
  if (isThere(path)) {
    return path;
  }
  std::string moved = (beside / source.file()).string();
  if (moved != path && isThere(moved)) {
    moved_files[path] = moved;
    return moved;
  }
  absent_files.insert(path);
  return "";
}

const absl::Status &SourceFiles::checkGraph(const std::string &folder) {
  auto [check, isNew] = graph_checks.try_emplace(folder);
  std::string model = folder + plan.model();
  std::error_code ignored; // a model that cannot be looked at is not compared
  if (!isNew || plan.graph_hash() == 0 ||
      !std::filesystem::is_regular_file(model, ignored)) {
    return check->second;
  }
  absl::StatusOr<uint64_t> hash = graphHash(model, plan);
  if (!hash.ok()) {
    check->second = hash.status();
  } else if (*hash != plan.graph_hash()) {
    check->second = absl::FailedPreconditionError(absl::StrCat(
        model, ": its graph is another than the one that the plan was made "
               "from; compile again, or put the old file there"));
  }
  return check->second;
}

absl::StatusOr<std::shared_ptr<File>>
SourceFiles::open(const plan::Source &source, const std::string &path) {
  std::shared_ptr<File> &file = files[path];
  if (file) {
    return file;
  }
  std::string folder = path.substr(0, path.size() - source.file().size());
  if (!source.folder().empty()) {
    ZG_RETURN_IF_ERROR(checkGraph(folder));
  }
  if (source.folder().empty() || source.file() == plan.model()) {
    // The plan's own, or the model that the user named: links are theirs.
    ZG_ASSIGN_OR_RETURN(file, File::openForReading(path));
  } else {
    ZG_ASSIGN_OR_RETURN(file, File::openBeneath(folder, source.file()));
  }
  if (source.file_bytes() != 0 && file->bytes() != source.file_bytes()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " has ", file->bytes(), " bytes, and had ", source.file_bytes(),
        " when the plan was made: it is another file; compile again"));
  }
  return file;
}

absl::StatusOr<std::optional<TensorExtent>>
SourceFiles::find(const plan::Parameter &parameter, plan::ElementType type) {
  if (!parameter.has_source()) {
    return std::nullopt;
  }
  const plan::Source &source = parameter.source();
  std::string path = pathOf(source);
  if (path.empty()) {
    return std::nullopt;
  }
  TensorExtent extent;
  ZG_ASSIGN_OR_RETURN(extent.file, open(source, path));
  uint64_t bytes = parameter.elements() * elementSize(type);
  if (source.length() != bytes || source.offset() > extent.file->bytes() ||
      bytes > extent.file->bytes() - source.offset()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", parameter.name(), "' has ", bytes, " bytes, ", extent.file->path(),
        " of ", extent.file->bytes(), " bytes gives ", source.length(),
        " at byte ", source.offset()));
  }
  extent.type = type;
  extent.offset = source.offset();
  extent.bytes = bytes;
  return extent;
}
