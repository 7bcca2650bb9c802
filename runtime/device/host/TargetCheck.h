//===- TargetCheck.h - can this machine run a plan ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_TARGETCHECK_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_TARGETCHECK_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <set>
#include <string>

namespace zerograph {

/// The flags of this machine's processor as the kernel lists them.
std::set<std::string> processorFlags();

/// The features of `target`, named as LLVM does (a leading + is ignored), that
/// `flags` lack. Names which say nothing about the instruction set are passed.
std::vector<std::string> missingFeatures(const plan::Target &target,
                                         const std::set<std::string> &flags);

/// An error that lists everything this machine lacks: the device, CPU features,
/// the library's version, its instruction set or how its calls are cut.
absl::Status checkTarget(const plan::Target &target);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_TARGETCHECK_H
