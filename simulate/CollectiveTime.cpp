//===- CollectiveTime.cpp - how long ranks take to exchange ---------------===//

#include "simulate/CollectiveTime.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zerograph::simulate {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9;

/// A protocol of NCCL: microseconds before the first byte, of a hop between
/// nodes and within one (NVLink; others by the machine's link_latency, which is
/// that of Simple), and the part of the bandwidth that it reaches.
struct Protocol {
  double base, network, link, share;
};

constexpr Protocol kProtocols[] = {{6.6, 2.7, 0.6, 0.5}, // LL
                                   {14, 4.0, 1.9, 0.92}, // LL128
                                   {8.4, 14, 3.4, 1}};   // Simple

/// What of a network's rate rings reach between nodes (ml-engineering's
/// measurements of 400 Gb/s InfiniBand, messages of 1 GiB).
constexpr double kNetworkShare = 0.73;

/// Seconds of rings of `steps` hops that carry `carried` bytes over each link.
Exchange rings(double steps, double carried, const Machine &machine,
               const Cluster &cluster) {
  double link = machine.link_bandwidth * kGiga;
  double network = machine.network_bandwidth * kGiga * kNetworkShare *
                   cluster.ranks_per_node;
  bool crosses = cluster.nodes > 1;
  double slowest = !crosses                      ? link
                   : cluster.ranks_per_node == 1 ? network
                                                 : std::min(link, network);
  double crossing = crosses ? std::min<double>(steps, cluster.nodes - 1) : 0;
  double best = std::numeric_limits<double>::infinity();
  for (const Protocol &protocol : kProtocols) {
    double within = protocol.link * machine.link_latency / kProtocols[2].link;
    double latency = protocol.base + (steps - crossing) * within +
                     crossing * protocol.network;
    best =
        std::min(best, latency * kMicro + carried / (slowest * protocol.share));
  }
  Exchange exchange{best, 0, 0};
  if (cluster.ranks_per_node > 1) {
    exchange.link = std::min(best, carried / link);
  }
  if (crosses) {
    exchange.network = std::min(best, carried / network);
  }
  return exchange;
}

} // namespace

Exchange ringOf(double bytes, const Machine &machine, const Cluster &cluster) {
  double ranks = cluster.ranks();
  return rings(ranks - 1, bytes * (ranks - 1) / ranks, machine, cluster);
}

Exchange reductionOf(double bytes, const Machine &machine,
                     const Cluster &cluster) {
  double ranks = cluster.ranks();
  return rings(2 * (ranks - 1), 2 * bytes * (ranks - 1) / ranks, machine,
               cluster);
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
      across / (machine.network_bandwidth * kGiga * kNetworkShare);
  double hop = cluster.nodes > 1 ? simple.network : machine.link_latency;
  exchange.seconds = std::max(exchange.link, exchange.network) +
                     chunks * (simple.base + hop) * kMicro;
  return exchange;
}

} // namespace zerograph::simulate
