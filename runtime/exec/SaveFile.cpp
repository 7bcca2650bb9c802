//===- SaveFile.cpp - states of all ranks into a file ---------------------===//

#include "runtime/exec/SaveFile.h"

#include "runtime/exec/GatherWeights.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

class Saving {
public:
  Saving(ControlPlane &control, const SaveRequest &request,
         std::unique_ptr<SafetensorsWriter> &writer, const plan::Plan &plan,
         const RankMemory &memory)
      : control(control), request(request), writer(writer), plan(plan),
        memory(memory) {
    const char *folders[] = {".", std::getenv("TMPDIR"), "/tmp",
                             std::getenv("HOME")};
    for (const char *folder : folders) {
      if (folder && *folder) {
        others.emplace_back(folder);
      }
    }
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
    ZG_RETURN_IF_ERROR(gatherWeights(control, request.what, Receivers::Rank0,
                                     sink, plan, request.options, memory));
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

  /// Reserves a file elsewhere, on rank 0, in a folder of its own, since others
  /// may write to /tmp too: nobody else can know its name or open it. Every
  /// rank gets the file's path, or "".
  absl::StatusOr<std::string> openAnother() {
    std::string path;
    if (control.rank() == 0) {
      writer.reset(); // its space may be what the next one needs
      removeOwn();
      for (; tried < others.size() && !writer; ++tried) {
        own = absl::StrCat(others[tried], "/zerograph-XXXXXX");
        if (mkdtemp(own.data()) == nullptr) {
          own.clear();
          continue;
        }
        if (fs::path whole = fs::absolute(own, ignored); !ignored) {
          own = whole.lexically_normal().string();
        }
        path = fs::path(own) / fs::path(request.path).filename();
        auto made = createWeightFile(path, plan, request.options);
        if (made.ok()) {
          writer = *std::move(made);
        } else {
          removeOwn();
          path.clear();
        }
      }
    }
    return control.broadcast(request.what, path);
  }

  /// Removes the folder that was made for a file which could not be written.
  void removeOwn() {
    if (!own.empty()) {
      rmdir(own.c_str());
      own.clear();
    }
  }

  ControlPlane &control;
  const SaveRequest &request;
  std::unique_ptr<SafetensorsWriter> &writer;
  const plan::Plan &plan;
  const RankMemory &memory;
  std::vector<std::string> others; // folders
  size_t tried = 0;
  std::string own;         // the folder made last, while it holds no whole file
  std::error_code ignored; // the path is then as it was given
};

} // namespace

absl::StatusOr<std::string>
zerograph::saveFile(ControlPlane &control, const SaveRequest &request,
                    std::unique_ptr<SafetensorsWriter> &writer,
                    const plan::Plan &plan, const RankMemory &memory) {
  return Saving(control, request, writer, plan, memory).run();
}
