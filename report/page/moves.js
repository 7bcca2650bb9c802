// moves.js - what ranks exchange, and where bytes and operations go.

function exchangeSection({columns, plan}) {
  if (!columns.exchanges.length) return null;
  const key = ({op, name, reason}) => `${op}\n${name}\n${reason}`;
  const exposed = new Map(((plan.prediction || {}).exposed || []).map((one) => [key(one), one]));
  const rows = columns.exchanges.map((row) => {
    const waits = exposed.get(key(row));
    return {...row, exposed: waits ? waits.seconds : 0, before: waits ? waits.before : ""};
  });
  const all = rows.reduce((sum, {bytes}) => sum + bytes, 0);
  const shown = [
    {title: "for", text: ({name}) => name},
    {title: "by", text: ({op}) => op, color: ({op}) => op},
    {title: "steps", value: ({steps}) => steps, format: countText},
    {title: "bytes", value: ({bytes}) => bytes, format: bytesText},
  ];
  if (plan.prediction) {
    shown.push({title: "waited for", value: (row) => row.exposed,
                format: (seconds) => seconds > 0 ? timeText(seconds) : ""},
               {title: "first by", text: ({before}) => before});
  }
  shown.push({title: "why", text: ({reason}) => reason});
  return section("What ranks exchange", "exchange",
      note(`Of one rank and one training step, ${bytesText(all)} in all: what it receives from ` +
           "others, and what it copies between its device, its host and its file. Lines that " +
           "repeat in the model are one; press to open."),
      table(shown, rows, {group: ({op, name, reason}) =>
          `${op} ${withoutNumbers(name)} ${withoutNumbers(reason)}`}));
}

function costSection(data) {
  const {plan} = data;
  const {costs} = plan;
  const moved = ({read, written}) => read + written;
  const columns = (name) => [
    {title: name, text: (row) => row.op ? row.name ? `${row.name} (${row.op})` : row.op : row.name},
    {title: "steps", value: ({steps}) => steps, format: countText},
    {title: "read", value: ({read}) => read, format: bytesText},
    {title: "written", value: ({written}) => written, format: bytesText},
    {title: "of all bytes", value: moved, format: (bytes) => shareText(bytes, moved(costs))},
    {title: "operations", value: ({operations}) => operations, format: countText},
    {title: "launches", value: ({launches}) => launches, format: countText},
  ];
  return section("What it computes and moves", "costs",
      note(`Of one rank and one training step: ${countText(costs.operations)} operations, ` +
           `${bytesText(costs.read)} read, ${bytesText(costs.written)} written, ` +
           `${countText(costs.launches)} launches.`),
      table(columns("steps of"), costs.kinds),
      element("h3", {}, "By node of the model"),
      note("Numbers in names are left out, so that what repeats is one line."),
      table(columns("node"), costs.nodes, {limit: 20}),
      ...roofline(data));
}

/** Where groups of steps are under the machine's roof. */
function roofline({columns, plan: {roof}}) {
  if (!roof) return [];
  const points = rooflinePoints(columns);
  const least = -3;  // powers of ten, at the left end
  const across = (intensity) => Math.log10(intensity) - least;
  const fast = Math.log10(Math.max(roof.products, roof.vector)) + 0.3;
  const range = new Range(8);
  const chart = new Chart({
    range, low: fast - 6, high: fast, height: 320,
    xText: (x) => countSmall(10 ** (x + least)), yText: (y) => countText(10 ** y),
    content(chart) {
      for (const peak of [roof.products, roof.vector]) {
        const corner = across(peak / roof.bytes_per_second);
        const slope = (x) => Math.log10(roof.bytes_per_second) + x + least;
        chart.line([[0, slope(0)], [corner, Math.log10(peak)], [8, Math.log10(peak)]], chart.ink);
      }
      chart.text(`products of ${roof.products_type}`, chart.left + chart.inner.width - 4,
                 chart.y(Math.log10(roof.products)) - 5, "right");
      chart.text("generated code", chart.left + chart.inner.width - 4,
                 chart.y(Math.log10(roof.vector)) - 5, "right");
      for (const point of points) {
        chart.context.fillStyle = colorOf(point.op);
        chart.context.beginPath();
        chart.context.arc(chart.x(across(point.intensity)), chart.y(Math.log10(point.rate)),
                          point.radius, 0, 7);
        chart.context.fill();
      }
    },
    over(x, y) {
      const near = (point) => Math.hypot(chart.x(x) - chart.x(across(point.intensity)),
                                         chart.y(y) - chart.y(Math.log10(point.rate)));
      const point = points.reduce((a, b) => near(a) < near(b) ? a : b);
      return near(point) > 14 ? "" :
          `${point.name} (${point.op})\n${timeText(point.seconds)} a step, ` +
          `${countText(point.rate)} operations a second, ` +
          `${countSmall(point.intensity)} a byte`;
    },
  });
  return [
    element("h3", {}, "Under the machine's roof"),
    note("A point is a node of the model; its size is its time. Across: operations for each " +
         "byte that is moved. Up: operations a second, as " +
         (columns.programs.some(({measured}) => measured) ? "measured" : "predicted") +
         ". Lines are what the machine can do."),
    legend([...new Set(points.map(({op}) => op))]),
    chart.canvas,
  ];
}

function countSmall(value) {
  return value < 1 ? String(Number(value.toPrecision(2))) : countText(value);
}

function rooflinePoints({programs, strings}) {
  const groups = new Map();
  for (const {steps, runs, predicted, measured} of programs) {
    const times = measured || predicted;
    if (!times || runs === 0) continue;
    steps.op.forEach((op, i) => {
      if (steps.operations[i] === 0 || times.lasts[i] <= 0) return;
      const name = withoutNumbers(strings[steps.name[i]]);
      const key = `${op} ${name}`;
      const group = groups.get(key) ||
          {name, op: strings[op], operations: 0, bytes: 0, seconds: 0};
      group.operations += runs * steps.operations[i];
      group.bytes += runs * (steps.read[i] + steps.written[i]);
      group.seconds += runs * times.lasts[i] * 1e-9;
      groups.set(key, group);
    });
  }
  const points = [...groups.values()].filter(({bytes}) => bytes > 0);
  const longest = Math.max(...points.map(({seconds}) => seconds));
  for (const point of points) {
    point.intensity = point.operations / point.bytes;
    point.rate = point.operations / point.seconds;
    point.radius = 2.5 + 12 * Math.sqrt(point.seconds / longest);
  }
  return points.sort((a, b) => b.seconds - a.seconds);
}
