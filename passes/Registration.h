//===- Registration.h - everything zerograph-opt and the compiler know ----===//

#ifndef ZEROGRAPH_PASSES_REGISTRATION_H
#define ZEROGRAPH_PASSES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::zg {

/// The dialects of the project, func, and the external models on them.
void registerDialects(DialectRegistry &registry);

/// Every pass of the project, for textual pipelines.
void registerPasses();

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_REGISTRATION_H
