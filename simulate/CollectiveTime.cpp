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

/// The part of a network's rate that rings reach between nodes:
/// ml-engineering's measurements of 400 Gb/s InfiniBand, messages of 1 GiB.
constexpr double kNetworkShare = 0.73;

} // namespace

Exchange ringOf(double bytes, const Machine &machine, const Cluster &cluster) {
  double hops = cluster.ranks() - 1.0, crossing = cluster.nodes - 1.0;
  double carried = bytes * hops / cluster.ranks();
  double link = machine.link_bandwidth * kGiga;
  double network = machine.network_bandwidth * kGiga * kNetworkShare *
                   cluster.ranks_per_node;
  double slowest = cluster.nodes == 1            ? link
                   : cluster.ranks_per_node == 1 ? network
                                                 : std::min(link, network);
  double best = std::numeric_limits<double>::infinity();
  for (const Protocol &protocol : kProtocols) {
    double within = protocol.link * machine.link_latency / kProtocols[2].link;
    double latency = protocol.base + (hops - crossing) * within +
                     crossing * protocol.network;
    best =
        std::min(best, latency * kMicro + carried / (slowest * protocol.share));
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
      across / (machine.network_bandwidth * kGiga * kNetworkShare);
  double hop = cluster.nodes > 1 ? simple.network : machine.link_latency;
  bool oneWay = machine.link_bandwidth <= machine.host_link;
  double carried = oneWay ? exchange.link + exchange.network
                          : std::max(exchange.link, exchange.network);
  exchange.seconds = carried + chunks * (simple.base + hop) * kMicro;
  return exchange;
}

} // namespace zerograph::simulate
