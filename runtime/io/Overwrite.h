//===- Overwrite.h - would a file that is read be written over? -----------===//

#ifndef ZEROGRAPH_RUNTIME_IO_OVERWRITE_H
#define ZEROGRAPH_RUNTIME_IO_OVERWRITE_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace zerograph {

/// A file that a command reads or writes, and what the user calls it: an
/// option, "the model". An empty path is no file.
struct NamedFile {
  std::string name;
  std::string path;
};

/// Returns whether both paths lead to one file, or would once it is created:
/// through symbolic links, hard links and other spellings.
bool sameFile(const std::string &a, const std::string &b);

/// An error if one of `outputs` is one of `inputs`, or two outputs are the
/// same file; devices may be written twice. To be called before any of them
/// is opened for writing.
absl::Status checkOverwrites(const std::vector<NamedFile> &inputs,
                             const std::vector<NamedFile> &outputs);

/// `paths`, and of each that is a folder also the arrays in it.
std::vector<NamedFile> arrayFiles(const std::string &name,
                                  const std::vector<std::string> &paths);

/// The files that hold parameters of a plan in `folder`, wherever they may be
/// looked for.
std::vector<NamedFile> sourceFiles(const plan::Plan &plan,
                                   const std::string &folder);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_OVERWRITE_H
