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

std::string nn::placeOf(Location location) {
  std::string text;
  location->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    auto module =
        fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : nullptr;
    if (!module) {
      return WalkResult::advance();
    }
    text = module.str();
    if (auto at = dyn_cast<FileLineColLoc>(fused.getLocations().front())) {
      std::string line =
          (at.getFilename().getValue() + ":" + Twine(at.getLine())).str();
      text = text.empty() ? line : text + " (" + line + ")";
    }
    return WalkResult::interrupt();
  });
  return text;
}

std::string nn::describe(Location location) {
  std::string name = nameOf(location), place = placeOf(location);
  return place.empty() ? name : name + " in " + place;
}

std::string nn::describe(Operation *op) {
  return ("node '" + nameOf(op->getLoc()) + "' (" +
          op->getName().getStringRef() + ")")
      .str();
}
