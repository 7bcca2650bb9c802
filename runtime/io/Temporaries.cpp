//===- Temporaries.cpp - files that have no name yet ----------------------===//

#include "runtime/io/Temporaries.h"

#include <atomic>
#include <cstring>
#include <unistd.h>

using namespace zerograph;

namespace {
/// More files than a run writes at once; one too many is only not removed.
std::atomic<const char *> paths[16];
} // namespace

void zerograph::rememberTemporary(const std::string &path) {
  const char *copy = strdup(path.c_str());
  for (std::atomic<const char *> &place : paths) {
    const char *empty = nullptr;
    if (place.compare_exchange_strong(empty, copy)) {
      return;
    }
  }
}

void zerograph::forgetTemporary(const std::string &path) {
  for (std::atomic<const char *> &place : paths) {
    const char *known = place.load();
    // The copy is not freed: a signal handler may be reading it.
    if (known && path == known &&
        place.compare_exchange_strong(known, nullptr)) {
      return;
    }
  }
}

void zerograph::removeTemporaries() {
  for (std::atomic<const char *> &place : paths) {
    if (const char *path = place.load()) {
      unlink(path);
    }
  }
}
