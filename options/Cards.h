//===- Cards.h - GPUs by name, and what a process can get of each ---------===//
//
// All that is known of cards is in this file. It is for planning without one:
// `train` asks the card itself. Figures are MiB (2^20 bytes).
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_CARDS_H
#define ZEROGRAPH_OPTIONS_CARDS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace zerograph::options {

struct Card {
  const char *name;  // as `--memory` takes it, in lower case
  int architecture;  // 90 for sm_90
  int64_t total_mib; // cuMemGetInfo's total
  bool nvlink;       // its kind is built for many in a machine, with NVSwitch
};

/// By memory, the smallest first. A total is the lowest that PyTorch's messages
/// ("GPU 0 has a total capacity of") showed publicly up to 2026-11 for the
/// card; where none was found, it is the total of nvidia-smi less 800 MiB. That
/// is more than the driver keeps of any other card: of 81920 MiB of an A100 it
/// keeps 881, of 183359 of a B200 729, of 46068 of an L40S 664.
inline constexpr Card kCards[] = {
    {"a10", 86, 23028 - 800, false},
    {"l4", 89, 23034 - 800, false},
    {"rtx3090", 86, 24576 - 800, false},
    {"rtx4090", 89, 24084, false}, // 23.52 GiB; 24564 in nvidia-smi
    {"rtx5090", 120, 32607 - 800, false},
    {"a100-40", 80, 40335, true}, // 39.39 GiB; 40960
    {"a40", 86, 45404, false},    // 44.34 GiB; 46068
    {"l40s", 89, 45404, false},   // 44.34 GiB; 46068
    {"a6000", 86, 49140 - 800, false},
    {"h100", 90, 81039, true},    // 79.14 GiB; 81559
    {"a100-80", 80, 81039, true}, // 79.14 GiB; 81920
    {"h20", 90, 97871 - 800, true},
    {"gh200", 90, 97871 - 800, true}, // the one with 96 GB
    {"h200", 90, 143073, true},       // 139.72 GiB; 143771
    {"b200", 100, 182630, true},      // 178.35 GiB; 183359
    {"b300", 103, 275040 - 800, true},
};

/// A process needs more of a card than the plan's arena. A context takes 300 to
/// 543 MiB (pytorch issues 107667, 81257).
inline constexpr int64_t kContextMib = 600;
/// Machine code of cuBLASLt, cuDNN and the plan, graphs, and rounding: an
/// estimate; the libraries' workspaces are in the arena.
inline constexpr int64_t kCodeMib = 600;
/// NCCL's buffers, from two ranks on. With NVSwitch: 3.3 GB for exchanges of
/// all with all on 8 H100 (nccl issue 1685). Without: 688 MiB (nccl issue 964).
/// To both come 512 MiB, because all ranks connect before the first step (nccl
/// pull request 2366).
inline constexpr int64_t kNcclMib = 1200, kNcclNvlinkMib = 3700;

/// Bytes of the card that an arena of one of `ranks` ranks can have, a rank a
/// card.
constexpr int64_t usableBytes(const Card &card, int64_t ranks) {
  int64_t nccl = ranks < 2 ? 0 : card.nvlink ? kNcclNvlinkMib : kNcclMib;
  return (card.total_mib - kContextMib - kCodeMib - nccl) << 20;
}

/// Null where no card has the name, in upper or lower case.
inline const Card *findCard(std::string_view name) {
  std::string lower;
  for (char c : name) {
    lower += c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  }
  for (const Card &card : kCards) {
    if (lower == card.name) {
      return &card;
    }
  }
  return nullptr;
}

/// "l4, a10, ...".
inline std::string cardNames() {
  std::string names;
  for (const Card &card : kCards) {
    names += (names.empty() ? "" : ", ") + std::string(card.name);
  }
  return names;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_CARDS_H
