//===- CalibrateMachine.cpp - `calibrate -o FILE` -------------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/io/NewFile.h"
#include "simulate/Machine.h"
#include "tools/calibrate/Calibrate.h"
#include "tools/cli/CommandLine.h"

#include <filesystem>
#include <memory>
#include <thread>

namespace zerograph {
namespace {

absl::StatusOr<int> run(const std::string &output, unsigned threads) {
  ZG_RETURN_IF_ERROR(checkOutputPath(output));
  std::string folder = std::filesystem::absolute(output).parent_path().string();
  ZG_ASSIGN_OR_RETURN(std::string text, calibrateHost(threads, folder));
  ZG_RETURN_IF_ERROR(simulate::parseMachine(text, output).status());
  ZG_RETURN_IF_ERROR(writeWholeFile(output, text));
  std::printf("%s\nmade %s; next: zerograph simulate PLAN --machine %s\n",
              text.c_str(), output.c_str(), output.c_str());
  return 0;
}

} // namespace

void addCalibrate(CommandLine &line) {
  CLI::App &command =
      line.add("calibrate", "Measures this machine, without its GPUs, for "
                            "`simulate --machine`");
  auto output = std::make_shared<std::string>();
  auto threads = std::make_shared<unsigned>(
      std::max(1u, std::thread::hardware_concurrency()));
  command.add_option("-o,--output", *output, "FILE.yaml")->required();
  command
      .add_option("--threads", *threads,
                  "of all ranks together; default: those of the machine")
      ->check(CLI::Range(1u, 4096u));
  line.onRun(command, [=]() { return run(*output, *threads); });
}

} // namespace zerograph
