//===- Temporaries.cpp - files that have no name yet ----------------------===//

#include "runtime/io/Temporaries.h"

#include <atomic>
#include <unistd.h>

using namespace zerograph;

namespace {

/// A list that only grows, by a node a file that a run writes: a signal handler
/// may be reading it at any time, so no node is ever freed.
struct Temporary {
  std::string path;
  std::atomic<bool> there = true;
  Temporary *next = nullptr;
};
std::atomic<Temporary *> newest;

} // namespace

void zerograph::rememberTemporary(const std::string &path) {
  auto *node = new Temporary{path};
  node->next = newest.load();
  while (!newest.compare_exchange_weak(node->next, node)) {
  }
}

void zerograph::forgetTemporary(const std::string &path) {
  for (Temporary *node = newest.load(); node; node = node->next) {
    if (node->there.load() && node->path == path) {
      node->there = false;
      return;
    }
  }
}

void zerograph::removeTemporaries() {
  for (Temporary *node = newest.load(); node; node = node->next) {
    if (node->there.load()) {
      unlink(node->path.c_str());
    }
  }
}
