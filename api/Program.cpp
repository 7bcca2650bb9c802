//===- Program.cpp - the program's commands -------------------------------===//

#include "api/zerograph.h"
#include "tools/cli/CommandLine.h"

int zg_main(int argc, char **argv) {
  zerograph::CommandLine line(
      "Zerograph: compiles training graphs exported to ONNX for many devices, "
      "and trains them");
  zerograph::addCompile(line);
  zerograph::addTrainModel(line);
  zerograph::addRunModel(line);
  zerograph::addExport(line);
  zerograph::addExplain(line);
  zerograph::addCheckpoint(line);
  zerograph::addInspect(line);
  zerograph::addVerify(line);
  zerograph::addSimulate(line);
  zerograph::addReport(line);
  zerograph::addAdvise(line);
  zerograph::addCalibrate(line);
  zerograph::addEnv(line);
  return line.main(argc, argv);
}
