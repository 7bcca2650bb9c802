//===- Peers.cpp - the processes of the other ranks -----------------------===//

#include "runtime/comm/Peers.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <fstream>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace zerograph;

namespace {

std::string processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      absl::StrAppend(&text, cpu, ",");
    }
  }
  return text;
}

/// Returns the same for all of a machine that see each other's process numbers:
/// a container has numbers of its own.
std::string placeName() {
  struct stat space = {};
  stat("/proc/self/ns/pid", &space);
  return absl::StrCat(machineName(), " ", space.st_ino);
}

} // namespace

std::string zerograph::machineName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

std::string zerograph::describeThisProcess() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(placeName(), " ", getpid(), " ", processors(), " ", host);
}

Peers::~Peers() {
  for (int descriptor : descriptors) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

void Peers::watch(unsigned rank, absl::Span<const std::string> texts) {
  std::vector<std::string> own = absl::StrSplit(texts[rank], ' ');
  same_processors = 0;
  for (size_t peer = 0; peer < texts.size(); ++peer) {
    std::vector<std::string> parts =
        absl::StrSplit(texts[peer], absl::MaxSplits(' ', 4));
    int descriptor = -1, process = 0;
    parts.resize(5);
    bool here = parts[0] == own[0];
    same_processors += here && parts[3] == own[3];
    if (here && parts[1] == own[1] && peer != rank &&
        absl::SimpleAtoi(parts[2], &process)) {
      // The descriptor is readable once the process has ended, also before
      // anyone has asked for its status. Older kernels have no such call: then
      // it is not watched.
      descriptor = int(syscall(SYS_pidfd_open, process, 0));
    }
    descriptors.push_back(descriptor);
    names.push_back(absl::StrCat("process ", parts[2], " on ", parts[4]));
  }
}

bool Peers::hasEnded(unsigned rank) const {
  if (rank >= descriptors.size() || descriptors[rank] < 0) {
    return false;
  }
  pollfd entry = {descriptors[rank], POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

std::string Peers::name(unsigned rank) const {
  return rank < names.size() ? names[rank] : "";
}
