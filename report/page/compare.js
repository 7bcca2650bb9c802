// compare.js - two plans side by side.

function compareSection({plan, against}) {
  if (!against) return null;
  const groups = [
    ["Compiled with", settingRows(plan, against)],
    ["Memory of a rank", memoryRows(plan, against)],
    ["A training step of a rank", stepRows(plan, against)],
    ["Predicted", predictedRows(plan, against)],
  ];
  return section("Beside another plan", "against",
      note(`${against.file}, ${against.title}: ${against.verdict.join("; ")}.`),
      ...groups.filter(([, rows]) => rows.length).flatMap(([title, rows]) => [
        element("h3", {}, title),
        table([
          {title: "", text: ({name}) => name},
          {title: plan.file, text: ({one}) => one},
          {title: against.file, text: ({other}) => other},
          {title: "change", text: ({change}) => change},
        ], rows, {limit: Infinity}),
      ]));
}

const NO_SETTINGS = ["memory", "costs", "traffic", "units", "precision", "prediction", "roof",
                     "part_names", "verdict", "waste", "title", "lines", "file", "hash",
                     "kernels", "kernel_module_bytes", "parameter_types"];

/** Returns what a plan was compiled with, as texts, by name. */
function settings(facts, name = "") {
  const all = new Map();
  for (const [key, value] of Object.entries(facts)) {
    if (!name && NO_SETTINGS.includes(key)) continue;
    const path = name ? `${name}.${key}` : key;
    if (value === null || typeof value !== "object") {
      all.set(path, String(value));
    } else if (Array.isArray(value) && value.every((one) => typeof one !== "object")) {
      all.set(path, value.join(", "));
    } else {
      settings(value, path).forEach((text, inner) => all.set(inner, text));
    }
  }
  return all;
}

function settingRows(plan, against) {
  const [one, other] = [plan, against].map((facts) => settings({...facts.lines, ...facts}));
  return [...new Set([...one.keys(), ...other.keys()])]
      .filter((name) => one.get(name) !== other.get(name))
      .map((name) => ({name, one: one.get(name) || "", other: other.get(name) || "",
                       change: ""}));
}

/** Returns a row of two numbers, and how much more the first is than the second. */
function numbers(name, one, other, format) {
  const percent = 100 * (one / other - 1);
  const change = one === other ? ""
      : other === 0 ? "new" : one === 0 ? "gone"
      : `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;
  return {name, one: format(one), other: format(other), change};
}

function memoryRows(plan, against) {
  const rows = [];
  const arenaOf = ({memory}, space) =>
      memory.arenas.find((arena) => arena.space === space) || {bytes: 0, class_peaks: {}};
  const spaces = new Set([plan, against].flatMap(
      ({memory}) => memory.arenas.map(({space}) => space)));
  for (const space of spaces) {
    const [one, other] = [arenaOf(plan, space), arenaOf(against, space)];
    rows.push(numbers(`${space}: allocated`, one.bytes, other.bytes, bytesText));
    const classes = new Set([...Object.keys(one.class_peaks), ...Object.keys(other.class_peaks)]);
    for (const name of classes) {
      rows.push(numbers(`${space}: ${name}, at its own peak`, one.class_peaks[name] || 0,
                        other.class_peaks[name] || 0, bytesText));
    }
  }
  return rows;
}

function samplesOf({micro_batch, accumulate, ranks}) {
  return micro_batch * accumulate * ranks;
}

function stepRows(plan, against) {
  const {costs: one, traffic: mine} = plan;
  const {costs: other, traffic: theirs} = against;
  const bytes = [["gathered", "gather"], ["reduced", "reduce"], ["to the host", "down"],
                 ["from the host", "up"], ["from the file", "read"], ["to the file", "written"]];
  return [
    numbers("samples, of all ranks", samplesOf(plan), samplesOf(against), countText),
    numbers("operations", one.operations, other.operations, countText),
    numbers("read", one.read, other.read, bytesText),
    numbers("written", one.written, other.written, bytesText),
    numbers("launches", one.launches, other.launches, countText),
    ...bytes.filter(([, key]) => mine[key] || theirs[key])
        .map(([name, key]) => numbers(name, mine[key], theirs[key], bytesText)),
  ];
}

function predictedRows({prediction: one, part_names}, {prediction: other}) {
  if (!one || !other) return [];
  return [
    numbers("samples a second", one.samples_per_second, other.samples_per_second, threeDigits),
    numbers("a training step", one.step_seconds, other.step_seconds, timeText),
    ...Object.entries(part_names).map(([key, name]) =>
        numbers(name, one.parts[key], other.parts[key], timeText)),
  ];
}
