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
      note(`${against.title}. ${against.verdict.join("; ")}.`),
      ...groups.filter(([, rows]) => rows.length).flatMap(([title, rows]) => [
        element("h3", {}, title),
        table([
          {title: "", text: ({name}) => name},
          {title: "this plan", text: ({one}) => one},
          {title: "the other", text: ({other}) => other},
          {title: "change", text: ({change}) => change},
        ], rows, {limit: Infinity}),
      ]));
}

/** The facts of a plan that are texts or numbers, by name. */
function settings(facts, name = "") {
  const left_out = ["memory", "costs", "traffic", "units", "precision", "prediction", "roof",
                    "part_names", "verdict", "waste", "title", "hash", "kernel_module_bytes"];
  const all = new Map();
  for (const [key, value] of Object.entries(facts)) {
    if (!name && left_out.includes(key)) continue;
    const path = name ? `${name}.${key}` : key;
    if (value !== null && typeof value === "object") {
      settings(value, path).forEach((text, inner) => all.set(inner, text));
    } else {
      all.set(path, String(value));
    }
  }
  return all;
}

function settingRows(plan, against) {
  const [one, other] = [settings(plan), settings(against)];
  return [...new Set([...one.keys(), ...other.keys()])]
      .filter((name) => one.get(name) !== other.get(name))
      .map((name) => ({name, one: one.get(name) || "", other: other.get(name) || "",
                       change: ""}));
}

/** A row of two numbers, and how much more the first is than the second. */
function numbers(name, one, other, format) {
  const change = other > 0 && one !== other ? 100 * (one / other - 1) : 0;
  return {name, one: format(one), other: format(other),
          change: change ? `${change > 0 ? "+" : ""}${change.toFixed(1)} %` : ""};
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

function stepRows({costs: one, traffic: mine}, {costs: other, traffic: theirs}) {
  return [
    numbers("operations", one.operations, other.operations, countText),
    numbers("read", one.read, other.read, bytesText),
    numbers("written", one.written, other.written, bytesText),
    numbers("launches", one.launches, other.launches, countText),
    numbers("gathered", mine.gather, theirs.gather, bytesText),
    numbers("reduced", mine.reduce, theirs.reduce, bytesText),
    numbers("to the host", mine.down, theirs.down, bytesText),
    numbers("from the host", mine.up, theirs.up, bytesText),
  ];
}

function predictedRows({prediction: one, part_names}, {prediction: other}) {
  if (!one || !other) return [];
  return [
    numbers("a step", one.step_seconds, other.step_seconds, timeText),
    numbers("samples a second", one.samples_per_second, other.samples_per_second, threeDigits),
    ...Object.entries(part_names).map(([key, name]) =>
        numbers(name, one.parts[key], other.parts[key], timeText)),
  ];
}
