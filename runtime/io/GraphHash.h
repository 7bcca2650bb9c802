//===- GraphHash.h - whether a model's file has the graph of a plan -------===//

#ifndef ZEROGRAPH_RUNTIME_IO_GRAPHHASH_H
#define ZEROGRAPH_RUNTIME_IO_GRAPHHASH_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// Returns XXH3 (64 bits) of the structure of an ONNX file: operators,
/// attributes, names of values, types and shapes, integers among the
/// initializers, and where external data lies. Weights, comments and metadata
/// do not count: a model that was trained further and exported again by the
/// same code has the same hash. Reads no weights, and needs no ONNX: it walks
/// protobuf's wire format by the field numbers of onnx.proto.
absl::StatusOr<uint64_t> graphHash(const std::string &path);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_GRAPHHASH_H
