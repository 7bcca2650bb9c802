//===- HostBody.h - the function of a kernel on the host ------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_HOSTBODY_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_HOSTBODY_H

#include "codegen/emit/Body.h"

namespace mlir::zg::host {

using namespace emit;

/// Every host kernel computes in vectors of as many lanes.
inline constexpr int64_t kLanes = 16;

/// The body of `void name(void *const *buffers, int64_t begin, int64_t end)`.
class HostBody : public Body {
public:
  /// Begins the function in the module and loads the buffers' addresses:
  /// operands of `op`, then results. The builder is left inside.
  HostBody(ImplicitLocOpBuilder &builder, Operation *op, Graph &graph,
           StringRef name)
      : HostBody(builder, op, graph, beginFunction(builder, op, name)) {}

  /// The work items of this call.
  Value begin, end;

  /// Returns from the function.
  void finish();

private:
  struct Function {
    SmallVector<Value> buffers;
    Value begin, end;
  };
  static Function beginFunction(ImplicitLocOpBuilder &b, Operation *op,
                                StringRef name);
  HostBody(ImplicitLocOpBuilder &builder, Operation *op, Graph &graph,
           Function function)
      : Body(builder, graph, std::move(function.buffers), op->getNumResults(),
             kLanes),
        begin(function.begin), end(function.end) {}
};

/// Room for elements on the call's stack, at a multiple of 64 bytes.
Value allocate(Lanes &lanes, Type storage, int64_t elements);

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_HOSTBODY_H
