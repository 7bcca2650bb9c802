//===- ProductParts.cpp - a product as calls of cuBLASLt ------------------===//

#include "runtime/device/cuda/ProductParts.h"

#include "runtime/device/cuda/LibraryWorkspace.h"
#include "runtime/plan/Describe.h"

using namespace zerograph;

namespace {

/// A dimension is cut where it has at least so many times what may be left
/// over.
constexpr uint64_t kSizePerRest = 16;

/// A dimension of a product: how to read and set its size, and how many
/// elements one of its places is in A, B, C and the bias.
struct Dimension {
  uint64_t (plan::Matmul::*size)() const;
  void (plan::Matmul::*set)(uint64_t);
  uint64_t in_a, in_b, in_c, in_bias;

  /// A matrix in which its places follow each other has them in rows.
  bool isInRows() const { return in_a == 1 || in_b == 1 || in_c == 1; }
};

bool isAligned(uint64_t elements, plan::ElementType type) {
  return elements * elementSize(type) % kRowAlignment == 0;
}

bool beginsAligned(const plan::Matmul &matmul, const StoredMatrices &stored) {
  plan::ElementType type = matmul.element_type();
  return isAligned(stored.a.leading, type) &&
         isAligned(stored.b.leading, type) &&
         isAligned(stored.c.leading, resultType(matmul));
}

/// Cuts `part` in two where the dimension ends unaligned.
void cut(ProductPart part, const Dimension &dimension,
         std::vector<ProductPart> &parts) {
  uint64_t size = (part.matmul.*dimension.size)();
  uint64_t multiple = kRowAlignment / elementSize(part.matmul.element_type());
  uint64_t left = size % multiple;
  bool terms = dimension.in_c == 0;
  if (left == 0 || size < kSizePerRest * multiple || !dimension.isInRows() ||
      (terms && resultType(part.matmul) == plan::F16)) {
    parts.push_back(part);
    return;
  }
  ProductPart rest = part;
  (part.matmul.*dimension.set)(size - left);
  (rest.matmul.*dimension.set)(left);
  rest.a += (size - left) * dimension.in_a;
  rest.b += (size - left) * dimension.in_b;
  rest.c += (size - left) * dimension.in_c;
  rest.bias += (size - left) * dimension.in_bias;
  part.adds |= terms;
  rest.matmul.set_bias(part.matmul.bias() && !terms);
  parts.push_back(terms ? rest : part);
  parts.push_back(terms ? part : rest);
}

} // namespace

std::vector<ProductPart> zerograph::cutProduct(const plan::Matmul &matmul,
                                               double worth) {
  StoredMatrices stored = matricesOf(matmul);
  ProductPart whole;
  whole.matmul = matmul;
  whole.adds = matmul.accumulate();
  double multiplications =
      double(matmul.m()) * double(matmul.n()) * double(matmul.k());
  if (matmul.batch() > 1 || multiplications < worth ||
      !beginsAligned(matmul, stored)) {
    return {whole};
  }
  // The parts lie as the whole does, also where their rows are shorter.
  whole.matmul.set_lda(stored.a.leading);
  whole.matmul.set_ldb(stored.b.leading);
  whole.matmul.set_ldc(stored.c.leading);
  bool ta = matmul.transpose_a(), tb = matmul.transpose_b();
  const Dimension kDimensions[] = {
      {&plan::Matmul::m, &plan::Matmul::set_m, ta ? 1 : stored.a.leading, 0,
       stored.c.leading, 0},
      {&plan::Matmul::n, &plan::Matmul::set_n, 0, tb ? stored.b.leading : 1, 1,
       1},
      {&plan::Matmul::k, &plan::Matmul::set_k, ta ? stored.a.leading : 1,
       tb ? 1 : stored.b.leading, 0, 0}};
  std::vector<ProductPart> parts = {whole};
  for (const Dimension &dimension : kDimensions) {
    std::vector<ProductPart> finer;
    for (const ProductPart &part : parts) {
      cut(part, dimension, finer);
    }
    parts = std::move(finer);
  }
  return parts;
}
