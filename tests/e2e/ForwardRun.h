//===- ForwardRun.h - models run forward in tests -------------------------===//

#ifndef ZEROGRAPH_TESTS_E2E_FORWARDRUN_H
#define ZEROGRAPH_TESTS_E2E_FORWARDRUN_H

#include "onnx/onnx_pb.h"
#include "runtime/exec/RunForward.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace zerograph::testing {

/// A folder that goes with its owner, and in it what the command `run` has: the
/// model, the plan's weights, "data" and "out".
class ForwardRun {
public:
  ForwardRun();
  ~ForwardRun();
  ForwardRun(const ForwardRun &) = delete;
  ForwardRun &operator=(const ForwardRun &) = delete;

  std::string path(const std::string &name) const { return folder / name; }

  absl::StatusOr<LoadedPlan>
  compile(const onnx::ModelProto &model,
          const std::map<std::string, int64_t> &dims);
  /// From "data" to "out", on two threads.
  absl::StatusOr<ForwardResult> run(const LoadedPlan &plan);

  std::vector<std::string> notes; // of `run`

private:
  std::filesystem::path folder;
};

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_FORWARDRUN_H
