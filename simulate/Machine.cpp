//===- Machine.cpp - what a machine can do --------------------------------===//

#include "simulate/Machine.h"

#include "config/Value.h"
#include "runtime/base/EditDistance.h"
#include "runtime/base/Status.h"
#include "simulate/MachineFiles.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace zerograph::simulate {
namespace {

using config::Value;

/// No figure is larger, or smaller than one of it: times stay finite.
constexpr double kMost = 1e9;

constexpr absl::string_view kTera = "10^12 a second";
constexpr absl::string_view kGigabytes = "10^9 bytes a second";

const Figure *findFigure(absl::string_view name) {
  for (const Figure &figure : figures()) {
    if (figure.name == name) {
      return &figure;
    }
  }
  return nullptr;
}

std::vector<std::string> figureNames() {
  std::vector<std::string> names;
  for (const Figure &figure : figures()) {
    names.emplace_back(figure.name);
  }
  return names;
}

absl::Status unknownFigure(absl::string_view name) {
  std::vector<std::string> names = figureNames();
  const std::string *near = nearest(std::string(name), names);
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' is no figure of a machine; ",
      near ? absl::StrCat("did you mean ", *near, "?")
           : absl::StrCat("there are ", absl::StrJoin(names, ", "))));
}

absl::Status setFigure(Machine &machine, const Figure &figure, double value) {
  double most = figure.unit.empty() ? 1 : kMost;
  if (!(value >= 1 / kMost && value <= most)) {
    return absl::InvalidArgumentError(
        absl::StrCat(figure.name, " is ", value, "; expected at least ",
                     1 / kMost, " and at most ", most));
  }
  machine.*figure.value = value;
  return absl::OkStatus();
}

const Value *child(const Value &map, absl::string_view name) {
  for (const Value &value : map.children) {
    if (value.name == name) {
      return &value;
    }
  }
  return nullptr;
}

absl::Status setCard(const std::string &name, Machine &machine) {
  machine.card = options::findCard(name);
  if (!machine.card) {
    return absl::InvalidArgumentError(
        absl::StrCat("'card' is '", name, "'; expected the nearest of ",
                     options::cardNames(), ", for its architecture"));
  }
  machine.memory = double(machine.card->total_mib << 20) / 1e9;
  return absl::OkStatus();
}

/// Reads one entry of a file.
absl::Status readEntry(const Value &entry, Machine &machine) {
  if (entry.name == "name" || entry.name == "device" || entry.name == "card") {
    bool shown = std::all_of(entry.text.begin(), entry.text.end(),
                             [](char c) { return absl::ascii_isprint(c); });
    if (entry.kind != Value::Kind::Scalar || entry.text.empty() || !shown) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", entry.name, "' is no text of printable letters"));
    }
    if (entry.name == "card") {
      return setCard(entry.text, machine);
    }
    (entry.name == "name" ? machine.name : machine.device) = entry.text;
    return absl::OkStatus();
  }
  const Figure *figure = findFigure(entry.name);
  if (!figure) {
    return unknownFigure(entry.name);
  }
  const Value *value = child(entry, "value"), *source = child(entry, "source");
  if (!entry.isMap() || entry.children.size() != 2 || !value || !source ||
      !value->number() || source->text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", entry.name, "' is ", entry.shown(),
                     "; expected {value: NUMBER, source: TEXT}, in ",
                     figure->unit.empty() ? "parts of 1" : figure->unit));
  }
  return setFigure(machine, *figure, *value->number());
}

absl::Status checkWhole(const Machine &machine) {
  if (machine.name.empty()) {
    return absl::InvalidArgumentError("there is no 'name'");
  }
  bool host = machine.device == "host";
  if (!host && machine.device != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat(
        "'device' is '", machine.device, "'; expected cuda or host"));
  }
  if (!host && !machine.card) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no 'card'; expected the nearest of ", options::cardNames()));
  }
  std::vector<absl::string_view> missing;
  for (const Figure &figure : figures()) {
    if (machine.*figure.value == 0 && (!host || figure.host)) {
      missing.push_back(figure.name);
    }
  }
  return missing.empty()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "there is no ", absl::StrJoin(missing, ", "),
                   "; machines/README.md says what each is, and each "
                   "file there has all"));
}

} // namespace

const std::vector<Figure> &figures() {
  using M = Machine;
  static const std::vector<Figure> all = {
      {"processors", &M::processors, "multiprocessors or cores", true},
      {"devices", &M::devices, "GPUs of a node", false},
      {"multiply_f64", &M::multiply_f64, kTera, true},
      {"multiply_f32", &M::multiply_f32, kTera, true},
      {"multiply_tf32", &M::multiply_tf32, kTera, false},
      {"multiply_f16", &M::multiply_f16, kTera, true},
      {"multiply_bf16", &M::multiply_bf16, kTera, true},
      {"vector_f32", &M::vector_f32, kTera, true},
      {"vector_f64", &M::vector_f64, kTera, true},
      {"product_share", &M::product_share, "", true},
      {"memory_share", &M::memory_share, "", true},
      {"memory", &M::memory, "10^9 bytes", true},
      {"memory_bandwidth", &M::memory_bandwidth, kGigabytes, true},
      {"launch", &M::launch, "microseconds", true},
      {"link_bandwidth", &M::link_bandwidth, kGigabytes, true},
      {"link_latency", &M::link_latency, "microseconds", true},
      {"network_bandwidth", &M::network_bandwidth, kGigabytes, true},
      {"host_link", &M::host_link, kGigabytes, false},
      {"host_memory_bandwidth", &M::host_memory_bandwidth, kGigabytes, false},
      {"host_processors", &M::host_processors, "cores", false},
      {"disk_read", &M::disk_read, kGigabytes, true},
      {"disk_write", &M::disk_write, kGigabytes, true},
  };
  return all;
}

absl::StatusOr<Machine> parseMachine(absl::string_view text,
                                     absl::string_view name) {
  absl::StatusOr<Value> file = config::parseValue(text);
  if (!file.ok()) {
    return annotate(file.status(), name);
  }
  Machine machine;
  std::set<absl::string_view> seen;
  for (const Value &entry : file->children) {
    absl::Status status = seen.insert(entry.name).second
                              ? readEntry(entry, machine)
                              : absl::InvalidArgumentError(absl::StrCat(
                                    "'", entry.name, "' is there twice"));
    if (!status.ok()) {
      return annotate(status, absl::StrCat(name, ", line ", entry.line));
    }
  }
  absl::Status status = checkWhole(machine);
  if (!status.ok()) {
    return annotate(status, name);
  }
  return machine;
}

absl::StatusOr<Machine> findMachine(const std::string &where) {
  std::vector<std::string> names;
  for (const EmbeddedFile &file : machineFiles()) {
    if (file.name == where) {
      return parseMachine(file.text, file.name);
    }
    names.emplace_back(file.name);
  }
  std::error_code error;
  if (!std::filesystem::exists(where, error)) {
    return absl::NotFoundError(absl::StrCat("there is no file and no machine '",
                                            where, "'; machines are ",
                                            absl::StrJoin(names, ", ")));
  }
  if (std::filesystem::is_directory(where, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": is a folder, expected a machine's file"));
  }
  std::ifstream file(where);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) {
    return absl::UnavailableError(absl::StrCat(where, ": cannot be read"));
  }
  return parseMachine(text, where);
}

absl::Status change(Machine &machine, absl::string_view changes) {
  for (absl::string_view one : absl::StrSplit(changes, ',')) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(one, absl::MaxSplits('=', 1));
    absl::string_view name = absl::StripAsciiWhitespace(parts.first);
    absl::string_view text = absl::StripAsciiWhitespace(parts.second);
    const Figure *figure = findFigure(name);
    if (!figure) {
      return unknownFigure(name);
    }
    double before = machine.*figure->value, number = 0;
    bool times = absl::ConsumeSuffix(&text, "x");
    bool plus = !times && absl::ConsumePrefix(&text, "+");
    if (!absl::SimpleAtod(text, &number) || absl::StartsWith(text, "+")) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", one, "' is no change; expected ", name,
                       "=NUMBER, =NUMBERx or =+NUMBER, in ",
                       figure->unit.empty() ? "parts of 1" : figure->unit));
    }
    ZG_RETURN_IF_ERROR(setFigure(machine, *figure,
                                 times  ? before * number
                                 : plus ? before + number
                                        : number));
  }
  return absl::OkStatus();
}

} // namespace zerograph::simulate
