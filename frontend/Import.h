//===- Import.h - ONNX bytes to the nn dialect ----------------------------===//

#ifndef ZEROGRAPH_FRONTEND_IMPORT_H
#define ZEROGRAPH_FRONTEND_IMPORT_H

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zerograph::frontend {

/// Adapters of this rank beside the weights whose names match.
struct AdapterWish {
  int64_t rank = 0;
  std::string pattern; ///< a glob
};

/// The user's decisions about an import.
struct ImportOptions {
  /// Sizes of symbolic dims by name; an unnamed dim is called "INPUT.AXIS".
  std::map<std::string, int64_t> dims;
  /// Input name -> value, "3", "0.5" or "true": inputs of one element that are
  /// constants of the program.
  std::map<std::string, std::string> inputs;
  /// Samples of a micro-batch, checked if the file fixes them; 0: any number.
  int64_t micro_batch = 0;
  /// Glob patterns over initializer names. `train` not empty: nothing else is
  /// trained. `freeze` wins over everything.
  std::vector<std::string> train, freeze;
  /// The adapters of --lora. Not empty: weights that match are marked for the
  /// first wish, and else only what `train` names is trained.
  std::vector<AdapterWish> adapters;
  double lora_alpha = 8;
  /// Name of the graph output to minimize; empty: inferred.
  std::string loss_output;
  /// Names of the graph outputs that are told beside it.
  std::vector<std::string> metrics;
  /// The loss to add to a model without one, of options/Losses.h; empty: none.
  std::string added_loss;
  /// The value that the loss is of, an output or a value on the way to one
  /// (empty: `logits`, or the only output of floats); the input that it
  /// compares with, maybe added.
  std::string loss_on, labels = "labels";
  /// The names of its dims, "time,batch,classes"; empty: found out.
  std::string loss_dims;
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  std::string class_weights; ///< "W1,W2,...", or empty
  bool shift_labels = false;
  /// False: the model is to be run forward. Unless `loss_output` names one,
  /// there is no loss, and nothing is trainable.
  bool require_loss = true;
  /// Initializers that get other values, for running forward: arguments of the
  /// program, even if they look like constants. What is trained is decided
  /// without them.
  std::set<std::string> replaced;
  /// The ratio of every dropout, also of those that are off in the file; 0
  /// turns them off.
  std::optional<double> dropout;
  /// The program is to evaluate what another import of the file trains: nothing
  /// drops out, and BatchNorm normalizes by its running statistics, which stay
  /// as they are.
  bool evaluation = false;
  /// Accepts a file whose exporter is known to have merged or dropped
  /// parameters.
  bool allow_exporter_damage = false;
};

/// The decision on one initializer that the program keeps as an argument.
struct ParameterDecision {
  std::string name;
  bool trainable;
  std::string reason; ///< why it is or is not: the pattern, the exporter, ...
};

/// A parameter whose bytes the file does not hold plain and little-endian. Its
/// ParameterAttr has no source: the caller writes the bytes to a file of its
/// own.
struct InlineWeight {
  std::string name;
  std::string bytes; ///< little-endian, in the type that the file has
};

/// The findings and decisions of an import.
struct ImportReport {
  std::vector<ParameterDecision> parameters;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;   ///< worth knowing, nothing is wrong
  std::vector<std::string> remarks; ///< nothing to do about it
  /// Symbolic dim -> where inputs use it ("input_ids[0]").
  std::map<std::string, std::vector<std::string>> dims;
  /// "bf16" or "fp16": what the file has most of what is trained in; else
  /// "fp32". Where it has any in 16 bits, the program is one of float32.
  std::string precision = "fp32";
  std::string batch_dim;   ///< name of the sample dim; empty: none is symbolic
  std::string loss_output; ///< empty: the model has no loss
  std::vector<InlineWeight> inline_weights;
};

/// Imports the model at `path` as a module that holds one `nn.program
/// @forward(inputs..., parameters...)`, verified, statically shaped. Reads
/// the bytes of weights only to see whether the exporter made one of another;
/// external files need not exist. Every error names the ONNX
/// nodes or tensors at fault, if possible all of them at once.
/// `report` may be null.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, const std::string &path,
            const ImportOptions &options, ImportReport *report);

/// One dim of a graph input. `value` is -1 if it is symbolic; then `name` is
/// its name, or "INPUT.AXIS" if the file has none (`named` is false). `samples`
/// says that its denotation is DATA_BATCH.
struct InputDim {
  std::string name;
  int64_t value = -1;
  bool named = true;
  bool samples = false;
};

/// A graph input that the user feeds.
struct InputSignature {
  std::string name;
  std::vector<InputDim> dims;
  std::string dtype; ///< as in safetensors: "F32", "I64", "BOOL", ...
};

/// The inputs of the model at `path`, in order, without importing it.
absl::StatusOr<std::vector<InputSignature>> readInputs(const std::string &path);

/// The lengths of the vectors among the parameters of the model at `path`: its
/// floating-point initializers of one dim and more than one element.
absl::StatusOr<std::vector<int64_t>> readVectorLengths(const std::string &path);

/// The name of the samples' dim: the first that leads an input and is no later
/// dim of any, as a sequence length may be; else the first that leads one.
/// Empty: no leading dim is symbolic.
std::string batchDim(const std::vector<InputSignature> &inputs);

/// Returns whether the first of `dims` is the samples' by its name: its name is
/// `batch`, which batchDim gives, or the file names neither. (--dim may still
/// give it another size.)
bool isBatchDim(const std::vector<InputDim> &dims, const std::string &batch,
                const std::vector<InputSignature> &inputs);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_IMPORT_H
