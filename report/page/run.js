// run.js - what a run logged.

function runSection({log}) {
  if (!log || !log.step || !log.step.length) return null;
  const times = [...log.step_ms || []].filter((ms) => ms !== null).sort((a, b) => a - b);
  const median = times.length ? times[Math.floor(times.length / 2)] * 1e-3 : null;
  const range = new Range(log.step.length);
  const charts = [["loss", "Loss"], ["eval_loss", "Loss of evaluations"], ["lr", "Rate"],
                  ["grad_norm", "Norm of the gradient"], ["loss_scale", "Scale of the loss"],
                  ["step_ms", "Time of a step, ms"]]
      .filter(([key]) => log[key] && log[key].some((value) => value !== null))
      .flatMap(([key, title]) => [element("h3", {}, title), logChart(log, key, range).canvas]);
  return section("The run", "run",
      note(`${log.step.length.toLocaleString("en")} steps` +
           (median === null ? "." : `; half of them took at most ${timeText(median)}. `) + KEYS),
      ...charts);
}

function logChart(log, key, range) {
  const values = log[key];
  const known = values.filter((value) => value !== null);
  const most = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = known.reduce((a, b) => Math.min(a, b), Infinity);
  const room = (most - least || Math.abs(most) || 1) * 0.08;
  const points = values.map((value, i) => [i + 0.5, value])
      .filter(([, value]) => value !== null || key !== "eval_loss");
  return new Chart({
    range, low: least - room, high: most + room, height: 150,
    xText: (x) => Number.isInteger(x) && log.step[x] !== undefined ? String(log.step[x]) : "",
    yText: (y) => String(Number(y.toPrecision(3))),
    content(chart) {
      chart.line(points, colorOf(key));
    },
    over(x) {
      const i = Math.floor(x);
      return values[i] === undefined ? "" : `step ${log.step[i]}\n${key}: ${values[i]}`;
    },
  });
}
