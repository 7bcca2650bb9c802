// run.js - what a run logged.

/** Returns the median time of a step, in seconds; null if the log has none. */
function medianStep(log) {
  const times = log.step_ms.filter((ms) => ms !== null).sort((a, b) => a - b);
  return times.length ? times[Math.floor(times.length / 2)] * 1e-3 : null;
}

function runSection({log}) {
  if (!log) return null;
  const range = new Range(Math.max(1, log.step.length - 1));
  const median = medianStep(log);
  const charts = [
    ["Loss", {loss: "#4c78a8", eval_loss: "#f58518"}],
    ["Learning rate", {lr: "#4c78a8"}],
    ["Norm of the gradient", {grad_norm: "#4c78a8"}],
    ["Scale of the loss", {loss_scale: "#4c78a8"}],
    ["Time of a step, ms", {step_ms: "#4c78a8"}],
    ...metricCharts(log),
  ].filter(([, series]) => Object.keys(series).some((key) => known(log[key]).length))
      .flatMap(([title, series]) => [
        element("h3", {}, title, evaluated(log, series)
            ? ": of training blue, of evaluations orange" : ""),
        logChart(log, series, range).canvas]);
  return section("The run", "run",
      note(`${log.step.length.toLocaleString("en")} training steps, from ${log.step[0] + 1} on` +
           (median === null ? ". " : `; the median took ${timeText(median)}. `) + KEYS),
      ...charts);
}

/** Returns a chart's title and series for each metric of the log. */
function metricCharts(log) {
  return Object.keys(log).filter((key) => key.startsWith("metrics/")).map((key) => {
    const series = {[key]: "#4c78a8"};
    if (log["eval_" + key]) series["eval_" + key] = "#f58518";
    return [key.slice("metrics/".length), series];
  });
}

/** Returns whether a chart shows evaluations too. */
function evaluated(log, series) {
  return Object.keys(series).some((key) => key.startsWith("eval_") && known(log[key]).length);
}

function known(values) {
  return values.filter((value) => value !== null);
}

/** Draws some of the log's columns, which are in `series` with their colors. */
function logChart(log, series, range) {
  const keys = Object.keys(series);
  const values = keys.flatMap((key) => known(log[key]));
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const size = Math.max(Math.abs(most), Math.abs(least)) || 1;
  const room = Math.max((most - least) * 0.08, size * 1e-3);
  return new Chart({
    range, low: least - room, high: most + room, height: 150,
    xText: (x) => log.step[x] === undefined ? "" : String(log.step[x] + 1),
    yText: (y) => String(Number(y.toPrecision(3))),
    content(chart) {
      for (const key of keys) {
        const points = log[key].map((value, i) => [i, value]);
        // Evaluations are some steps apart, and one line.
        chart.line(key.startsWith("eval_") ? points.filter(([, value]) => value !== null) : points,
                   series[key]);
      }
    },
    over(x) {
      const i = Math.round(x);
      const lines = keys.filter((key) => log[key][i] !== null && log[key][i] !== undefined)
          .map((key) => `${key}: ${log[key][i]}`);
      return lines.length ? [`step ${log.step[i] + 1}`, ...lines].join("\n") : "";
    },
  });
}
