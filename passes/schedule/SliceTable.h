//===- SliceTable.h - the slices of a module while it is lowered ----------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_SLICETABLE_H
#define ZEROGRAPH_PASSES_SCHEDULE_SLICETABLE_H

#include "passes/ir/sched/SchedDialect.h"

#include <deque>

namespace mlir::zg::sched {

/// The place of a value: on rank r from byte `offset + r * stride` of a slice
/// on.
struct Place {
  int slice = -1;
  int64_t offset = 0;
  int64_t stride = 0;

  explicit operator bool() const { return slice >= 0; }
  bool operator==(const Place &) const = default;
  Place plus(int64_t bytes, int64_t rankStride) const {
    return {slice, offset + bytes, stride + rankStride};
  }
};

/// Collects slices by number and makes their ops when they are first used, so
/// that they stand in the order of their first step.
class SliceTable {
public:
  explicit SliceTable(ModuleOp module);

  /// The slice of a state, input, output or scalar; the same one for all
  /// programs. States and outputs are carried from one to the next. The
  /// location is that of what the slice is made for.
  Place named(Attribute meaning, RankedTensorType type, Location location);
  /// Adds a slice of the program being lowered, for the op at that location.
  /// `held` says which elements of a unit it holds.
  Place create(StringRef label, Location location, SliceClass sliceClass,
               int64_t bytes, HeldAttr held = {}, Space space = Space::device);
  /// One where the runtime puts what it gives to a program.
  Place createSlot(StringRef label, Location location, int64_t bytes);

  Space space(int slice) const { return records[slice].space; }
  SliceClass sliceClass(int slice) const { return records[slice].sliceClass; }
  bool isCarried(int slice) const { return records[slice].carried; }
  int64_t bytes(int slice) const { return records[slice].bytes; }
  /// Returns the elements that a slice, perhaps a state's, holds, or null.
  HeldAttr held(int slice) const;
  /// Returns `elements` of a segment, or with -1 of a unit: all of it, or the
  /// rank's shard if there are fewer.
  HeldAttr held(StringAttr role, int64_t unit, int64_t segment,
                int64_t elements) const;
  /// Makes the op on the first call.
  SliceOp op(int slice);

  /// The units of the module's `zero.layout`, perhaps none.
  ArrayRef<zero::ParamUnitAttr> units() const { return unitList; }
  int64_t world() const { return mesh.ranks(); }
  /// Returns the number of ranks in a collective's group.
  int64_t ranks(ArrayAttr group) const { return *mesh.ranks(group); }
  /// Ranks that a unit's shards are spread over.
  int64_t ranks(int64_t unit) const {
    return *mesh.ranks(unitList[unit].getAxes());
  }

private:
  struct Record {
    std::string label = {};
    Location location;
    SliceClass sliceClass = {};
    Space space = Space::device;
    int64_t bytes = 0;
    bool carried = false;
    HeldAttr held = {};
    Attribute meaning = {};
    RankedTensorType type = {};
    SliceOp op = {};
  };

  ModuleOp module;
  zero::LayoutOp layout; ///< null for none
  SmallVector<zero::ParamUnitAttr> unitList;
  zero::MeshAttr mesh;
  std::deque<Record> records;
  DenseMap<Attribute, int> byMeaning;
};

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_SLICETABLE_H
