//===- NoUringQueue.cpp - where liburing is not installed -----------------===//

#include "runtime/device/file/FileQueue.h"

std::unique_ptr<zerograph::FileQueue> zerograph::makeUringQueue(int, unsigned) {
  return nullptr;
}
