//===- Locations.cpp - the ONNX node an op came from, and its code --------===//

#include "passes/ir/nn/Locations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg;

Location nn::locationOf(MLIRContext *context, StringRef name,
                        const CodePlace &place) {
  auto text = StringAttr::get(context, name);
  if (!place.known()) {
    return NameLoc::get(text);
  }
  SmallVector<Location, 1> line;
  if (!place.file.empty()) {
    line.push_back(FileLineColLoc::get(context, place.file, place.line, 0));
  }
  return NameLoc::get(
      text,
      FusedLoc::get(line, StringAttr::get(context, place.module), context));
}

nn::CodePlace nn::codePlaceOf(Location location) {
  CodePlace place;
  location->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    auto module =
        fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : nullptr;
    if (!module) {
      return WalkResult::advance();
    }
    place.module = module.str();
    if (auto at = dyn_cast<FileLineColLoc>(fused.getLocations().front())) {
      place.file = at.getFilename().str();
      place.line = at.getLine();
    }
    return WalkResult::interrupt();
  });
  return place;
}

std::string nn::describe(const CodePlace &place) {
  if (place.file.empty()) {
    return place.module;
  }
  std::string line = place.file + ":" + std::to_string(place.line);
  return place.module.empty() ? line : place.module + " (" + line + ")";
}

std::string nn::placeOf(Location location) {
  return describe(codePlaceOf(location));
}

std::string nn::describe(Location location) {
  return describe(nameOf(location), location);
}

std::string nn::describe(StringRef label, Location location) {
  std::string place = placeOf(location);
  return place.empty() ? label.str() : (label + " in " + place).str();
}

std::string nn::describe(Operation *op) {
  return ("node '" + nameOf(op->getLoc()) + "' (" +
          op->getName().getStringRef() + ")")
      .str();
}

/// Returns whether the location is that of an op of backward, or of a kernel
/// with one.
static bool namesGradient(Location location) {
  return location
      ->walk([](Location part) {
        auto name = dyn_cast<NameLoc>(part);
        auto forward = name ? dyn_cast<NameLoc>(name.getChildLoc()) : NameLoc();
        // A node of the model may be called so too, but has no other within.
        bool gradient =
            forward &&
            name.getName().getValue() ==
                (forward.getName().getValue() + nn::kGradientSuffix).str();
        return gradient ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

Operation *mlir::zg::nn::firstOfBackward(Block &block, Operation *loss) {
  for (Operation &op : block) {
    if (namesGradient(op.getLoc())) {
      return &op;
    }
    if (&op == loss) {
      return op.getNextNode();
    }
  }
  return nullptr;
}
