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
    {title: "by", text: ({way}) => way, color: ({op}) => colorOf(OPERATIONS, op)},
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
      table(shown, rows, {group: ({way, name, reason}) =>
          `${way} ${withoutNumbers(name)} ${withoutNumbers(reason)}`}));
}

function costSection(data) {
  const {costs} = data.plan;
  const moved = ({read, written}) => read + written;
  const columns = (name) => [
    {title: name, text: ({name, op}) =>
        name ? `${name} (${operationText(op)})` : operationText(op)},
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

/** Draws groups of steps under the machine's roof. */
function roofline({columns, plan: {roof}}) {
  const trained = columns.programs.filter(({runs}) => runs > 0);
  const kind = trained.every(({measured}) => measured) ? "measured" : "predicted";
  const points = roof ? rooflinePoints(trained, kind, columns.strings) : [];
  if (!points.length) return [];
  // Both axes are powers of ten; the horizontal one begins at 10^least.
  const least = Math.floor(Math.log10(Math.min(...points.map(({intensity}) => intensity))));
  const across = (intensity) => Math.log10(intensity) - least;
  const fast = Math.log10(Math.max(roof.products, roof.vector));
  const slow = Math.log10(Math.min(...points.map(({rate}) => rate)));
  const widest = Math.max(roof.products / roof.bytes_per_second,
                          ...points.map(({intensity}) => intensity));
  const range = new Range(across(widest) + 1);
  const chart = new Chart({
    range, low: Math.floor(slow - 0.3), high: fast + 0.5, height: 320,
    xText: (x) => Number.isInteger(x) ? countSmall(10 ** (x + least)) : "",
    yText: (y) => Number.isInteger(y) ? countText(10 ** y) : "",
    content(chart) {
      drawRoof(chart, roof, across, least);
      for (const point of points) {
        chart.context.fillStyle = colorOf(OPERATIONS, point.op);
        chart.context.beginPath();
        chart.context.arc(chart.x(across(point.intensity)), chart.y(Math.log10(point.rate)),
                          point.radius, 0, 7);
        chart.context.fill();
      }
    },
    over(x, y) {
      const far = (point) => Math.hypot(chart.x(x) - chart.x(across(point.intensity)),
                                        chart.y(y) - chart.y(Math.log10(point.rate)));
      const point = points.reduce((a, b) => far(a) < far(b) ? a : b);
      return far(point) > 14 ? "" :
          `${point.name} (${operationText(point.op)})\n${timeText(point.seconds)} a training ` +
          `step, ${countText(point.rate)} operations a second, ` +
          `${countSmall(point.intensity)} a byte`;
    },
  });
  return [
    element("h3", {}, "Roofline"),
    note("A point is a node of the model; its size is its time. Across: operations for each " +
         "byte that is moved. Up: operations a second, " +
         `as ${kind}. Lines are what the machine can do: below the slope, memory is the bound.`),
    legend(OPERATIONS, [...new Set(points.map(({op}) => op))]),
    chart.canvas,
  ];
}

function drawRoof(chart, roof, across, least) {
  const right = chart.range.whole;
  const peaks = [[roof.products, `products of ${roof.products_type}`],
                 [roof.vector, "generated code"]];
  peaks.forEach(([peak, name], i) => {
    const slope = Math.log10(roof.bytes_per_second) + least;
    const corner = across(peak / roof.bytes_per_second);
    chart.line([[0, slope], [corner, Math.log10(peak)], [right, Math.log10(peak)]], chart.ink);
    const lower = peak < peaks[1 - i][0] || (peak === peaks[1 - i][0] && i);
    chart.text(name, chart.left + chart.inner.width - 4,
               chart.y(Math.log10(peak)) + (lower ? 13 : -5), "right");
  });
}

function countSmall(value) {
  return value < 1 ? String(Number(value.toPrecision(2))) : countText(value);
}

/** Groups steps by node, with their times as "predicted" or "measured". */
function rooflinePoints(programs, kind, strings) {
  const groups = new Map();
  for (const {steps, runs, [kind]: times} of programs) {
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
  const points = [...groups.values()].filter(({bytes}) => bytes > 0)
      .sort((a, b) => b.seconds - a.seconds);
  for (const point of points) {
    point.intensity = point.operations / point.bytes;
    point.rate = point.operations / point.seconds;
    point.radius = 2.5 + 12 * Math.sqrt(point.seconds / points[0].seconds);
  }
  return points;
}
