'use strict';
// The page is drawn from the data beside it. All text goes in as text nodes, never as markup.
const data = JSON.parse(document.getElementById('data').textContent);

function grow(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}
const html = (tag, attributes = {}, ...children) => grow(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  grow(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const card = (title, ...content) => html('section', {class: 'card'}, html('h2', {}, title), ...content);

// A table of which the columns are [heading, class, what stands in a row's cell (text or a node)].
function tableOf(columns, rows) {
  const headings = columns.map(([heading, kind]) => html('th', {class: kind}, heading));
  const cells = rows.map((row) => columns.map(([, kind, cell]) => html('td', {class: kind}, cell(row) ?? '–')));
  return html('div', {class: 'scroll', tabindex: 0},
              html('table', {}, ...[headings, ...cells].map((line) => html('tr', {}, ...line))));
}

// What stands on top of every page, and the page itself: parts that are null have nothing to show.
function fillPage(kind, ...parts) {
  const bar = (colour, i) => svg('rect', {y: i * 5, width: 20, height: 3.4, rx: 1.7, fill: `var(--${colour})`});
  const mark = svg('svg', {viewBox: '0 0 20 14', 'aria-hidden': 'true'}, ...['blue', 'orange', 'teal'].map(bar));
  document.getElementById('page').replaceChildren(...[
    html('header', {}, html('div', {class: 'mark'}, mark, `Lockstep ${kind}`), html('h1', {}, data.title),
         data.command ? html('code', {class: 'command'}, data.command) : null), ...parts].filter(Boolean));
}

// 12345 as 12.3k, 0.0003 as 3e-4: short enough for an axis or a legend.
function short(value) {
  if (value === null) return '–';
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e12) {
    const [unit, name] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([unit]) => size >= unit);
    return Number((value / unit).toPrecision(3)) + name;
  }
  if (size > 0 && (size < 1e-3 || size >= 1e12)) {
    return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  }
  return String(Number(value.toPrecision(4)));
}

// Round numbers from low to high, about `count` of them.
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

// 65536 as 64 KiB.
function bytes(value) {
  if (value === null) return '–';
  const [unit, name] = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [1024, 'KiB'], [1, 'B']]
    .find(([unit]) => Math.abs(value) >= unit) ?? [1, 'B'];
  return `${Number((value / unit).toPrecision(3))} ${name}`;
}

// Round numbers of a logarithmic axis, `count` of them at most, or of a linear one where it spans too little.
function logTicks(low, high, count, base) {
  const found = [];
  const add = (factors, step) => {
    found.length = 0;
    for (let power = Math.floor(Math.log(low) / Math.log(base)); base ** power <= high * 1.000001; power += step) {
      found.push(...factors.map((factor) => factor * base ** power)
        .filter((at) => at >= low * 0.999999 && at <= high * 1.000001));
    }
  };
  if (base === 10) add([1, 2, 5], 1);
  for (let step = 1; !found.length || found.length > Math.max(count, 2); ++step) {
    add([1], step);
    if (found.length < 2) break;
  }
  return found.length < 2 ? ticks(low, high, count).filter((at) => at > 0) : found;
}

// Means over `reach` points to either side, of fewer near the ends: a line that does not lag behind.
function means(values, reach) {
  const sums = [0], counts = [0];
  values.forEach((value, i) => {
    sums.push(sums[i] + (value ?? 0));
    counts.push(counts[i] + (value === null ? 0 : 1));
  });
  return values.map((value, i) => {
    const side = Math.min(reach, i, values.length - 1 - i);
    return value === null ? null : (sums[i + side + 1] - sums[i - side]) / (counts[i + side + 1] - counts[i - side]);
  });
}

// Means of means weigh a point less the further away it is: one spike makes a bump, not a plateau.
const smooth = (values, reach) => means(means(values, Math.ceil(reach / 2)), Math.ceil(reach / 2));

// An SVG path through the points; a null lifts the pen, and a point alone is a dot.
function through(points) {
  let path = '', down = false;
  points.forEach((point, i) => {
    if (point) path += `${down ? 'L' : 'M'}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    if (point && !down && !points[i + 1]) path += 'h0';
    down = Boolean(point);
  });
  return path;
}

