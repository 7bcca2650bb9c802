//===- Traffic.cpp - what a launch asks of the memory of a GPU ------------===//

#include "tests/emulator/Traffic.h"

#include "tests/emulator/Accesses.h"

#include <algorithm>
#include <array>
#include <set>

using namespace zerograph::emulator;

namespace {

constexpr uint64_t kSector = 32, kBank = 4, kBanks = 32;

} // namespace

void TrafficRecorder::note(uint32_t thread, uint32_t site, size_t buffer,
                           uint64_t offset, uint32_t bytes, bool store,
                           bool shared) {
  uint32_t turn = turns[{thread, site}]++;
  Request &request = requests[{thread / kWarp, site, turn}];
  request.store = store;
  request.shared = shared;
  request.lanes[thread % kWarp] = {buffer, offset, bytes};
}

void TrafficRecorder::addGlobal(const Request &request,
                                Traffic::Requests &sum) {
  std::set<std::pair<size_t, uint64_t>> sectors, bytes;
  for (const auto &[lane, access] : request.lanes) {
    for (uint64_t i = 0; i < access.bytes; ++i) {
      sectors.insert({access.buffer, (access.offset + i) / kSector});
      bytes.insert({access.buffer, access.offset + i});
    }
  }
  sum.count += 1;
  sum.least += (bytes.size() + kSector - 1) / kSector;
  sum.cost += sectors.size();
}

/// Accesses of 8 bytes go by half a warp, of 16 by a quarter.
void TrafficRecorder::addShared(const Request &request,
                                Traffic::Requests &sum) {
  std::map<uint32_t, std::array<std::set<uint64_t>, kBanks>> parts;
  for (const auto &[lane, access] : request.lanes) {
    uint64_t lanes = kWarp / std::max<uint64_t>(access.bytes / kBank, 1);
    auto &banks = parts[uint32_t(lane / lanes)];
    for (uint64_t i = 0; i < access.bytes; i += kBank) {
      uint64_t word = (access.offset + i) / kBank;
      banks[word % kBanks].insert(word);
    }
  }
  sum.count += 1;
  sum.least += parts.size();
  for (const auto &[part, banks] : parts) {
    size_t most = 0;
    for (const std::set<uint64_t> &words : banks) {
      most = std::max(most, words.size());
    }
    sum.cost += most;
  }
}

void TrafficRecorder::endBlock() {
  for (const auto &[key, request] : requests) {
    if (request.shared) {
      addShared(request, traffic.shared);
    } else {
      addGlobal(request, request.store ? traffic.stores : traffic.loads);
    }
  }
  requests.clear();
  turns.clear();
}
