//===- SaveFile.cpp - states of all ranks into a file ---------------------===//

#include "runtime/exec/SaveFile.h"

#include "runtime/exec/GatherWeights.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using namespace zerograph;

namespace {

class Saving {
public:
  Saving(ControlPlane &control, const SaveRequest &request,
         std::unique_ptr<SafetensorsWriter> &writer, const plan::Plan &plan,
         const RankMemory &memory)
      : control(control), request(request), writer(writer), plan(plan),
        memory(memory) {
    std::string name = std::filesystem::path(request.path).filename().string();
    for (const char *variable : {"TMPDIR", "", "HOME"}) {
      const char *folder = *variable ? std::getenv(variable) : "/tmp";
      if (folder && *folder) {
        others.push_back(
            absl::StrCat(folder, "/zerograph-", getpid(), "-", name));
      }
    }
    others.insert(others.begin(),
                  absl::StrCat("zerograph-", getpid(), "-", name));
  }

  absl::StatusOr<std::string> run() {
    std::string path = request.path, first;
    while (true) {
      ZG_ASSIGN_OR_RETURN(std::string failure, writeOnce());
      if (failure.empty()) {
        return first.empty()
                   ? ""
                   : absl::StrCat(request.what, ": ", first,
                                  "; the file is in ", path, " instead");
      }
      first = first.empty() ? failure : first;
      ZG_ASSIGN_OR_RETURN(path, openAnother());
      if (path.empty()) {
        return absl::UnavailableError(
            absl::StrCat(request.what, ": ", first,
                         "; nor can a file be written in the current folder, "
                         "$TMPDIR, /tmp or $HOME"));
      }
    }
  }

private:
  /// Returns what was wrong with the file, or nothing. It is the same for all
  /// ranks, which go on to give what they hold.
  absl::StatusOr<std::string> writeOnce() {
    absl::Status status;
    WeightSink sink = [&](const std::string &name, uint64_t offset,
                          uint64_t bytes, const void *data) {
      if (status.ok()) {
        status = writer->write(name, offset, bytes, data);
      }
      return absl::OkStatus();
    };
    ZG_RETURN_IF_ERROR(control.inOneProcess()
                           ? writeWeights(sink, plan, request.options, memory)
                           : gatherWeights(control, request.what, sink, plan,
                                           request.options, memory));
    ZG_ASSIGN_OR_RETURN(
        std::vector<std::string> failures,
        control.exchange(request.what, std::string(status.message())));
    for (const std::string &failure : failures) {
      if (!failure.empty()) {
        return failure;
      }
    }
    if (control.rank() == 0) {
      control.setBusy(true);
      status = writer->commit();
      control.setBusy(false);
    }
    return control.broadcast(request.what, std::string(status.message()));
  }

  /// Rank 0 reserves a file elsewhere; every rank gets its path, or "".
  absl::StatusOr<std::string> openAnother() {
    std::string path;
    if (control.rank() == 0) {
      writer.reset(); // its space may be what the next one needs
      for (; tried < others.size() && !writer; ++tried) {
        auto made = createWeightFile(others[tried], plan, request.options);
        if (made.ok()) {
          writer = *std::move(made);
          path = std::filesystem::absolute(others[tried], ignored).string();
        }
      }
    }
    return control.broadcast(request.what, path);
  }

  ControlPlane &control;
  const SaveRequest &request;
  std::unique_ptr<SafetensorsWriter> &writer;
  const plan::Plan &plan;
  const RankMemory &memory;
  std::vector<std::string> others;
  size_t tried = 0;
  std::error_code ignored; // the path is then as it was given
};

} // namespace

absl::StatusOr<std::string>
zerograph::saveFile(ControlPlane &control, const SaveRequest &request,
                    std::unique_ptr<SafetensorsWriter> &writer,
                    const plan::Plan &plan, const RankMemory &memory) {
  return Saving(control, request, writer, plan, memory).run();
}
