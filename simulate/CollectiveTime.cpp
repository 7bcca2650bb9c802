//===- CollectiveTime.cpp - how long ranks take to exchange ---------------===//

#include "simulate/CollectiveTime.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zerograph::simulate {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// A protocol of NCCL: microseconds before the first byte, of a hop between
/// nodes and within one (NVLink; others by the machine's link_latency, which is
/// that of Simple), the part of the bandwidth that it reaches, of LL the 141
/// GB/s of one node of H100, and at most how many GB/s a ring has between
/// nodes.
struct Protocol {
  double base, network, link, share, network_limit;
};

constexpr Protocol kProtocols[] = {{6.6, 2.7, 0.6, 0.38, 20.4},    // LL
                                   {14, 4.0, 1.9, 0.92, kNoLimit}, // LL128
                                   {8.4, 14, 3.4, 1, kNoLimit}};   // Simple

/// The part of a network's rate that rings reach between nodes:
/// ml-engineering's all-reduce of 4 GiB on four nodes, 377 of 400 GB/s.
constexpr double kRingShare = 0.94;
/// The part that an all-to-all reaches, of which there are no public
/// measurements by size: an estimate.
constexpr double kAllToAllShare = 0.73;

} // namespace

Exchange ringOf(double bytes, const Machine &machine, const Cluster &cluster) {
  double hops = cluster.ranks() - 1.0, crossing = cluster.nodes - 1.0;
  double carried = bytes * hops / cluster.ranks();
  double link = machine.link_bandwidth * kGiga;
  double network =
      machine.network_bandwidth * kGiga * kRingShare * cluster.ranks_per_node;
  double slowest = cluster.nodes == 1            ? link
                   : cluster.ranks_per_node == 1 ? network
                                                 : std::min(link, network);
  double best = kNoLimit;
  for (const Protocol &protocol : kProtocols) {
    double within = protocol.link * machine.link_latency / kProtocols[2].link;
    double latency = protocol.base + (hops - crossing) * within +
                     crossing * protocol.network;
    double rate = slowest * protocol.share;
    if (cluster.nodes > 1) {
      rate = std::min(rate, protocol.network_limit * kGiga);
    }
    best = std::min(best, latency * kMicro + carried / rate);
  }
  Exchange exchange{best, 0, 0};
  if (cluster.ranks_per_node > 1) {
    exchange.link = std::min(best, carried / link);
  }
  if (cluster.nodes > 1) {
    exchange.network = std::min(best, carried / network);
  }
  return exchange;
}

Exchange allToAllOf(double bytes, double chunk, const Machine &machine,
                    const Cluster &cluster) {
  double ranks = cluster.ranks(), part = bytes / ranks;
  const Protocol &simple = kProtocols[2];
  double chunks = std::max(1.0, std::ceil(part / chunk));
  double within = part * (cluster.ranks_per_node - 1);
  double across = part * (ranks - cluster.ranks_per_node);
  Exchange exchange;
  exchange.link = within / (machine.link_bandwidth * kGiga);
  exchange.network =
      across / (machine.network_bandwidth * kGiga * kAllToAllShare);
  double hop = cluster.nodes > 1 ? simple.network : machine.link_latency;
  bool oneWay = machine.link_bandwidth <= machine.host_link;
  double carried = oneWay ? exchange.link + exchange.network
                          : std::max(exchange.link, exchange.network);
  exchange.seconds = carried + chunks * (simple.base + hop) * kMicro;
  return exchange;
}

} // namespace zerograph::simulate
