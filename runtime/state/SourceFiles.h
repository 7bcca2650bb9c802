//===- SourceFiles.h - the files that a plan names ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_SOURCEFILES_H
#define ZEROGRAPH_RUNTIME_STATE_SOURCEFILES_H

#include "runtime/io/TensorFile.h"
#include "runtime/plan/plan.pb.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace zerograph {

/// The files of the model that a plan names for its parameters' values. Each is
/// opened once.
class SourceFiles {
public:
  /// `plan_folder`: where the plan lies. A model that moved together with its
  /// plan is found there. The plan outlives it.
  SourceFiles(const plan::Plan &plan, std::string plan_folder)
      : plan(plan), plan_folder(std::move(plan_folder)) {}

  /// Returns where the parameter's values lie, elements of `type`; nothing if
  /// it has no file, or that is not there.
  absl::StatusOr<std::optional<TensorExtent>>
  find(const plan::Parameter &parameter, plan::ElementType type);

  /// Return what was looked for in vain, and what lies elsewhere than the plan
  /// says: the path that it names -> where the file is.
  const std::set<std::string> &absent() const { return absent_files; }
  const std::map<std::string, std::string> &moved() const {
    return moved_files;
  }

private:
  std::string pathOf(const plan::Source &source);
  /// Refuses the files of a folder whose model has another graph than the
  /// plan's: its weights may have other meanings at the same offsets. Where the
  /// weights came without their model there is nothing to compare.
  const absl::Status &checkGraph(const std::string &folder);
  absl::StatusOr<std::shared_ptr<File>> open(const plan::Source &source,
                                             const std::string &path);

  const plan::Plan &plan;
  std::string plan_folder;
  std::map<std::string, std::shared_ptr<File>> files;
  std::map<std::string, absl::Status> graph_checks; ///< by folder
  std::set<std::string> absent_files;
  std::map<std::string, std::string> moved_files;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_SOURCEFILES_H
