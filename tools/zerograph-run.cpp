//===- zerograph-run.cpp - runs plans, without a compiler -----------------===//

#include "tools/cli/CommandLine.h"

int main(int argc, char **argv) {
  zerograph::CommandLine line(
      "Zerograph's runtime: trains, inspects and verifies plans");
  zerograph::addTrainPlan(line);
  zerograph::addCheckpoint(line);
  zerograph::addInspect(line);
  zerograph::addVerify(line);
  zerograph::addEnv(line);
  return line.main(argc, argv);
}
