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
  if (size < 1e-9) return "0 s";
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

/** An element with attributes and children; functions become listeners. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const PALETTE = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2",
                 "#eeca3b", "#9d755d", "#ff9da6", "#7f8fa6", "#3d9970"];
const colors = new Map();

/** The color of a class, a stream or an operation: always the same on a page. */
function colorOf(name) {
  if (!colors.has(name)) colors.set(name, PALETTE[colors.size % PALETTE.length]);
  return colors.get(name);
}

function swatch(name) {
  return element("i", {style: `background:${colorOf(name)}`});
}

function legend(names) {
  return element("div", {class: "legend"},
                 ...names.map((name) => element("span", {}, swatch(name), name)));
}

/** Buttons of which one is chosen; nothing if there is no choice. */
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
