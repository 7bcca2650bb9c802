//===- GraphHash.h - whether a model's file has the graph of a plan -------===//

#ifndef ZEROGRAPH_RUNTIME_IO_GRAPHHASH_H
#define ZEROGRAPH_RUNTIME_IO_GRAPHHASH_H

#include "absl/status/statusor.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// Returns XXH3 (64 bits) of what a plan has of an ONNX file: operators,
/// attributes, what the exporter says beside a node, names of values, types and
/// shapes, where external data lies, and the values in the file that are no
/// parameter of the plan. Parameters' values, comments and lines of code do not
/// count: a model that was trained further and exported again by the same code
/// has the same hash. Values in other files are not read. Needs no ONNX: it
/// walks protobuf's wire format by the field numbers of onnx.proto.
absl::StatusOr<uint64_t> graphHash(const std::string &path,
                                   const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_GRAPHHASH_H
