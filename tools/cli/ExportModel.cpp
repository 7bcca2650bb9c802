//===- ExportModel.cpp - `export`: back to ONNX ---------------------------===//

#include "frontend/export/Export.h"
#include "runtime/base/OutputPath.h"
#include "runtime/comm/Launch.h"
#include "runtime/io/NewFile.h"
#include "runtime/io/Overwrite.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileFlags.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/MicroBatch.h"
#include "tools/cli/ModelFacts.h"
#include "tools/cli/OptionRules.h"
#include "tools/cli/TrainedWeights.h"
#include "tools/compiler/TrainingGraph.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace zerograph {
namespace {

std::string besideOf(const std::string &path, const std::string &name) {
  return (std::filesystem::path(path).parent_path() / name).string();
}

std::string folderOf(const std::string &path) {
  return std::filesystem::path(path).parent_path().string();
}

absl::Status copyFile(const File &from, NewFile &to) {
  constexpr uint64_t kPiece = 1 << 20;
  std::string piece(kPiece, '\0');
  for (uint64_t at = 0; at < from.bytes(); at += kPiece) {
    uint64_t bytes = std::min(kPiece, from.bytes() - at);
    ZG_RETURN_IF_ERROR(from.read(at, bytes, piece.data()));
    ZG_RETURN_IF_ERROR(to.write(at, bytes, piece.data()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<NewFile>>
writeData(const frontend::DataFile &data,
          const frontend::TrainedWeights &weights, const std::string &model,
          const std::string &output) {
  std::shared_ptr<File> source;
  auto bytes = uint64_t(data.bytes);
  if (!data.source.empty()) {
    ZG_ASSIGN_OR_RETURN(source,
                        File::openBeneath(folderOf(model), data.source));
    bytes = source->bytes();
  }
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<NewFile> file,
                      NewFile::create(besideOf(output, data.name), bytes));
  if (source) {
    ZG_RETURN_IF_ERROR(copyFile(*source, *file));
  }
  for (const frontend::DataFile::Part &part : data.parts) {
    ZG_ASSIGN_OR_RETURN(std::string values,
                        weights.at(part.weight).read(part.dtype));
    ZG_RETURN_IF_ERROR(
        file->write(uint64_t(part.offset), values.size(), values.data()));
  }
  return file;
}

/// Writes `exported` as `output` and the files beside it. They get their names
/// once all of them are whole, the model last; a failed export leaves none.
/// `model` is the file whose data is copied, `inputs` are the files that are
/// read; an error if any of them would be written over.
absl::Status writeExported(const frontend::ExportedModel &exported,
                           const frontend::TrainedWeights &weights,
                           const std::string &model, const std::string &output,
                           std::vector<NamedFile> inputs) {
  std::vector<NamedFile> outputs = {{"--output", output}};
  for (const frontend::DataFile &data : exported.data) {
    outputs.push_back({"--output (its data)", besideOf(output, data.name)});
    if (!data.source.empty()) {
      inputs.push_back({"the model's data", besideOf(model, data.source)});
    }
  }
  ZG_RETURN_IF_ERROR(checkOverwrites(inputs, outputs));
  std::vector<std::unique_ptr<NewFile>> files;
  for (const frontend::DataFile &data : exported.data) {
    ZG_ASSIGN_OR_RETURN(files.emplace_back(),
                        writeData(data, weights, model, output));
  }
  ZG_ASSIGN_OR_RETURN(files.emplace_back(),
                      NewFile::create(output, exported.bytes.size()));
  ZG_RETURN_IF_ERROR(
      files.back()->write(0, exported.bytes.size(), exported.bytes.data()));
  for (std::unique_ptr<NewFile> &file : files) {
    ZG_RETURN_IF_ERROR(file->commit());
  }
  return absl::OkStatus();
}

struct ExportFlags {
  explicit ExportFlags(CLI::App &app) : command(app), compile(app, kExports) {
    addOptions(app, kExports, given);
    app.add_option("FILES", files,
                   "WEIGHTS.safetensors MODEL.onnx, or, with --training-graph, "
                   "MODEL.onnx")
        ->required();
  }

  CLI::App &command;
  CompileFlags compile;
  options::Export given;
  std::vector<std::string> files;
};

/// Refuses those of compile's options that this kind of export does not take.
absl::Status checkTaken(const ExportFlags &flags) {
  std::vector<std::string> others;
  for (absl::string_view name :
       absl::StrSplit(flags.compile.given(), ", ", absl::SkipEmpty())) {
    bool taken = flags.given.training_graph || name == "--output" ||
                 (name == "--loss-output" && flags.given.inference);
    if (!taken) {
      others.emplace_back(name);
    }
  }
  return others.empty() ? absl::OkStatus()
                        : absl::InvalidArgumentError(absl::StrCat(
                              absl::StrJoin(others, ", "),
                              others.size() > 1 ? " are" : " is",
                              " for --training-graph, which is not given"));
}

absl::Status checkFiles(ExportFlags &flags) {
  ZG_RETURN_IF_ERROR(checkRules(flags.command, flags.given).status());
  if (flags.files.size() != (flags.given.training_graph ? 1 : 2)) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.given.training_graph
            ? "--training-graph is of one file, MODEL.onnx; "
            : "expected two files, WEIGHTS.safetensors and MODEL.onnx; ",
        flags.files.size(), flags.files.size() == 1 ? " is" : " are",
        " given"));
  }
  return checkTaken(flags);
}

absl::Status exportWeights(const std::string &weights,
                           const CompileOptions &compile,
                           const options::Export &given) {
  ZG_ASSIGN_OR_RETURN(WeightSource source,
                      openTrainedWeights(weights, given.names));
  frontend::ExportOptions options;
  options::copy<options::kExporter>(compile, options);
  options::copy<options::kExporter>(given, options);
  ZG_ASSIGN_OR_RETURN(frontend::ExportedModel exported,
                      frontend::exportModel(compile.model, compile.output,
                                            source.weights, options));
  source.files.push_back({"the model", compile.model});
  ZG_RETURN_IF_ERROR(writeExported(exported, source.weights, compile.model,
                                   compile.output, source.files));
  printFindings({}, exported.notes);
  std::printf("%zu weights in %s\n", exported.weights, compile.output.c_str());
  return absl::OkStatus();
}

absl::Status exportTrainingGraph(CompileOptions compile) {
  ZG_RETURN_IF_ERROR(needNumber(compile));
  ZG_ASSIGN_OR_RETURN(std::vector<frontend::InputSignature> inputs,
                      inputsOf(compile.model));
  ZG_RETURN_IF_ERROR(bindSizes(compile, inputs, std::nullopt));
  ZG_ASSIGN_OR_RETURN(TrainingGraph made, makeTrainingGraph(compile));
  ZG_RETURN_IF_ERROR(writeExported(made.model, made.weights, compile.model,
                                   compile.output,
                                   {{"the model", compile.model}}));
  printFindings(made.warnings, made.notes);
  printFindings({}, made.model.notes);
  std::printf("loss and gradients in %s\n", compile.output.c_str());
  return absl::OkStatus();
}

absl::StatusOr<int> runExport(ExportFlags &flags) {
  ZG_RETURN_IF_ERROR(needOneProcess());
  ZG_RETURN_IF_ERROR(checkFiles(flags));
  ZG_ASSIGN_OR_RETURN(CompileOptions compile, flags.compile.resolve());
  compile.model = flags.files.back();
  ZG_RETURN_IF_ERROR(checkOutputPath(compile.output));
  ZG_RETURN_IF_ERROR(checkInputFile(compile.model, Input::Model));
  ZG_RETURN_IF_ERROR(flags.given.training_graph
                         ? exportTrainingGraph(std::move(compile))
                         : exportWeights(flags.files[0], compile, flags.given));
  return 0;
}

} // namespace

void addExport(CommandLine &line) {
  CLI::App &command =
      line.add("export", "Writes trained weights, or gradients, as ONNX");
  auto flags = std::make_shared<ExportFlags>(command);
  line.onRun(command, [flags] { return runExport(*flags); });
}

} // namespace zerograph
