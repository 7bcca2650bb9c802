// memory.js - the memory of a rank: by class, by address, and at a moment.

/** A program's use of one arena, step by step. */
class Usage {
  constructor(columns, program, arena) {
    this.columns = columns;
    this.program = program;
    this.arena = arena;
    this.steps = program.steps.name.length;
    const {slices} = columns;
    this.lives = [];  // slice, first and last step
    slices.carried.forEach((carried, slice) => {
      if (carried && slices.arena[slice] === arena) {
        this.lives.push({slice, first: 0, last: this.steps - 1});
      }
    });
    program.lives.slice.forEach((slice, i) => {
      if (slices.arena[slice] === arena) {
        this.lives.push({slice, first: program.lives.first[i], last: program.lives.last[i]});
      }
    });
    this.sum();
  }
  /** Sums the bytes of each class at each step. */
  sum() {
    const {slices, strings} = this.columns;
    this.classes = new Map();
    this.total = new Float64Array(this.steps + 1);
    for (const {slice, first, last} of this.lives) {
      const name = strings[slices.class[slice]];
      if (!this.classes.has(name)) this.classes.set(name, new Float64Array(this.steps + 1));
      for (const series of [this.classes.get(name), this.total]) {
        series[first] += slices.bytes[slice];
        series[last + 1] -= slices.bytes[slice];
      }
    }
    for (const series of [...this.classes.values(), this.total]) {
      for (let i = 1; i < series.length; ++i) series[i] += series[i - 1];
    }
    this.peak = this.total.indexOf(this.total.reduce((a, b) => Math.max(a, b), 0));
  }
  stepText(step) {
    const name = this.columns.strings[this.program.steps.name[step]];
    return `step ${step}, ${name}`;
  }
  /** The slices that are live at a step, the largest first. */
  at(step) {
    const {bytes} = this.columns.slices;
    return this.lives.filter(({first, last}) => first <= step && step <= last)
        .sort((a, b) => bytes[b.slice] - bytes[a.slice]);
  }
}

function memorySection({columns}) {
  const programs = columns.programs.filter(({steps}) => steps.name.length);
  if (!programs.length) return null;
  const place = element("div");
  let arena = 0;
  let program = longestOf(programs);
  const show = () => place.replaceChildren(...memoryCharts(
      columns, new Usage(columns, programs[program], arena)));
  show();
  return section("Memory", "memory",
      note("What a rank holds while it trains. Across go the steps of the program, " +
           "in the order in which they are issued. " + KEYS),
      choices("memory: ", columns.arenas.map(({space}) => space), arena,
              (i) => { arena = i; show(); }),
      choices("program: ", programs.map(({name}) => name), program,
              (i) => { program = i; show(); }),
      place);
}

/** Returns the place of the program with most steps. */
function longestOf(programs) {
  const counts = programs.map(({steps}) => steps.name.length);
  return counts.indexOf(Math.max(...counts));
}

function memoryCharts(columns, usage) {
  const range = new Range(usage.steps);
  const place = element("div");
  const live = (x) => {
    range.mark = Math.min(usage.steps - 1, Math.max(0, Math.floor(x)));
    place.replaceChildren(...liveTable(columns, usage, range.mark));
    range.draw();
  };
  const byClass = classChart(usage, range, live);
  const byAddress = addressChart(columns, usage, range, live);
  live(usage.peak);
  return [
    element("h3", {}, "In use, by class"),
    legend(CLASSES, [...usage.classes.keys()]),
    byClass.canvas,
    element("h3", {}, "Where it lies"),
    note("Up go the addresses of the arena, the one piece that is allocated."),
    byAddress.canvas,
    place,
  ];
}

function classChart(usage, range, click) {
  const whole = usage.columns.arenas[usage.arena].bytes;
  return new Chart({
    range, click, high: whole * 1.05, yText: bytesText, binary: true,
    content(chart) {
      // A column of pixels shows the step of it at which most is in use.
      for (let pixel = 0; pixel < chart.inner.width; ++pixel) {
        const step = fullest(usage, chart.xAt(chart.left + pixel),
                             chart.xAt(chart.left + pixel + 1));
        let below = 0;
        for (const [name, series] of usage.classes) {
          const top = below + series[step];
          chart.rectangle(chart.left + pixel, chart.y(top), 1, chart.y(below) - chart.y(top),
                          colorOf(CLASSES, name));
          below = top;
        }
      }
      chart.rectangle(chart.left, chart.y(whole), chart.inner.width, 1, chart.fore);
    },
    over(x) {
      const step = Math.floor(x);
      if (step < 0 || step >= usage.steps) return "";
      const lines = [...usage.classes].filter(([, series]) => series[step] > 0)
          .map(([name, series]) => `${name}: ${bytesText(series[step])}`);
      return [usage.stepText(step), `in use: ${bytesText(usage.total[step])}`, ...lines]
          .join("\n");
    },
  });
}

function fullest(usage, begin, end) {
  let best = Math.min(usage.steps - 1, Math.max(0, Math.floor(begin)));
  for (let step = best + 1; step < Math.min(end, usage.steps); ++step) {
    if (usage.total[step] > usage.total[best]) best = step;
  }
  return best;
}

function addressChart(columns, usage, range, click) {
  const {slices, strings} = columns;
  const whole = columns.arenas[usage.arena].bytes;
  return new Chart({
    range, click, high: whole, height: 340, yText: bytesText, binary: true,
    content(chart) {
      for (const {slice, first, last} of usage.lives) {
        const top = chart.y(slices.offset[slice] + slices.bytes[slice]);
        const left = chart.x(first);
        chart.rectangle(left, top, chart.x(last + 1) - left,
                        Math.max(0.4, chart.y(slices.offset[slice]) - top),
                        colorOf(CLASSES, strings[slices.class[slice]]));
      }
    },
    over(x, y) {
      const found = usage.lives.findLast(({slice, first, last}) =>
          first <= x && x < last + 1 && slices.offset[slice] <= y &&
          y < slices.offset[slice] + slices.bytes[slice]);
      return found ? sliceText(columns, usage, found) : "";
    },
  });
}

function sliceText({slices, strings}, usage, {slice, first, last}) {
  return [
    strings[slices.name[slice]],
    `${strings[slices.class[slice]]}, ${bytesText(slices.bytes[slice])}`,
    slices.carried[slice] ? "kept from step to step"
        : `from ${usage.stepText(first)}\nto ${usage.stepText(last)}`,
  ].join("\n");
}

function liveTable(columns, usage, step) {
  const {slices, strings} = columns;
  const rows = usage.at(step);
  const moment = (title, at) => ({
    title,
    text: (row) => slices.carried[row.slice] ? "kept" : usage.stepText(row[at]),
    many: (some) => {
      const steps = some.map((row) => row[at]);
      return `steps ${Math.min(...steps)} to ${Math.max(...steps)}`;
    },
  });
  return [
    element("h3", {}, `In use at ${usage.stepText(step)}: `,
            element("span", {id: "live"}, bytesText(usage.total[step])),
            step === usage.peak ? `, the most in ${usage.program.name}` : ""),
    note("Press on a chart to see another moment. Names are those of values and nodes of " +
         "the model, or of units of parameters."),
    table([
      {title: "tensor", text: ({slice}) => strings[slices.name[slice]]},
      {title: "class", text: ({slice}) => strings[slices.class[slice]],
       color: ({slice}) => colorOf(CLASSES, strings[slices.class[slice]])},
      {title: "bytes", value: ({slice}) => slices.bytes[slice], format: bytesText},
      moment("first used by", "first"),
      moment("last used by", "last"),
    ], rows, {limit: 20, group: ({slice}) =>
        `${slices.class[slice]} ${withoutNumbers(strings[slices.name[slice]])}`}),
  ];
}
