//===- Parcel.cpp - what a rank of emulated NCCL gives to a launch --------===//

#include "tests/emulator/Parcel.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

using namespace zerograph::emulator;

std::string Parcel::Item::describe() const {
  constexpr const char *kNames[] = {"all_gather", "reduce_scatter", "send",
                                    "receive"};
  return absl::StrCat(kNames[int(kind)], " of ", bytes, " bytes of type ",
                      type);
}

std::string Parcel::pack() const {
  std::string text;
  auto number = [&](uint64_t value) {
    text.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  number(recorded);
  for (const Item &item : items) {
    number(uint64_t(item.kind));
    number(uint64_t(item.peer));
    number(uint64_t(item.type));
    number(item.bytes);
    number(item.data.size());
    text += item.data;
  }
  return text;
}

Parcel Parcel::unpack(const std::string &text) {
  Parcel parcel;
  size_t at = 0;
  auto number = [&] {
    uint64_t value = 0;
    std::memcpy(&value, text.data() + at, sizeof(value));
    at += sizeof(value);
    return value;
  };
  parcel.recorded = number() != 0;
  while (at < text.size()) {
    Item &item = parcel.items.emplace_back();
    item.kind = TransferKind(number());
    item.peer = int(number());
    item.type = int(number());
    item.bytes = number();
    uint64_t size = number();
    item.data = text.substr(at, size);
    at += size;
  }
  return parcel;
}

const Parcel::Item *Parcel::sent(unsigned to, size_t n) const {
  for (const Item &item : items) {
    if (item.kind == TransferKind::Send && item.peer == int(to) && n-- == 0) {
      return &item;
    }
  }
  return nullptr;
}

const Parcel::Item *Parcel::received(unsigned from, size_t n) const {
  for (const Item &item : items) {
    if (item.kind == TransferKind::Receive && item.peer == int(from) &&
        n-- == 0) {
      return &item;
    }
  }
  return nullptr;
}

namespace {

/// Collectives are the same, in the same order.
std::string compareCollectives(const Parcel &own, const Parcel &other,
                               unsigned rank, unsigned peer) {
  if (own.recorded != other.recorded) {
    return absl::StrCat("rank ", own.recorded ? rank : peer,
                        " has recorded it in a graph, and rank ",
                        own.recorded ? peer : rank, " has not");
  }
  size_t count = std::max(own.items.size(), other.items.size());
  for (size_t i = 0; i < count; ++i) {
    auto text = [&](const Parcel &parcel) {
      bool there = i < parcel.items.size() && parcel.items[i].isCollective();
      return there ? parcel.items[i].describe() : "no collective";
    };
    if (text(own) != text(other)) {
      return absl::StrCat("rank ", rank, " makes ", text(own), " where rank ",
                          peer, " makes ", text(other));
    }
  }
  return "";
}

/// Each send has its receive.
std::string compareSends(const Parcel &from, const Parcel &to, unsigned sender,
                         unsigned receiver) {
  for (size_t n = 0;; ++n) {
    const Parcel::Item *sent = from.sent(receiver, n);
    const Parcel::Item *received = to.received(sender, n);
    if (!sent && !received) {
      return "";
    }
    if (!sent || !received || sent->bytes != received->bytes) {
      return absl::StrCat(
          "rank ", sender, " sends rank ", receiver, " ",
          sent ? absl::StrCat(sent->bytes, " bytes") : "nothing",
          ", which takes ",
          received ? absl::StrCat(received->bytes, " bytes") : "nothing");
    }
  }
}

} // namespace

std::string
zerograph::emulator::differenceOf(const std::vector<Parcel> &parcels,
                                  unsigned rank) {
  for (unsigned peer = 0; peer < parcels.size(); ++peer) {
    std::string difference =
        compareCollectives(parcels[rank], parcels[peer], rank, peer);
    if (difference.empty()) {
      difference = compareSends(parcels[rank], parcels[peer], rank, peer);
    }
    if (difference.empty()) {
      difference = compareSends(parcels[peer], parcels[rank], peer, rank);
    }
    if (!difference.empty()) {
      return difference;
    }
  }
  return "";
}
