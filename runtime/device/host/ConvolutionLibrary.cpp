//===- ConvolutionLibrary.cpp - convolutions by oneDNN --------------------===//

#include "runtime/device/host/ConvolutionLibrary.h"

#include "runtime/device/host/ConvolutionParts.h"
#include "runtime/device/host/ConvolutionPrimitive.h"

#include <algorithm>
#include <array>

using namespace zerograph;
using namespace zerograph::onednn;

namespace {

using Addresses = std::array<std::byte *, 3>; // by kInput, kWeights, kOutput

absl::Status check(const plan::Convolution &c) {
  if (c.element_type() != plan::F32) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN's convolutions are of F32 here, found ",
                     plan::ElementType_Name(c.element_type())));
  }
  return absl::OkStatus();
}

/// The cuts of a convolution, and the scratch of the part that needs most.
struct CutConvolution {
  ConvolutionCuts cuts;
  std::vector<std::shared_ptr<const ConvolutionPrimitive>>
      primitives; // by part
  uint64_t scratch = 0;

  uint64_t allScratch() const { return scratch * primitives.size(); }
};

absl::StatusOr<CutConvolution> cut(const plan::Convolution &c) {
  ZG_RETURN_IF_ERROR(check(c));
  CutConvolution all;
  all.cuts = cutConvolution(c);
  PartShape shape;
  shape.whole = c;
  shape.whole.clear_samples(); // strides don't depend on them
  for (size_t i = 0; i + 1 < all.cuts.at.size(); ++i) {
    shape.part =
        convolutionPart(c, all.cuts.axis, all.cuts.at[i], all.cuts.at[i + 1]);
    ZG_ASSIGN_OR_RETURN(auto primitive, convolutionPrimitive(shape));
    all.scratch = std::max(all.scratch, primitive->scratchBytes());
    all.primitives.push_back(std::move(primitive));
  }
  return all;
}

/// A part's calls in order: moves in, the convolution, the move out.
struct BoundPart {
  std::shared_ptr<const ConvolutionPrimitive> primitive;
  int result = kOutput;
  std::array<Arguments, 3> moves;
  Arguments compute;

  absl::Status run() const {
    for (int i = 0; i < 3; ++i) {
      if (i != result && primitive->tensors[i].moves()) {
        ZG_RETURN_IF_ERROR(moves[i].execute(primitive->moves[i], "copy"));
      }
    }
    ZG_RETURN_IF_ERROR(compute.execute(primitive->compute, "convolution"));
    return primitive->tensors[result].moves()
               ? moves[result].execute(primitive->moves[result], "copy")
               : absl::OkStatus();
  }
};

class BoundConvolution final : public LibraryCall {
public:
  std::vector<BoundPart> bound;

  unsigned parts() const override { return unsigned(bound.size()); }
  absl::Status run(unsigned part) override { return bound[part].run(); }
};

/// The names of input, weights and output in a call of each kind.
std::array<int, 3> argumentsOf(plan::ConvolutionKind kind) {
  switch (kind) {
  case plan::CONVOLVE:
    return {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
  case plan::INPUT_GRADIENT:
    return {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST};
  default:
    return {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
  }
}

void bindPart(BoundPart &bound, plan::ConvolutionKind kind,
              const Addresses &addresses, std::byte *scratch) {
  const ConvolutionPrimitive &primitive = *bound.primitive;
  bound.result = convolutionResult(kind);
  std::byte *calls = scratch + primitive.movedBytes();
  std::array<int, 3> names = argumentsOf(kind);
  for (int i = 0; i < 3; ++i) {
    const PartTensor &tensor = primitive.tensors[i];
    std::byte *inside = addresses[i];
    if (tensor.moves()) {
      inside = scratch;
      scratch += tensor.bytes();
      bool back = i == bound.result;
      Arguments &move = bound.moves[i];
      move.add(back ? DNNL_ARG_TO : DNNL_ARG_FROM, tensor.outside,
               addresses[i]);
      move.add(back ? DNNL_ARG_FROM : DNNL_ARG_TO, tensor.inside, inside);
      if (primitive.move_scratch[i].get_size() > 0) {
        move.add(DNNL_ARG_SCRATCHPAD, primitive.move_scratch[i], calls);
      }
    }
    bound.compute.add(names[i], tensor.inside, inside);
  }
  if (primitive.scratch.get_size() > 0) {
    bound.compute.add(DNNL_ARG_SCRATCHPAD, primitive.scratch, calls);
  }
}

/// Returns the addresses of the part that begins at `cut`.
Addresses addressesOf(const plan::Convolution &whole, ConvolutionAxis axis,
                      uint64_t cut, Addresses addresses) {
  auto offsets = partOffsets(whole, axis, cut);
  for (int i = 0; i < 3; ++i) {
    addresses[i] += offsets[i] * sizeof(float);
  }
  return addresses;
}

} // namespace

absl::StatusOr<uint64_t>
zerograph::scratchBytes(const plan::Convolution &convolution) {
  ZG_ASSIGN_OR_RETURN(CutConvolution all, cut(convolution));
  return all.allScratch();
}

absl::StatusOr<std::unique_ptr<LibraryCall>>
zerograph::bindConvolution(const plan::Convolution &convolution, void *a,
                           void *b, void *c, void *scratch,
                           uint64_t scratch_bytes) {
  ZG_ASSIGN_OR_RETURN(CutConvolution all, cut(convolution));
  ZG_RETURN_IF_ERROR(
      checkScratch("convolution", all.allScratch(), scratch_bytes));
  auto *lhs = static_cast<std::byte *>(a), *rhs = static_cast<std::byte *>(b);
  auto *result = static_cast<std::byte *>(c);
  Addresses whole;
  switch (convolution.kind()) {
  case plan::CONVOLVE:
    whole = {lhs, rhs, result};
    break;
  case plan::INPUT_GRADIENT:
    whole = {result, rhs, lhs};
    break;
  default:
    whole = {lhs, result, rhs};
    break;
  }
  auto call = std::make_unique<BoundConvolution>();
  call->bound.resize(all.primitives.size());
  auto *part_scratch = static_cast<std::byte *>(scratch);
  for (size_t i = 0; i < call->bound.size(); ++i) {
    BoundPart &bound = call->bound[i];
    bound.primitive = all.primitives[i];
    try {
      bindPart(bound, convolution.kind(),
               addressesOf(convolution, all.cuts.axis, all.cuts.at[i], whole),
               part_scratch);
    } catch (const dnnl::error &error) {
      return absl::InternalError(
          absl::StrCat("oneDNN refuses an operand: ", error.what()));
    }
    if (part_scratch) {
      part_scratch += all.scratch;
    }
  }
  return call;
}
