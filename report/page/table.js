// table.js - tables whose repeated rows fold.

/**
 * Makes a table of rows, which are objects. A column has a title, and
 * - `value` and `format` of a number, of which a group has the sum; or
 * - `text` of a row, and `color`, if it has one. A group has `many` of its rows,
 *   or the text that all have; of names those that differ by numbers are one.
 * Rows of which `group` returns the same become one line, which opens.
 */
function table(columns, rows, {group, limit = 40} = {}) {
  const body = element("tbody");
  const lines = group ? grouped(rows, group) : rows.map((row) => [row]);
  let shown = 0;
  const more = element("button", {click: () => show(Infinity)});
  function show(count) {
    for (; shown < Math.min(count, lines.length); ++shown) {
      body.append(...lineOf(columns, lines[shown]));
    }
    more.hidden = shown === lines.length;
    more.textContent = `${lines.length - shown} more`;
  }
  show(limit);
  const head = element("tr", {}, ...columns.map(
      (column) => element("th", {class: column.value ? "number" : ""}, column.title)));
  return element("div", {class: "scroll"},
                 element("table", {}, element("thead", {}, head), body), more);
}

function grouped(rows, group) {
  const groups = new Map();
  for (const row of rows) {
    const key = group(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return [...groups.values()];
}

function lineOf(columns, rows) {
  if (rows.length === 1) return [rowOf(columns, rows, "")];
  let parts = null;
  const line = rowOf(columns, rows, "folded");
  line.addEventListener("click", () => {
    const open = line.classList.toggle("open");
    if (open) {
      parts = rows.map((row) => rowOf(columns, [row], "", "part"));
      line.after(...parts);
    } else {
      parts.forEach((part) => part.remove());
    }
  });
  return [line];
}

function rowOf(columns, rows, kind, cell = "") {
  return element("tr", {class: kind}, ...columns.map((column, i) => {
    if (column.value) {
      const sum = rows.reduce((all, row) => all + column.value(row), 0);
      return element("td", {class: "number"}, column.format(sum));
    }
    return element("td", {class: `${i === 0 ? cell : ""} ${column.color ? "whole" : ""}`},
                   column.color ? swatch(column.color(rows[0])) : "", textOf(column, rows),
                   i === 0 && rows.length > 1 ? ` (${rows.length})` : "");
  }));
}

function textOf({text, many}, rows) {
  const first = text(rows[0]);
  if (rows.length === 1 || rows.every((row) => text(row) === first)) return first;
  return many ? many(rows) : withoutNumbers(first);
}
