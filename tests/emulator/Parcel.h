//===- Parcel.h - what a rank of emulated NCCL gives to a launch ----------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PARCEL_H
#define ZEROGRAPH_TESTS_EMULATOR_PARCEL_H

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::emulator {

enum class TransferKind { AllGather, ReduceScatter, Send, Receive };

/// The transfers of a launch, with what the rank sends in each.
struct Parcel {
  struct Item {
    TransferKind kind;
    int peer;       // of sends and receives
    int type;       // an ncclDataType_t
    uint64_t bytes; // of one rank's part
    std::string data;

    bool isCollective() const {
      return kind == TransferKind::AllGather ||
             kind == TransferKind::ReduceScatter;
    }
    std::string describe() const;
  };
  std::vector<Item> items;
  bool recorded = false; // of a graph

  std::string pack() const;
  static Parcel unpack(const std::string &text);

  /// The n-th transfer, from 0, that goes to a rank, or that comes from one;
  /// null if there are not so many.
  const Item *sent(unsigned to, size_t n) const;
  const Item *received(unsigned from, size_t n) const;
};

/// Returns what `rank` can see not to fit among the parcels of all ranks; or
/// empty.
std::string differenceOf(const std::vector<Parcel> &parcels, unsigned rank);

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_PARCEL_H
