//===- ConvolutionParts.h - how a convolution is cut into library calls ---===//
//
// Every part is a convolution of its own, of some of the samples, features,
// channels or groups, whose tensors are slices of the whole ones.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONPARTS_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONPARTS_H

#include "runtime/plan/plan.pb.h"

#include <array>
#include <cstdint>
#include <vector>

namespace zerograph {

/// The tensors of a convolution, as indices.
enum { kInput, kWeights, kOutput };

/// The dimension that the parts divide among them.
enum class ConvolutionAxis { samples, features, channels, groups };

struct ConvolutionCuts {
  ConvolutionAxis axis = ConvolutionAxis::samples;
  std::vector<uint64_t> at; ///< ascends from 0 to the extent of the axis
};

/// Cuts by shape alone into at most 8 parts, each of about 8 MFLOP or more.
/// Every part reads one tensor whole, in the layout that the library wants, so
/// that is the smaller one: where the weights are larger than the image, the
/// parts divide the weights, else the samples; but the samples too where the
/// weights have not half as many parts. Features and channels are cut at
/// multiples of 16. Whoever changes the rule counts kCutVersion up.
ConvolutionCuts cutConvolution(const plan::Convolution &convolution);

/// The convolution of the part [begin, end) of `axis`.
plan::Convolution convolutionPart(const plan::Convolution &whole,
                                  ConvolutionAxis axis, uint64_t begin,
                                  uint64_t end);

/// Sizes and strides of a tensor, in elements: samples, channels, places of
/// input and output; features, channels, places of weights, which have the
/// groups in front where there are several.
struct ConvolutionTensor {
  std::vector<int64_t> sizes, strides;
};

/// Dense tensors, by kInput, kWeights and kOutput.
std::array<ConvolutionTensor, 3>
convolutionTensors(const plan::Convolution &convolution);

/// Returns where the part that begins at `begin` lies in the dense tensors of
/// the whole, in elements.
std::array<uint64_t, 3> partOffsets(const plan::Convolution &whole,
                                    ConvolutionAxis axis, uint64_t begin);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_CONVOLUTIONPARTS_H
