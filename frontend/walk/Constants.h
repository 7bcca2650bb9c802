//===- Constants.h - values that are known while importing ----------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_CONSTANTS_H
#define ZEROGRAPH_FRONTEND_WALK_CONSTANTS_H

#include "frontend/walk/NodeTable.h"

#include "mlir/IR/Location.h"

namespace zerograph::frontend {

struct ImportContext;
struct OpDef;
class Op;

/// Reads constants, computes others of them and emits those that the program
/// needs.
///
/// Exporters repeat the same arithmetic in every block. So small equal
/// constants are one object here, equal nodes over the same objects are
/// computed once, and a constant is emitted once, when a value of the program
/// first needs it.
class Constants {
public:
  explicit Constants(ImportContext &context) : context(context) {}

  /// Makes all numbers of 16 bits float32 from now on.
  ///
  /// A parameter that is trained needs more than 16 bits, or small updates are
  /// lost. So where the file has one in float16 or bfloat16, the program is
  /// that of the same model in float32, and casts between them are nothing.
  /// Rounding to 16 bits again is up to --precision. Only the bytes of
  /// parameters and of data stay as they are.
  void widenHalves() { widensHalves = true; }
  /// Returns the type that numbers of a type of the file are computed with.
  int32_t computedType(int32_t type) const;

  /// Returns the values of a tensor, which a node holds or which may lie in a
  /// file, in the type that they are computed with.
  HostTensor read(const onnx::TensorProto &tensor, bool inNode = false) const;
  /// Returns a constant to put into slots; small equal ones are one object.
  std::shared_ptr<const HostTensor> share(HostTensor tensor);
  /// Computes the outputs of a node whose inputs are all constants. Returns
  /// false if they are too large; then they become part of the program.
  bool fold(const OpDef &def, Op &op);
  /// Returns the slot as a value, emitted at the end of the program if need be.
  mlir::Value materialize(Slot &slot, mlir::Location location);

private:
  mlir::Value emitNodeOf(const Slot &slot, mlir::Location location);

  ImportContext &context;
  bool widensHalves = false;
  int emitDepth = 0;
  std::map<std::string, std::shared_ptr<const HostTensor>> shared;
  std::map<std::string, std::vector<std::shared_ptr<const HostTensor>>> folded;
  std::map<const HostTensor *, mlir::Value> emitted;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_CONSTANTS_H
