//===- PadRows.cpp - rows of products that begin at aligned addresses -----===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Members.h"
#include "passes/kernels/Passes.h"
#include "passes/kernels/Reading.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_PADROWS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// Rows begin at a line of a cache, of so many bytes, where that costs little.
constexpr int64_t kLine = 128;
/// Padding adds at most one byte to so many of a row.
constexpr int64_t kRowPerPadding = 10;

int64_t columnsOf(Value value) {
  return shapeOf(value).empty() ? 1 : shapeOf(value).back();
}

/// Returns how many elements apart rows of this length should begin; as many as
/// they have where they are aligned already, or where it would cost too much.
int64_t paddedRow(int64_t columns, int64_t elementBytes, int64_t alignment) {
  int64_t bytes = columns * elementBytes;
  if (bytes % alignment == 0) {
    return columns;
  }
  for (int64_t multiple : {std::max(kLine, alignment), alignment}) {
    int64_t padded = llvm::alignTo(bytes, multiple);
    if ((padded - bytes) * kRowPerPadding <= bytes) {
      return padded / elementBytes;
    }
  }
  return columns;
}

/// Returns whether the kernel's code can make rows of this result that lie
/// apart: they are the rows that it goes over.
bool canWriteApart(OpResult result) {
  auto kernel = dyn_cast<nn::KernelOp>(result.getOwner());
  if (!kernel || (kernel.getForm() != nn::KernelForm::rows &&
                  kernel.getForm() != nn::KernelForm::columns)) {
    return false;
  }
  RowSpace space = rowSpaceOf(kernel);
  return space.columns == columnsOf(result) &&
         space.elements == elementsOf(result);
}

/// Returns whether every chain of views in the kernel still has one formula.
bool canReadApart(nn::KernelOp kernel) {
  return llvm::all_of(kernel.getBody().front(), [](Operation &op) {
    return !nn::isView(&op) || isReadable(op.getResult(0), Inputs());
  });
}

struct PadRowsPass : nn::impl::PadRowsBase<PadRowsPass> {
  explicit PadRowsPass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    int64_t asked = alignment ? alignment : target.rowAlignment();
    if (asked > 1) {
      llvm::SetVector<Value> buffers;
      getOperation().walk([&](nn::MatmulOp matmul) {
        if (isByLibrary(matmul)) {
          buffers.insert(stripReshapes(matmul.getLhs()));
          buffers.insert(stripReshapes(matmul.getRhs()));
          buffers.insert(matmul.getResult());
        }
      });
      for (Value buffer : buffers) {
        padded += pad(buffer, asked);
      }
    }
  }

private:
  bool isByLibrary(nn::MatmulOp matmul) const {
    auto type = cast<RankedTensorType>(matmul.getLhs().getType());
    return target.hasMatmul(type.getElementType());
  }

  bool canMakeApart(Value buffer) const {
    auto result = dyn_cast<OpResult>(buffer);
    if (!result || cast<RankedTensorType>(buffer.getType()).getEncoding()) {
      return false; // an argument; or it lies in the host's memory
    }
    auto matmul = dyn_cast<nn::MatmulOp>(result.getOwner());
    return matmul ? isByLibrary(matmul) && !matmul.getInto()
                  : canWriteApart(result);
  }

  /// Adds the buffer's other names, and the kernels that read it by any. False
  /// where something else uses it, or its rows are others under another name.
  bool collect(Value name, SmallVectorImpl<Value> &names,
               llvm::SetVector<nn::KernelOp> &readers) const {
    names.push_back(name);
    return llvm::all_of(name.getUsers(), [&](Operation *user) {
      if (auto reshape = dyn_cast<nn::ReshapeOp>(user)) {
        return columnsOf(reshape.getResult()) == columnsOf(name) &&
               collect(reshape.getResult(), names, readers);
      }
      if (auto kernel = dyn_cast<nn::KernelOp>(user)) {
        readers.insert(kernel);
        return kernel.getForm() == nn::KernelForm::rows ||
               kernel.getForm() == nn::KernelForm::columns;
      }
      auto matmul = dyn_cast<nn::MatmulOp>(user);
      return matmul && isByLibrary(matmul) && matmul.getInto() != name &&
             matmul.getBias() != name;
    });
  }

  bool pad(Value buffer, int64_t asked) {
    auto type = cast<RankedTensorType>(buffer.getType());
    int64_t columns = columnsOf(buffer);
    int64_t stride =
        paddedRow(columns, nn::elementBytes(type.getElementType()), asked);
    SmallVector<Value> names;
    llvm::SetVector<nn::KernelOp> readers;
    if (stride == columns || !canMakeApart(buffer) ||
        !collect(buffer, names, readers)) {
      return false;
    }
    auto encode = [&](Attribute encoding) {
      for (Value name : names) {
        auto dense = cast<RankedTensorType>(name.getType());
        name.setType(RankedTensorType::get(dense.getShape(),
                                           dense.getElementType(), encoding));
      }
    };
    encode(nn::RowStrideAttr::get(&getContext(), stride));
    if (!llvm::all_of(readers, canReadApart)) {
      encode({});
      return false;
    }
    return true;
  }

  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createPadRows(const TargetInfo &target) {
  return std::make_unique<PadRowsPass>(target);
}
