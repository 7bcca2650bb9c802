// main.js - puts the page together.

function section(title, id, ...children) {
  return element("section", {id}, element("h2", {}, title), ...children.filter(Boolean));
}

function note(text) {
  return element("p", {class: "quiet"}, text);
}

function verdict({title, verdict, prediction}) {
  const kind = !prediction ? "" : prediction.fits ? "good" : "bad";
  return [
    element("h1", {}, title),
    ...verdict.map((line, i) => element("p", {class: i ? "" : `verdict ${kind}`}, line)),
  ];
}

function findingsSection({plan}) {
  const found = [...(plan.unsafe ? [plan.unsafe] : []), ...plan.waste];
  return section("Findings", "findings",
      ...(found.length ? found.map((text) => element("p", {}, text))
                       : [note("Nothing is unsafe or wasteful.")]));
}

function planSection({plan}) {
  return section("The plan", "plan",
      element("details", {}, element("summary", {}, "what it was compiled with"),
              table([{title: "", text: ([name]) => name}, {title: "", text: ([, value]) => value}],
                    [...settings(plan)], {limit: Infinity})),
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
    document.title = data.plan.title;
    const sections = [
      memorySection, timeSection, exchangeSection, costSection, measuredSection, runSection,
      compareSection, findingsSection, planSection,
    ].map((make) => make(data)).filter(Boolean);
    const links = sections.map((one) =>
        element("a", {href: `#${one.id}`}, one.querySelector("h2").textContent));
    page.replaceChildren(...verdict(data.plan), element("nav", {}, ...links), ...sections);
    page.dataset.complete = "yes";
  } catch (error) {
    page.append(element("p", {class: "error"}, `This page could not be drawn: ${error.stack}`));
  }
}
