//===- Vectors.cpp - elements that a thread computes together -------------===//

#include "codegen/cuda/forms/Vectors.h"

#include "codegen/cuda/forms/CudaBody.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

/// Returns whether neighbouring columns are read as neighbours, or as one, if
/// bounds are multiples of what is read together.
static bool isVectorRead(const Node &node) {
  auto bounded = [](const ViewDim &dim) { return dim.isBounded(); };
  auto repeated = [](const ViewDim &dim) { return dim.stride == 0; };
  const Access &access = node.access;
  bool boundsColumns = llvm::any_of(access.inner, bounded);
  bool isLoad = node.kind == Node::Kind::Load && access.isContiguous();
  if (access.flat || (boundsColumns && !isLoad) ||
      llvm::any_of(access.outer, bounded) ||
      (node.index && node.index->variesInRow())) {
    return false;
  }
  return node.kind == Node::Kind::Iota || access.isContiguous() ||
         llvm::all_of(access.inner, repeated);
}

int64_t cuda::accessWidth(Type element) {
  int64_t bytes = nn::elementBytes(element);
  return kAccessBytes / std::max<int64_t>(bytes, 2);
}

int64_t cuda::vectorWidth(Graph &graph, ArrayRef<Type> stored, int64_t apart) {
  int64_t width = kAccessBytes / 2;
  for (Type element : stored) {
    width = std::min(width, accessWidth(element));
  }
  for (const Node &node : graph.getNodes()) {
    if (node.level != Level::Column || !node.view.base) {
      continue;
    }
    if (!isVectorRead(node)) {
      return 1;
    }
    if (node.kind == Node::Kind::Load && node.access.isContiguous()) {
      width = std::min(width, accessWidth(node.element));
      apart = alignedElements(node, apart);
      const ViewDim &dim = node.access.inner.front();
      width =
          dim.isBounded() ? std::gcd(std::gcd(width, dim.lo), dim.hi) : width;
    }
  }
  // Rows of another length have columns left over.
  const Domain &domain = graph.getDomain();
  while (domain.rows > 1 && domain.cols % width != 0 && apart % width != 0) {
    width /= 2;
  }
  return width;
}

int64_t cuda::sharedWidth(Graph &graph, int64_t most) {
  int64_t width = std::min(vectorWidth(graph, {}, most), most);
  while (graph.getDomain().cols % width != 0) {
    width /= 2;
  }
  return width;
}
