//===- Frame.cpp - the bytes between rank 0 and another rank --------------===//

#include "runtime/comm/tcp/Frame.h"

#include "runtime/base/LittleEndian.h"

#include <algorithm>

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

constexpr absl::string_view kMagic = "ZGCP";

} // namespace

Bytes tcp::encode(FrameKind kind, absl::string_view payload, uint16_t version) {
  std::string bytes;
  bytes.reserve(16 + payload.size());
  bytes.append(kMagic.data(), kMagic.size());
  appendLittleEndian(bytes, version, 2);
  appendLittleEndian(bytes, uint16_t(kind), 2);
  appendLittleEndian(bytes, payload.size(), 8);
  bytes.append(payload.data(), payload.size());
  return std::make_shared<const std::string>(std::move(bytes));
}

/// Begins the payload: the header is there.
absl::Status FrameReader::begin() {
  uint64_t version = littleEndian(header.data() + 4, 2);
  uint64_t kind = littleEndian(header.data() + 6, 2);
  missing = littleEndian(header.data() + 8, 8);
  if (version != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "it speaks version ", version,
        " of the protocol between ranks, and "
        "this program version ",
        kVersion, ": start the same build of Zerograph on every host"));
  }
  if (kind == 0 || kind > uint64_t(kLastKind)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of the unknown kind ", kind, " came"));
  }
  if (missing > longest) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a frame of ", missing,
                     " bytes was announced, where at "
                     "most ",
                     longest, " are taken"));
  }
  frame.kind = FrameKind(kind);
  frame.payload.clear();
  return absl::OkStatus();
}

absl::Status FrameReader::take(absl::string_view bytes,
                               std::vector<Frame> &frames) {
  while (failed.ok()) {
    if (header.size() < kHeader) {
      size_t part = std::min(bytes.size(), kHeader - header.size());
      header.append(bytes.data(), part);
      bytes.remove_prefix(part);
      // A stranger is known by the first byte: it may never send more.
      size_t known = std::min(header.size(), kMagic.size());
      if (header.compare(0, known, kMagic.data(), known) != 0) {
        failed = absl::InvalidArgumentError(
            "what came does not begin as Zerograph's protocol between ranks");
      } else if (header.size() == kHeader) {
        failed = begin();
      } else {
        return absl::OkStatus();
      }
      continue;
    }
    size_t part = size_t(std::min<uint64_t>(bytes.size(), missing));
    frame.payload.append(bytes.data(), part);
    bytes.remove_prefix(part);
    missing -= part;
    if (missing > 0) {
      return absl::OkStatus();
    }
    frames.push_back(std::move(frame));
    frame = Frame();
    header.clear();
  }
  return failed;
}
