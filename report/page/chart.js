// chart.js - a canvas with axes, a shared horizontal range, and a pointer.

/** The part of a horizontal axis that several charts show together. */
class Range {
  constructor(end) {
    this.whole = end;
    this.begin = 0;
    this.end = end;
    this.charts = [];
    this.mark = null;  // where the charts have a vertical line
  }
  set(begin, end) {
    const least = this.whole / 1e5;
    const size = Math.min(this.whole, Math.max(least, end - begin));
    this.begin = Math.min(Math.max(0, begin), this.whole - size);
    this.end = this.begin + size;
    this.draw();
  }
  draw() {
    this.charts.forEach((chart) => chart.draw());
  }
}

/**
 * A chart draws its content in units of its axes: `content(chart)` is called
 * with the chart, which has `x`, `y` and `context`. `over(x, y)` returns the
 * text for the pointer there, and `click(x, y)` is called where it is pressed;
 * both are optional, as is `names(chart)`, which writes beside the vertical axis.
 * That axis goes from `low` to `high`.
 */
class Chart {
  constructor(options) {
    Object.assign(this, {left: 74, bottom: 22, top: 8, right: 8, height: 240, low: 0,
                         xText: countText, yText: countText}, options);
    this.canvas = element("canvas", {
      style: `height:${this.height}px`,
      pointermove: (event) => this.pointer(event),
      pointerleave: () => { hint(""); this.grip = null; },
      pointerdown: (event) => { this.grip = {at: event.offsetX, begin: this.range.begin}; },
      pointerup: (event) => this.release(event),
      dblclick: () => this.range.set(0, this.range.whole),
    });
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    this.range.charts.push(this);
    queueMicrotask(() => this.draw());  // when it is on the page
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  get inner() {
    return {width: Math.max(1, this.canvas.clientWidth - this.left - this.right),
            height: this.height - this.top - this.bottom};
  }
  x(value) {
    const {begin, end} = this.range;
    return this.left + (value - begin) / (end - begin) * this.inner.width;
  }
  y(value) {
    const share = (value - this.low) / (this.high - this.low);
    return this.top + (1 - share) * this.inner.height;
  }
  xAt(pixel) {
    const {begin, end} = this.range;
    return begin + (pixel - this.left) / this.inner.width * (end - begin);
  }
  yAt(pixel) {
    const share = 1 - (pixel - this.top) / this.inner.height;
    return this.low + share * (this.high - this.low);
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width) return;  // not on the page, or folded away
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = this.height * scale;
    const context = this.context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = "11px system-ui, sans-serif";
    const style = getComputedStyle(document.body);
    this.ink = style.getPropertyValue("--quiet");
    this.faint = style.getPropertyValue("--line");
    this.fore = style.getPropertyValue("--fore");
    if (this.yTicks !== false) this.drawRows();
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.inner.width, this.height - this.bottom);
    context.clip();
    this.content(this);
    if (this.range.mark !== null) {
      context.fillStyle = this.fore;
      context.fillRect(this.x(this.range.mark), this.top, 1, this.inner.height);
    }
    context.restore();
    this.drawColumns();
    if (this.names) this.names(this);
  }
  drawRows() {
    for (const value of ticks(this.low, this.high, 5, this.binary)) {
      this.context.fillStyle = this.faint;
      this.context.fillRect(this.left, this.y(value), this.inner.width, 1);
      this.text(this.yText(value), this.left - 6, this.y(value) + 4, "right");
    }
  }
  drawColumns() {
    const {begin, end} = this.range;
    for (const value of ticks(begin, end, 8)) {
      this.text(this.xText(value), this.x(value), this.height - 6, "center");
    }
  }
  text(text, x, y, align = "left", color = this.ink) {
    this.context.fillStyle = color;
    this.context.textAlign = align;
    this.context.fillText(text, x, y);
  }
  rectangle(x, y, width, height, color) {
    this.context.fillStyle = color;
    this.context.fillRect(x, y, Math.max(width, 0.6), height);
  }
  line(points, color) {
    const context = this.context;
    context.strokeStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    let drawn = false;
    for (const [x, y] of points) {
      if (y === null) drawn = false;
      else if (drawn) context.lineTo(this.x(x), this.y(y));
      else {
        context.moveTo(this.x(x), this.y(y));
        drawn = true;
      }
    }
    context.stroke();
  }

  pointer(event) {
    if (this.grip && event.buttons) {
      const {begin, end} = this.range;
      const moved = (event.offsetX - this.grip.at) / this.inner.width * (end - begin);
      this.range.set(this.grip.begin - moved, this.grip.begin - moved + end - begin);
      this.grip.moved = this.grip.moved || Math.abs(event.offsetX - this.grip.at) > 3;
      hint("");
      return;
    }
    hint(this.over ? this.over(this.xAt(event.offsetX), this.yAt(event.offsetY), event) : "",
         event);
  }
  release(event) {
    if (this.grip && !this.grip.moved && this.click) {
      this.click(this.xAt(event.offsetX), this.yAt(event.offsetY));
    }
    this.grip = null;
  }
  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey && !event.metaKey) return;  // the page scrolls
    event.preventDefault();
    const {begin, end} = this.range;
    const factor = Math.exp((event.deltaY || event.deltaX) * 0.002);
    const at = this.xAt(event.offsetX);
    this.range.set(at - (at - begin) * factor, at + (end - at) * factor);
  }
}

/** Returns about so many round values between two; of bytes, powers of two. */
function ticks(low, high, count, binary = false) {
  const raw = (high - low) / count;
  if (!(raw > 0)) return [low];
  const base = binary ? 2 ** Math.floor(Math.log2(raw)) : 10 ** Math.floor(Math.log10(raw));
  const step = (binary ? [1, 2] : [1, 2, 5, 10]).map((by) => by * base)
                   .find((size) => size >= raw);
  const values = [];
  const first = Math.ceil(low / step);
  for (let k = 0; k <= 2 * count && (first + k) * step <= high * (1 + 1e-9); ++k) {
    values.push((first + k) * step);
  }
  return values;
}

const KEYS = "Hold Shift or Ctrl and turn the wheel to look closer, drag to move, " +
             "double-click for the whole.";
