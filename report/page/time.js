// time.js - where the time of a step goes, and when each step runs.

function timeSection(data) {
  const {columns, plan} = data;
  const timed = columns.programs.filter(({predicted, measured}) => predicted || measured);
  if (!timed.length) return null;
  const place = element("div");
  const show = (i) => {
    const {name, runs} = timed[i];
    const {operations, canvas} = lanes(columns, timed[i]);
    place.replaceChildren(
        note(`The program ${name}, ` + (runs > 1
            ? `one run of ${runs} in a training step.`
            : runs === 1 ? "which a training step runs once."
                         : "which is no part of a training step.")),
        legend(OPERATIONS, operations), canvas);
  };
  show(0);
  return section("Time", "time",
      ...(plan.prediction ? partsOf(plan) : []),
      element("h3", {}, "When steps run"),
      note("A lane is a stream: its steps run one after the other. " + KEYS),
      choices("program: ", timed.map(({name}) => name), 0, show),
      place);
}

/** Shows the parts of the predicted step as one bar, and in a table. */
function partsOf({prediction, part_names}) {
  const whole = prediction.step_seconds;
  const parts = Object.entries(prediction.parts)
      .map(([key, seconds]) => ({name: part_names[key], color: colorOf(PARTS, key), seconds}));
  const bar = element("div", {class: "bar"}, ...parts.map(({name, color, seconds}) =>
      element("span", {
        style: `width:${100 * seconds / whole}%;background:${color}`,
        pointermove: (event) => hint(`${name}: ${timeText(seconds)}`, event),
        pointerleave: () => hint(""),
      })));
  return [
    element("h3", {}, "The stream that computes, as predicted"),
    bar,
    table([
      {title: "part", text: ({name}) => name, color: ({color}) => color},
      {title: "seconds", value: ({seconds}) => seconds, format: timeText},
      {title: "of the step", value: ({seconds}) => seconds,
       format: (seconds) => shareText(seconds, whole)},
    ], parts),
    table([
      {title: "stream", text: ({stream}) => stream},
      {title: "works for", value: ({seconds}) => seconds, format: timeText},
      {title: "of the step", value: ({seconds}) => seconds,
       format: (seconds) => shareText(seconds, whole)},
    ], prediction.streams.filter(({seconds}) => seconds > 0)),
  ];
}

/** Draws the lanes of a program, first those predicted; also returns its operations. */
function lanes(columns, program) {
  const {strings, streams} = columns;
  const {steps} = program;
  const rows = [];
  for (const kind of ["predicted", "measured"]) {
    if (!program[kind]) continue;
    streams.forEach((name, stream) => {
      const own = [...steps.stream.keys()].filter((i) =>
          steps.stream[i] === stream && program[kind].lasts[i] > 0);
      if (own.length) rows.push({kind, name, own, times: program[kind]});
    });
  }
  const ends = rows.flatMap(({own, times}) => own.map((i) => times.begin[i] + times.lasts[i]));
  const range = new Range(ends.reduce((a, b) => Math.max(a, b), 1));
  const tall = 30;
  const high = rows.length * tall;
  const chart = new Chart({
    range, left: 150, height: high + 30, high, yTicks: false,
    xText: (nanoseconds) => timeText(nanoseconds * 1e-9),
    names(chart) {
      rows.forEach(({kind, name}, row) => chart.text(
          `${name}, ${kind}`, chart.left - 6, chart.top + (row + 0.5) * tall + 4, "right"));
    },
    content(chart) {
      rows.forEach(({own, times}, row) => {
        for (const i of own) {
          const left = chart.x(times.begin[i]);
          const right = chart.x(times.begin[i] + times.lasts[i]);
          if (right < chart.left || left > chart.left + chart.inner.width) continue;
          chart.rectangle(left, chart.top + row * tall + 3, right - left, tall - 6,
                          colorOf(OPERATIONS, strings[steps.op[i]]));
        }
      });
    },
    over(x, y) {
      const row = rows[Math.floor((high - y) / tall)];
      const i = row && row.own.find((step) => row.times.begin[step] <= x &&
                                              x < row.times.begin[step] + row.times.lasts[step]);
      return i === undefined ? "" : stepHint(columns, program, row, i);
    },
  });
  const operations = new Set(rows.flatMap(({own}) => own.map((i) => strings[steps.op[i]])));
  return {operations: [...operations], canvas: chart.canvas};
}

function stepHint({strings}, program, {kind, times}, i) {
  const {steps} = program;
  const lines = [
    strings[steps.name[i]],
    `step ${i}: ${operationText(strings[steps.op[i]])}, ${timeText(times.lasts[i] * 1e-9)} ${kind}`,
    `${bytesText(steps.read[i])} read, ${bytesText(steps.written[i])} written, ` +
        `${countText(steps.operations[i])} operations`,
  ];
  if (kind === "predicted" && times.after[i] >= 0) {
    lines.push(`begins after step ${times.after[i]}, ${strings[steps.name[times.after[i]]]}`);
  }
  if (kind === "measured" && times.waited[i] > 0) {
    lines.push(`waited ${timeText(times.waited[i] * 1e-9)} for other ranks`);
  }
  return lines.join("\n");
}

/** Returns the seconds from the first step of a run to its last. */
function lengthOf({begin, lasts}) {
  return begin.reduce((last, at, i) => Math.max(last, at + lasts[i]), 0) * 1e-9;
}

/** Returns the median time of a training step in the log, or else that of the trace. */
function measuredStep({log, columns}) {
  if (log) return medianStep(log);
  const programs = columns.programs.filter(({runs}) => runs > 0);
  if (!programs.length || programs.some(({measured}) => !measured)) return null;
  return programs.reduce((sum, {runs, measured}) => sum + runs * lengthOf(measured), 0);
}

/** Shows predicted beside measured, by operation. */
function measuredSection({columns}) {
  const programs = columns.programs.filter(({predicted, measured}) => predicted && measured);
  if (!programs.length) return null;
  const sums = new Map();
  const step = {name: "the step, from begin to end", predicted: 0, measured: 0};
  for (const {steps, runs, predicted, measured} of programs) {
    step.predicted += runs * lengthOf(predicted);
    step.measured += runs * lengthOf(measured);
    steps.op.forEach((op, i) => {
      const name = operationText(columns.strings[op]);
      const sum = sums.get(name) || {name, predicted: 0, measured: 0};
      sum.predicted += runs * predicted.lasts[i] * 1e-9;
      sum.measured += runs * measured.lasts[i] * 1e-9;
      sums.set(name, sum);
    });
  }
  const rows = [...sums.values()].sort((a, b) => b.measured - a.measured);
  return section("Predicted and measured", "measured",
      note("Of rank 0, one training step. A collective's time is that of its work; waits for " +
           "other ranks are not in it where the trace tells them apart. If all is off by one " +
           "factor, the run was on another machine than the one that was named."),
      table([
        {title: "steps of", text: ({name}) => name},
        {title: "predicted", value: ({predicted}) => predicted, format: timeText},
        {title: "measured", value: ({measured}) => measured, format: timeText},
        {title: "predicted : measured", value: ({predicted, measured}) =>
            measured > 0 ? predicted / measured : NaN,
         format: (ratio) => Number.isNaN(ratio) ? "" : ratio.toFixed(2)},
      ], [step, ...rows]));
}
