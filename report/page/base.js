// base.js - texts of numbers, elements of the page, and colors.

/** "1.53 GiB": as inspect has it. */
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (Math.abs(bytes) >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    ++unit;
  }
  return `${unit ? threeDigits(bytes) : bytes} ${units[unit]}`;
}

function threeDigits(number) {
  if (number === 0) return "0";
  return Math.abs(number) >= 999.5 ? Math.round(number).toLocaleString("en")
                                   : String(Number(number.toPrecision(3)));
}

/** "1.46 T": thousands to a letter. */
function countText(count) {
  const letters = ["", " k", " M", " G", " T", " P", " E"];
  let letter = 0;
  while (Math.abs(count) >= 999.5 && letter < letters.length - 1) {
    count /= 1000;
    ++letter;
  }
  return threeDigits(count) + letters[letter];
}

function timeText(seconds) {
  const size = Math.abs(seconds);
  if (size < 1e-8) return "0 s";
  return size >= 1 ? `${threeDigits(seconds)} s`
       : size >= 1e-3 ? `${threeDigits(seconds * 1e3)} ms`
                      : `${threeDigits(seconds * 1e6)} us`;
}

function shareText(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(part / whole < 0.1 ? 1 : 0)} %` : "";
}

/** "h.*.attn" of "h.3.attn": equal for what repeats in a model. */
function withoutNumbers(name) {
  return name.replace(/\d+/g, "*");
}

/** Makes an element with attributes and children; functions become listeners. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Gives each class of memory one color on every page, and says what it holds. */
const CLASSES = {
  param_shard: ["#4c78a8", "parameters from step to step: whole, or at stage 3 the rank's shard"],
  gathered: ["#f58518", "what was gathered from all ranks for a while"],
  grad: ["#54a24b", "gradients of whole units, not yet reduced"],
  grad_shard: ["#2e6f40", "gradients summed over all ranks: the rank's shard"],
  optimizer: ["#b279a2", "the optimizer's states, and masters"],
  activation: ["#72b7b2", "what forward computes and backward reads"],
  transient: ["#e45756", "all other intermediate values"],
  staging: ["#9d755d", "working space of libraries and kernels, and what a reduction receives"],
  input: ["#eeca3b", "the inputs of the micro-batch"],
  scalar: ["#8c8c8c", "single numbers, such as the loss"],
  output: ["#ff9da6", "outputs of the model"],
};

/** Gives each operation of steps one color, and its name for people. */
const OPERATIONS = {
  launch: ["#4c78a8", "kernel"],
  matmul: ["#f58518", "product"],
  convolution: ["#eeca3b", "convolution"],
  all_gather: ["#54a24b", "all_gather"],
  reduce_scatter: ["#e45756", "reduce_scatter"],
  all_reduce: ["#b279a2", "all_reduce"],
  copy: ["#72b7b2", "copy"],
  fill: ["#8c8c8c", "fill"],
  copy_in: ["#9d755d", "inputs"],
};

const PARTS = {
  products: ["#f58518"], memory: ["#4c78a8"], arithmetic: ["#72b7b2"], launches: ["#8c8c8c"],
  contention: ["#b279a2"], waits: ["#e45756"],
};

/** Returns the color of a class, an operation or a part of the step. */
function colorOf(kind, name) {
  return (kind[name] || ["#8c8c8c"])[0];
}

function operationText(name) {
  return (OPERATIONS[name] || [null, name])[1];
}

function swatch(color) {
  return element("i", {style: `background:${color}`});
}

/** Says what colors mean; a name's text is its second fact. */
function legend(kind, names) {
  return element("div", {class: "legend"}, ...names.map((name) =>
      element("span", {title: (kind[name] || [])[1]}, swatch(colorOf(kind, name)),
              kind === OPERATIONS ? operationText(name) : name)));
}

/** Makes buttons of which one is chosen; null if there is no choice. */
function choices(label, names, chosen, choose) {
  if (names.length < 2) return null;
  const buttons = names.map((name, i) => element("button", {
    "aria-pressed": String(i === chosen),
    click: () => {
      buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === i)));
      choose(i);
    },
  }, name));
  return element("div", {class: "choices"}, label, ...buttons);
}

/** Shows a text beside the pointer; without a text, none. */
function hint(text, event) {
  const box = document.getElementById("hint");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  const left = Math.min(event.clientX + 14, window.innerWidth - box.offsetWidth - 8);
  const below = event.clientY + 18;
  const top = below + box.offsetHeight < window.innerHeight
      ? below : event.clientY - box.offsetHeight - 10;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
}
