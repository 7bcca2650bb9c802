//===- RandomGraph.h - random functions of nn ops for tests ---------------===//

#ifndef ZEROGRAPH_TESTS_PASSES_KERNELS_RANDOMGRAPH_H
#define ZEROGRAPH_TESTS_PASSES_KERNELS_RANDOMGRAPH_H

#include <string>

namespace mlir::zg::testing {

/// The text of a function `@random` of f32 tensors: elementwise ops,
/// reductions of rows and columns, views of all kinds, constants, iotas,
/// gathers, sums and products, some of whose values are returned. The same
/// seed gives the same function.
std::string randomGraph(unsigned seed, unsigned ops);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_PASSES_KERNELS_RANDOMGRAPH_H
