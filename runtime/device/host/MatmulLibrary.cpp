//===- MatmulLibrary.cpp - matrix products by oneDNN ----------------------===//

#include "runtime/device/host/MatmulLibrary.h"

#include "runtime/device/host/OneDnn.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Matrices.h"

#include <algorithm>
#include <tuple>

using namespace zerograph;
using namespace zerograph::onednn;

namespace {

using Dims = dnnl::memory::dims;

/// The shape that a part's primitive depends on.
struct PartShape {
  plan::ElementType type = plan::F32, sum = plan::F32; // of A and B, of C
  uint64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  // Elements from a matrix to the next, and from a row, as stored, to the next.
  uint64_t a_stride = 0, b_stride = 0, c_stride = 0;
  uint64_t lda = 0, ldb = 0, ldc = 0;
  bool pack = false; // B, before the product
  bool accumulate = false, bias = false;

  auto key() const {
    return std::make_tuple(int(type), int(sum), batch, m, n, k, transpose_a,
                           transpose_b, a_stride, b_stride, c_stride, lda, ldb,
                           ldc, pack, accumulate, bias);
  }
  bool operator<(const PartShape &other) const { return key() < other.key(); }
};

/// oneDNN multiplies f32 by a plain B in place. On processors with AMX, rows a
/// multiple of 4 KiB apart then compete for the same cache sets: half the speed
/// was measured on a Xeon, and no loss on an EPYC with AVX-512.
bool rowsCompete(uint64_t leading) { return leading * 4 % 4096 == 0; }

/// Packing is one pass over B, which pays where A has enough rows.
bool packsB(const PartShape &shape, Packing packing) {
  bool can = shape.type == plan::F32 && !shape.transpose_b &&
             shape.batch == 1 && shape.k > 1 && shape.n > 1;
  if (packing != Packing::automatic) {
    return can && packing == Packing::always;
  }
  return can && shape.m >= 64 && rowsCompete(shape.ldb) && hasAmx();
}

/// The primitives of a part, shared by all products of its shape.
struct PartPrimitive {
  dnnl::memory::desc a, b, c, bias;
  dnnl::matmul matmul;
  dnnl::memory::desc scratch; // of matmul
  // The next ones are for a B that is packed first.
  bool packed = false;
  dnnl::memory::desc packed_b;
  dnnl::reorder pack;
  dnnl::memory::desc pack_scratch;

  uint64_t packedBytes() const {
    return packed ? roundUp(packed_b.get_size()) : 0;
  }
  uint64_t scratchBytes() const {
    uint64_t calls = scratch.get_size();
    if (packed) {
      calls = std::max<uint64_t>(calls, pack_scratch.get_size());
    }
    return packedBytes() + roundUp(calls);
  }
};

dnnl::memory::data_type dataType(plan::ElementType element) {
  return element == plan::F32 ? dnnl::memory::data_type::f32
                              : dnnl::memory::data_type::bf16;
}

/// A matrix operand: `rows` x `columns` after transposition.
dnnl::memory::desc operand(const PartShape &shape, plan::ElementType element,
                           uint64_t rows, uint64_t columns, bool transposed,
                           uint64_t stride, uint64_t leading) {
  Dims dims = {int64_t(rows), int64_t(columns)};
  Dims strides =
      transposed ? Dims{1, int64_t(leading)} : Dims{int64_t(leading), 1};
  if (shape.batch > 1) {
    dims.insert(dims.begin(), int64_t(shape.batch));
    strides.insert(strides.begin(), int64_t(stride));
  }
  return dnnl::memory::desc(dims, dataType(element), strides);
}

/// The vector that is added to each row of C.
dnnl::memory::desc biasOf(const PartShape &shape) {
  Dims dims = {1, int64_t(shape.n)};
  if (shape.batch > 1) {
    dims.insert(dims.begin(), 1);
  }
  auto tag = shape.batch > 1 ? dnnl::memory::format_tag::abc
                             : dnnl::memory::format_tag::ab;
  return dnnl::memory::desc(dims, dataType(shape.sum), tag);
}

std::shared_ptr<const PartPrimitive> makePrimitive(const PartShape &shape) {
  auto part = std::make_shared<PartPrimitive>();
  part->a = operand(shape, shape.type, shape.m, shape.k, shape.transpose_a,
                    shape.a_stride, shape.lda);
  part->b = operand(shape, shape.type, shape.k, shape.n, shape.transpose_b,
                    shape.b_stride, shape.ldb);
  part->c = operand(shape, shape.sum, shape.m, shape.n, false, shape.c_stride,
                    shape.ldc);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  dnnl::memory::desc b = part->b;
  if (shape.pack) {
    b = dnnl::memory::desc(part->b.dims(), dnnl::memory::data_type::f32,
                           dnnl::memory::format_tag::any);
  }
  dnnl::matmul::desc operation(part->a, b, part->c);
  if (shape.bias) {
    part->bias = biasOf(shape);
    operation = dnnl::matmul::desc(part->a, b, part->bias, part->c);
  }
  dnnl::matmul::primitive_desc description(operation, attributes, engine());
  part->matmul = dnnl::matmul(description);
  part->scratch = description.scratchpad_desc();
  if (description.weights_desc() != part->b) {
    part->packed = true;
    part->packed_b = description.weights_desc();
    dnnl::primitive_attr packing;
    packing.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::reorder::primitive_desc pack(engine(), part->b, engine(),
                                       part->packed_b, packing);
    part->pack = dnnl::reorder(pack);
    part->pack_scratch = pack.scratchpad_desc();
  }
  return part;
}

absl::Status checkType(const plan::Matmul &matmul) {
  if (matmul.element_type() != plan::F32 &&
      matmul.element_type() != plan::BF16) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN's product takes F32 or BF16, found ",
                     plan::ElementType_Name(matmul.element_type()),
                     "; products of other types are generated kernels"));
  }
  if (matmul.batch() == 0 || matmul.m() == 0 || matmul.n() == 0 ||
      matmul.k() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a product of ", matmul.batch(), " matrices ", matmul.m(), " x ",
        matmul.k(), " by ", matmul.k(), " x ", matmul.n(), " is empty"));
  }
  return absl::OkStatus();
}

PartShape shapeOf(const plan::Matmul &matmul, const MatmulPart &part,
                  Packing packing) {
  PartShape shape;
  shape.type = matmul.element_type();
  shape.sum = resultType(matmul);
  shape.batch = part.batch_end - part.batch_begin;
  shape.m = part.m_end - part.m_begin;
  shape.n = part.n_end - part.n_begin;
  shape.k = matmul.k();
  shape.transpose_a = matmul.transpose_a();
  shape.transpose_b = matmul.transpose_b();
  shape.accumulate = matmul.accumulate();
  shape.bias = matmul.bias();
  StoredMatrices matrices = matricesOf(matmul);
  if (shape.batch > 1) { // else they say nothing
    shape.a_stride = matrices.a.stride;
    shape.b_stride = matrices.b.stride;
    shape.c_stride = matrices.c.stride;
  }
  shape.lda = matrices.a.leading;
  shape.ldb = matrices.b.leading;
  shape.ldc = matrices.c.leading;
  shape.pack = packsB(shape, packing);
  return shape;
}

absl::StatusOr<std::shared_ptr<const PartPrimitive>>
primitiveOf(const PartShape &shape) {
  static auto *cache = new PrimitiveCache<PartShape, PartPrimitive>;
  return cache->find(
      shape, [&] { return makePrimitive(shape); },
      [&](const char *error) {
        return absl::StrCat(libraryVersion(), " cannot multiply ", shape.batch,
                            " matrices ", shape.m, " x ", shape.k, " by ",
                            shape.k, " x ", shape.n, " of ",
                            plan::ElementType_Name(shape.type), ": ", error);
      });
}

/// The parts of a product, and the scratch of the one that needs most.
struct CutProduct {
  std::vector<MatmulPart> parts;
  std::vector<std::shared_ptr<const PartPrimitive>> primitives; // by part
  uint64_t scratch = 0;

  uint64_t allScratch() const { return scratch * parts.size(); }
};

absl::StatusOr<CutProduct> cut(const plan::Matmul &matmul, Packing packing) {
  ZG_RETURN_IF_ERROR(checkType(matmul));
  CutProduct product;
  product.parts = cutMatmul(matmul.batch(), matmul.m(), matmul.n(), matmul.k());
  for (const MatmulPart &part : product.parts) {
    ZG_ASSIGN_OR_RETURN(auto primitive,
                        primitiveOf(shapeOf(matmul, part, packing)));
    product.scratch = std::max(product.scratch, primitive->scratchBytes());
    product.primitives.push_back(std::move(primitive));
  }
  return product;
}

/// Part of a product with memory objects that keep their addresses.
struct BoundPart {
  std::shared_ptr<const PartPrimitive> primitive;
  Arguments pack, matmul;
};

class BoundMatmul final : public LibraryCall {
public:
  std::vector<BoundPart> bound;

  unsigned parts() const override { return unsigned(bound.size()); }
  absl::Status run(unsigned part) override {
    const BoundPart &call = bound[part];
    if (call.primitive->packed) {
      ZG_RETURN_IF_ERROR(
          call.pack.execute(call.primitive->pack, "packing of a matrix"));
    }
    return call.matmul.execute(call.primitive->matmul, "product");
  }
};

void bindPart(BoundPart &bound, const plan::Matmul &matmul,
              const MatmulPart &part, const MatmulAddresses &at,
              std::byte *scratch) {
  uint64_t bytes = matmul.element_type() == plan::F32 ? 4 : 2;
  uint64_t sum_bytes = resultType(matmul) == plan::F32 ? 4 : 2;
  auto place = [&](const StoredMatrix &matrix, uint64_t row, uint64_t column) {
    return part.batch_begin * matrix.stride + row * matrix.leading + column;
  };
  StoredMatrices matrices = matricesOf(matmul);
  auto *a = static_cast<std::byte *>(at.a);
  auto *b = static_cast<std::byte *>(at.b);
  auto *c = static_cast<std::byte *>(at.c);
  a += bytes * (matmul.transpose_a() ? place(matrices.a, 0, part.m_begin)
                                     : place(matrices.a, part.m_begin, 0));
  b += bytes * (matmul.transpose_b() ? place(matrices.b, part.n_begin, 0)
                                     : place(matrices.b, 0, part.n_begin));
  c += sum_bytes * place(matrices.c, part.m_begin, part.n_begin);
  const PartPrimitive &primitive = *bound.primitive;
  std::byte *calls = scratch ? scratch + primitive.packedBytes() : nullptr;
  if (primitive.packed) {
    bound.pack.add(DNNL_ARG_FROM, primitive.b, b);
    bound.pack.add(DNNL_ARG_TO, primitive.packed_b, scratch);
    if (primitive.pack_scratch.get_size() > 0) {
      bound.pack.add(DNNL_ARG_SCRATCHPAD, primitive.pack_scratch, calls);
    }
  }
  bound.matmul.add(DNNL_ARG_SRC, primitive.a, a);
  bound.matmul.add(DNNL_ARG_WEIGHTS,
                   primitive.packed ? primitive.packed_b : primitive.b,
                   primitive.packed ? scratch : b);
  bound.matmul.add(DNNL_ARG_DST, primitive.c, c);
  if (matmul.bias()) {
    bound.matmul.add(DNNL_ARG_BIAS, primitive.bias,
                     static_cast<std::byte *>(at.bias) +
                         sum_bytes * part.n_begin);
  }
  if (primitive.scratch.get_size() > 0) {
    bound.matmul.add(DNNL_ARG_SCRATCHPAD, primitive.scratch, calls);
  }
}

} // namespace

absl::StatusOr<uint64_t> zerograph::scratchBytes(const plan::Matmul &matmul,
                                                 Packing packing) {
  ZG_ASSIGN_OR_RETURN(CutProduct product, cut(matmul, packing));
  return product.allScratch();
}

absl::StatusOr<std::unique_ptr<LibraryCall>>
zerograph::bindMatmul(const plan::Matmul &matmul, const MatmulAddresses &at,
                      void *scratch, uint64_t scratch_bytes, Packing packing) {
  ZG_ASSIGN_OR_RETURN(CutProduct product, cut(matmul, packing));
  ZG_RETURN_IF_ERROR(
      checkScratch("product", product.allScratch(), scratch_bytes));
  auto call = std::make_unique<BoundMatmul>();
  call->bound.resize(product.parts.size());
  auto *part_scratch = static_cast<std::byte *>(scratch);
  for (size_t i = 0; i < call->bound.size(); ++i) {
    BoundPart &bound = call->bound[i];
    bound.primitive = product.primitives[i];
    try {
      bindPart(bound, matmul, product.parts[i], at, part_scratch);
    } catch (const dnnl::error &error) {
      return absl::InternalError(
          absl::StrCat("oneDNN refuses an operand: ", error.what()));
    }
    if (part_scratch) {
      part_scratch += product.scratch;
    }
  }
  return call;
}
