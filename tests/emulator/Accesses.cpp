//===- Accesses.cpp - what the threads of a launch read and write ---------===//

#include "tests/emulator/Accesses.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace zerograph::emulator;

void Touched::note(uint64_t first, uint64_t elements, uint64_t bytes,
                   bool write) {
  std::vector<bool> &which = write ? written : read;
  which.resize(std::max<uint64_t>(which.size(), first + elements));
  std::fill_n(which.begin() + int64_t(first), elements, true);
  (write ? stored : loaded) += bytes;
}

void Accesses::add(const Buffer &buffer) {
  uint64_t cells = buffer.element ? buffer.bytes / buffer.element : 0;
  buffers.push_back({buffer, std::vector<Cell>(cells)});
}

void Accesses::forget(const void *begin) {
  for (Watched &watched : buffers) {
    if (watched.buffer.begin == begin) {
      watched.cells.assign(watched.cells.size(), Cell());
    }
  }
}

/// Returns whether what was done at `before` is done for who acts now.
bool Accesses::isOrdered(const Moment &before, const Moment &now) const {
  if (before.block != now.block) {
    return order.isOrdered(before, now);
  }
  return before.thread == now.thread || before.barriers < now.barriers ||
         (before.thread / kWarp == now.thread / kWarp &&
          before.warpSyncs < now.warpSyncs);
}

static std::string nameOf(const Moment &moment) {
  return absl::StrCat("thread ", moment.thread, " of block ", moment.block);
}

void Accesses::noteRead(Cell &cell, const Touch &now) {
  const Moment &before = cell.read.moment, &moment = now.moment;
  if (cell.read.any) {
    Touch &kept = before.block != moment.block ? cell.otherBlock
                  : before.thread / kWarp != moment.thread / kWarp
                      ? cell.otherWarp
                      : cell.otherThread;
    if (before.block != moment.block || before.thread != moment.thread) {
      kept = cell.read;
    }
  }
  cell.read = now;
}

std::string Accesses::conflict(Cell &cell, const Moment &moment,
                               Access access) {
  bool write = access == Access::kWrite;
  cell.constant |= access == Access::kReadConstant;
  if (cell.constant && (write || cell.write.any)) {
    return "the launch writes what it reads as a constant";
  }
  auto clash = [&](const Touch &touch, const char *did) -> std::string {
    if (!touch.any || isOrdered(touch.moment, moment)) {
      return "";
    }
    return absl::StrCat(nameOf(touch.moment), " has ", did,
                        " it, and nothing puts the two in order");
  };
  std::string found = clash(cell.write, "written");
  Touch now{true, moment};
  if (!write) {
    noteRead(cell, now);
    return found;
  }
  for (const Touch *read :
       {&cell.read, &cell.otherThread, &cell.otherWarp, &cell.otherBlock}) {
    if (found.empty()) {
      found = clash(*read, "read");
    }
  }
  cell = Cell();
  cell.write = now;
  return found;
}

std::string Accesses::touch(const Moment &moment, uintptr_t address,
                            uint32_t bytes, Access access, Place &place) {
  bool write = access == Access::kWrite;
  const char *does = write ? " writes " : " reads ";
  for (Watched &watched : buffers) {
    const Buffer &buffer = watched.buffer;
    uint64_t offset = address - reinterpret_cast<uintptr_t>(buffer.begin);
    if (offset >= buffer.bytes) {
      continue; // also where it lies before
    }
    place = {size_t(&watched - buffers.data()), offset};
    auto refuse = [&](const auto &...why) {
      return absl::StrCat(nameOf(moment), does, bytes, " bytes at byte ",
                          offset, " of ", buffer.name, why...);
    };
    if (offset + bytes > buffer.bytes) {
      return refuse(", which has ", buffer.bytes);
    }
    // LLVM may load the half of an element that is needed.
    bool whole = buffer.element == 0 || bytes % buffer.element == 0 ||
                 (!write && buffer.element % bytes == 0);
    if (address % bytes != 0 || !whole) {
      return refuse(", which is not aligned to them");
    }
    if (write && !buffer.mayWrite) {
      return refuse(", which is only read");
    }
    if (buffer.counts) {
      return refuse(", which only atomic operations may touch");
    }
    if (buffer.lines) {
      buffer.lines->touch(offset, bytes, write);
    }
    if (buffer.touched && buffer.element) {
      buffer.touched->note(offset / buffer.element,
                           std::max(1u, bytes / buffer.element), bytes, write);
    }
    for (uint64_t i = 0; i < bytes && buffer.element; i += buffer.element) {
      Cell &cell = watched.cells[(offset + i) / buffer.element];
      std::string found = conflict(cell, moment, access);
      if (!found.empty()) {
        return refuse(": ", found);
      }
    }
    return "";
  }
  return absl::StrCat(nameOf(moment), does, bytes,
                      " bytes that are in no buffer of the launch");
}

std::string Accesses::change(const Moment &moment, uintptr_t address) {
  constexpr uint64_t kBytes = 4;
  for (const Watched &watched : buffers) {
    const Buffer &buffer = watched.buffer;
    uint64_t offset = address - reinterpret_cast<uintptr_t>(buffer.begin);
    if (!buffer.counts || offset >= buffer.bytes) {
      continue;
    }
    if (offset % kBytes != 0 || buffer.bytes - offset < kBytes) {
      return absl::StrCat(nameOf(moment), " counts at byte ", offset, " of ",
                          buffer.name, ", which has ", buffer.bytes);
    }
    if (buffer.lines) {
      buffer.lines->touch(offset, kBytes, /*write=*/true);
    }
    order.arrive(moment, address);
    return "";
  }
  return absl::StrCat(nameOf(moment),
                      " counts in other memory than variables of its module");
}
