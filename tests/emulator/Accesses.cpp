//===- Accesses.cpp - what the threads of a launch read and write ---------===//

#include "tests/emulator/Accesses.h"

#include "absl/strings/str_cat.h"

using namespace zerograph::emulator;

void Accesses::add(const Buffer &buffer) {
  uint64_t cells = buffer.element ? buffer.bytes / buffer.element : 0;
  buffers.push_back({buffer, std::vector<Cell>(cells)});
}

/// Whether what was done at `before` is done for who acts now.
static bool isOrdered(const Moment &before, const Moment &now) {
  if (before.block != now.block) {
    return false;
  }
  return before.thread == now.thread || before.barriers < now.barriers ||
         (before.thread / kWarp == now.thread / kWarp &&
          before.warpSyncs < now.warpSyncs);
}

static std::string nameOf(const Moment &moment) {
  return absl::StrCat("thread ", moment.thread, " of block ", moment.block);
}

std::string Accesses::conflict(Cell &cell, const Moment &moment, bool write) {
  auto clash = [&](const Touch &touch, const char *did) -> std::string {
    if (!touch.any || isOrdered(touch.moment, moment)) {
      return "";
    }
    return absl::StrCat(nameOf(touch.moment), " has ", did,
                        " it, and nothing puts the two in order");
  };
  std::string found = clash(cell.write, "written");
  if (write && found.empty()) {
    found = clash(cell.read, "read");
  }
  if (write && found.empty()) {
    found = clash(cell.otherRead, "read");
  }
  Touch now{true, moment};
  if (write) {
    cell = {now, {}, {}};
  } else {
    bool same = cell.read.any && cell.read.moment.block == moment.block &&
                cell.read.moment.thread == moment.thread;
    if (!same) {
      cell.otherRead = cell.read;
    }
    cell.read = now;
  }
  return found;
}

std::string Accesses::touch(const Moment &moment, uintptr_t address,
                            uint32_t bytes, bool write) {
  const char *does = write ? " writes " : " reads ";
  for (Watched &watched : buffers) {
    const Buffer &buffer = watched.buffer;
    uint64_t offset = address - reinterpret_cast<uintptr_t>(buffer.begin);
    if (offset >= buffer.bytes) {
      continue; // also where it lies before
    }
    auto refuse = [&](const auto &...why) {
      return absl::StrCat(nameOf(moment), does, bytes, " bytes at byte ",
                          offset, " of ", buffer.name, why...);
    };
    if (offset + bytes > buffer.bytes) {
      return refuse(", which has ", buffer.bytes);
    }
    bool whole = buffer.element == 0 || bytes % buffer.element == 0;
    if (address % bytes != 0 || !whole) {
      return refuse(", which is not aligned to them");
    }
    if (write && !buffer.mayWrite) {
      return refuse(", which is only read");
    }
    for (uint64_t i = 0; i < bytes && buffer.element; i += buffer.element) {
      Cell &cell = watched.cells[(offset + i) / buffer.element];
      std::string found = conflict(cell, moment, write);
      if (!found.empty()) {
        return refuse(": ", found);
      }
    }
    return "";
  }
  return absl::StrCat(nameOf(moment), does, bytes,
                      " bytes that are in no buffer of the launch");
}
