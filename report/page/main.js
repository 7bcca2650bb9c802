// main.js - puts the page together.

function section(title, id, ...children) {
  return element("section", {id}, element("h2", {}, title), ...children.filter(Boolean));
}

function note(text) {
  return element("p", {class: "quiet"}, text);
}

/** Returns the first lines: what was measured, what is predicted, whether it fits. */
function verdict(data) {
  const {file, title, lines, verdict, prediction} = data.plan;
  const step = measuredStep(data);
  const measured = step === null ? [] : [
    `A training step took ${timeText(step)}: ` +
    `${threeDigits(samplesOf(data.plan) / step)} samples a second, as measured.`];
  const predicted = prediction && step !== null
      ? [`Predicted: ${verdict[0]}`, ...verdict.slice(1)] : verdict;
  const fits = (line) => line.startsWith("it fits") ? "good"
      : line.startsWith("it does not fit") ? "bad" : "";
  return [
    element("h1", {}, `${file}: ${title}`),
    note(Object.values(lines).join("; ")),
    ...[...measured, ...predicted].map((line, i) =>
        element("p", {class: `line ${i ? "" : "verdict"} ${fits(line)}`}, line)),
  ];
}

function findingsSection({plan}) {
  const found = [...(plan.unsafe ? [plan.unsafe] : []), ...plan.waste];
  const {prediction} = plan;
  if (prediction && prediction.parts.launches > prediction.step_seconds / 3) {
    found.push(`${shareText(prediction.parts.launches, prediction.step_seconds)} of the step ` +
               "passes between two launches: a larger micro-batch would use the device better.");
  }
  return section("Findings", "findings",
      ...(found.length ? found.map((text) => element("p", {}, text))
          : [note("The checks of verify found nothing unsafe, those of inspect nothing " +
                  "wasteful.")]));
}

function planSection({plan}) {
  return section("The plan", "plan",
      element("details", {}, element("summary", {}, "what it was compiled with"),
              table([{title: "", text: ([name]) => name}, {title: "", text: ([, value]) => value}],
                    [...Object.entries(plan.lines), ...settings(plan)], {limit: Infinity})),
      element("details", {}, element("summary", {}, "units of parameters"),
              table([
                {title: "unit", text: ({name}) => name},
                {title: "parameters", value: ({parameters}) => parameters, format: countText},
                {title: "elements", value: ({elements}) => elements, format: countText},
                {title: "type", text: ({type}) => type},
                {title: "trained", text: ({trainable}) => trainable ? "yes" : "no"},
                {title: "why together", text: ({reason}) => reason},
                {title: "place", text: ({place}) => place},
              ], plan.units, {group: ({name, elements, reason, trainable}) =>
                  `${withoutNumbers(name)} ${elements} ${reason} ${trainable}`})),
      note(`Made by ${plan.producer} of ${plan.model}; hash ${plan.hash}.`));
}

function main() {
  const page = document.getElementById("page");
  try {
    const data = JSON.parse(document.getElementById("data").textContent);
    document.title = `${data.plan.file}: ${data.plan.title}`;
    const sections = [
      memorySection, timeSection, exchangeSection, costSection, measuredSection, runSection,
      compareSection, findingsSection, planSection,
    ].map((make) => make(data)).filter(Boolean);
    const links = sections.map((one) =>
        element("a", {href: `#${one.id}`}, one.querySelector("h2").textContent));
    page.replaceChildren(...verdict(data), element("nav", {}, ...links), ...sections);
    page.dataset.complete = "yes";
  } catch (error) {
    page.append(element("p", {class: "error"}, `This page could not be drawn: ${error.stack}`));
  }
}
