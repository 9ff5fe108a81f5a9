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

const iterations = data.columns.iteration;
const charts = [];
let shown = [0, iterations.length - 1];  // indices of the first and last point in view

// The last point at or before an iteration.
function indexAt(xs, iteration) {
  let low = 0, high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= iteration) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function extent(chart, first, last) {
  const values = [];
  for (const series of chart.series) {
    if (chart.series.some((other) => other.base === series.y)) continue;  // what stands on it is higher
    series.y.forEach((value, i) => {
      const base = series.base ? series.base[i] ?? 0 : 0;
      if (value !== null && series.x[i] >= first && series.x[i] <= last) values.push(value + base);
    });
  }
  if (!values.length) return {low: 0, high: 1};
  values.sort((a, b) => a - b);
  let low = chart.zero ? 0 : values[0], high = values[values.length - 1];
  // A first iteration that warms caches up must not flatten all others.
  const usual = values[Math.floor((values.length - 1) * 0.985)];
  if (chart.zero && high > usual * 2) high = usual * 1.25;
  if (high <= low) {
    const some = (Math.abs(low) || 1) * 0.1;
    high = low + some;
    low -= some;
  }
  const room = (high - low) * 0.06;
  return {low: chart.zero ? 0 : low - room, high: high + room};
}

function drawSeries(series, x, y) {
  const place = (values) => series.x.map((iteration, i) => (values[i] === null ? null : [x(iteration), y(values[i])]));
  const add = (group, kind, points) => group.append(svg('path', {class: kind, d: through(points)}));
  const raw = place(series.y);
  const group = svg('g', {class: 'series', style: `--c: var(--${series.colour})`, 'data-name': series.name,
                          'data-points': raw.filter(Boolean).length});
  if (series.kind === 'area') {
    // Narrower than a pixel a point, colours would mix to mud: means of a pixel or two.
    const reach = Math.round(raw.length / 400), floor = smooth(series.base ?? series.y.map(() => 0), reach);
    const top = smooth(series.y, reach).map((value, i) => (floor[i] ?? 0) + (value ?? 0));
    group.append(svg('path', {class: 'region', d: through([...place(top), ...place(floor).reverse()]) + 'Z'}));
  } else if (series.kind === 'dots') {
    add(group, 'curve', raw);
    if (raw.length <= 60) {
      for (const [cx, cy] of raw.filter(Boolean)) {
        group.append(svg('circle', {class: 'dot', cx: cx.toFixed(1), cy: cy.toFixed(1), r: 3}));
      }
    }
  } else if (series.smooth && raw.length >= 100) {
    add(group, 'curve raw', raw);
    add(group, 'curve', place(smooth(series.y, Math.round(raw.length / 80))));
  } else {
    add(group, 'curve', raw);
  }
  return group;
}

const roomFor = (chart) => chart.figure.clientWidth - 2 * parseFloat(getComputedStyle(chart.figure).paddingLeft);

function draw(chart) {
  const width = Math.max(roomFor(chart), 220), height = chart.wide ? 300 : 190;
  const area = {left: 46, right: width - 10, top: 8, bottom: height - 24};
  const first = iterations[shown[0]], last = iterations[shown[1]];
  const {low, high} = extent(chart, first, last);
  const along = (iteration) => (last > first ? (iteration - first) / (last - first) : 0.5);
  const x = (iteration) => area.left + along(iteration) * (area.right - area.left);
  const y = (value) => area.bottom - ((value - low) / (high - low)) * (area.bottom - area.top);
  const grid = svg('g'), labels = [];
  for (const tick of ticks(low, high, (area.bottom - area.top) / 44)) {
    grid.append(svg('line', {class: 'grid', x1: area.left, x2: area.right, y1: y(tick), y2: y(tick)}),
                svg('text', {x: area.left - 8, y: y(tick) + 4, 'text-anchor': 'end'}, short(tick)));
  }
  for (const tick of ticks(first, last > first ? last : first + 1, (area.right - area.left) / 90)) {
    if (Number.isInteger(tick) && tick >= first && tick <= last) {
      const label = tick.toLocaleString('en'), half = label.length * 3.3;
      const at = Math.min(x(tick), width - half);
      const node = svg('text', {x: at, y: height - 6, 'text-anchor': 'middle'}, label);
      grid.append(node);
      labels.push({node, at, half});
    }
  }
  grid.append(svg('line', {class: 'axis', x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom}));
  const clip = `clip-${charts.indexOf(chart)}`;
  const curves = svg('g', {'clip-path': `url(#${clip})`}, ...chart.series.map((series) => drawSeries(series, x, y)));
  chart.cursor = svg('g', {class: 'cursor'});
  chart.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const inside = {x: area.left - 4, y: 2, width: area.right - area.left + 8, height: area.bottom - 1};
  chart.svg.replaceChildren(svg('clipPath', {id: clip}, svg('rect', inside)), grid, curves, chart.cursor);
  Object.assign(chart, {area, x, y, high, width, labels});
  point(chart, null);
}

// Shows what is at a point (null: at the last one, with no line) in the legend of a chart.
function point(chart, index) {
  const iteration = iterations[index ?? shown[1]];
  chart.cursor.replaceChildren();
  chart.labels.forEach(({node}) => node.removeAttribute('visibility'));
  if (index !== null) {
    const at = chart.x(iteration), label = iteration.toLocaleString('en'), half = label.length * 3.6 + 6;
    const middle = Math.min(Math.max(at, half), chart.width - half);
    for (const other of chart.labels) {
      if (Math.abs(other.at - middle) < other.half + half) other.node.setAttribute('visibility', 'hidden');
    }
    chart.cursor.append(
      svg('line', {x1: at, x2: at, y1: chart.area.top, y2: chart.area.bottom}),
      svg('rect', {x: middle - half, y: chart.area.bottom + 5, width: 2 * half, height: 18, rx: 4}),
      svg('text', {x: middle, y: chart.area.bottom + 18, 'text-anchor': 'middle'}, label));
  }
  chart.series.forEach((series, i) => {
    const found = indexAt(series.x, iteration), value = found < 0 ? null : series.y[found];
    chart.values[i].textContent = short(value) + (value === null || !chart.unit ? '' : ` ${chart.unit}`);
    if (index === null || value === null || series.kind === 'area') return;
    const cy = chart.y(Math.min(value, chart.high));
    const cx = chart.x(series.x[found]), style = `--c: var(--${series.colour})`;
    chart.cursor.append(svg('circle', {style, cx, cy, r: 4.5}));
  });
}

function show(first, last) {
  shown = [Math.max(first, 0), Math.min(last, iterations.length - 1)];
  charts.forEach(draw);
}

// A line follows the pointer or the arrow keys in all charts at once; a drag of the mouse zooms in, a double click out.
function listen(chart) {
  let start = null, selection = null, current = null;
  const indexOf = (event) => {
    const box = chart.svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * chart.width;
    const share = Math.min(Math.max((place - chart.area.left) / (chart.area.right - chart.area.left), 0), 1);
    const iteration = iterations[shown[0]] + share * (iterations[shown[1]] - iterations[shown[0]]);
    const below = Math.max(indexAt(iterations, iteration), 0);
    return below < shown[1] && iterations[below + 1] - iteration < iteration - iterations[below] ? below + 1 : below;
  };
  const move = (index) => { current = index; charts.forEach((other) => point(other, index)); };
  chart.svg.addEventListener('pointermove', (event) => {
    move(indexOf(event));
    if (start === null) return;
    const [from, to] = [chart.x(iterations[start]), chart.x(iterations[current])].sort((a, b) => a - b);
    if (!selection) chart.svg.append(selection = svg('rect', {class: 'selection'}));
    grow(selection, {x: from, width: to - from, y: chart.area.top, height: chart.area.bottom - chart.area.top}, []);
  });
  chart.svg.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'mouse' || event.button !== 0) return;
    chart.svg.setPointerCapture(event.pointerId);
    start = current = indexOf(event);
  });
  chart.svg.addEventListener('pointerup', () => {
    const from = start;
    start = null;
    selection?.remove();
    selection = null;
    if (from !== null && Math.abs(current - from) >= 2) show(Math.min(from, current), Math.max(from, current));
  });
  const leave = () => {
    current = null;
    charts.forEach((other) => point(other, null));
  };
  chart.svg.addEventListener('pointerleave', () => { if (start === null) leave(); });
  chart.svg.addEventListener('blur', leave);
  chart.svg.addEventListener('dblclick', () => show(0, iterations.length - 1));
  chart.svg.addEventListener('keydown', (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity}[event.key];
    if (event.key === 'Escape') show(0, iterations.length - 1);
    if (by === undefined) return;
    event.preventDefault();
    move(Math.min(Math.max((current ?? shown[1]) + by, shown[0]), shown[1]));
  });
}

function addChart(chart) {
  chart.series = chart.series.filter((series) => series.y.some((value) => value !== null));
  if (!chart.series.length) return null;
  chart.values = chart.series.map(() => html('b'));
  const keys = chart.series.map((series, i) => {
    const attributes = {class: `key ${series.kind ?? ''}`, style: `--c: var(--${series.colour})`};
    return html('span', attributes, html('i'), series.name, ' ', chart.values[i]);
  });
  chart.svg = svg('svg', {role: 'img', tabindex: 0, 'aria-label': `${chart.title} by iteration`});
  chart.figure = html('figure', {class: `card chart${chart.wide ? ' wide' : ''}`},
                      html('figcaption', {}, html('h2', {}, chart.title), html('div', {class: 'keys'}, ...keys)),
                      chart.svg);
  charts.push(chart);
  listen(chart);
  return chart.figure;
}

function chartsOf({columns, validation}) {
  const x = columns.iteration;
  const one = (title, name, colour, key, smoothed) =>
    addChart({title, zero: true, series: [{name, colour, x, y: columns[key], smooth: smoothed}]});
  return html('section', {class: 'charts'},
    addChart({title: 'Loss', wide: true, series: [
      {name: 'training', colour: 'blue', x, y: columns.loss, smooth: true},
      {name: 'validation', colour: 'orange', x: validation.iteration, y: validation.loss, kind: 'dots'}]}),
    addChart({title: 'Iteration time', unit: 'ms', zero: true, series: [
      {name: 'compute', colour: 'ice', x, y: columns.compute_ms, kind: 'area'},
      {name: 'exposed', colour: 'orange', x, y: columns.exposed_ms, base: columns.compute_ms, kind: 'area'}]}),
    one('Throughput', 'tokens/s', 'green', 'tokens_per_second', true),
    one('Gradient norm', 'before clipping', 'violet', 'gradient_norm', true),
    one('Learning rate', 'rate', 'teal', 'learning_rate', false));
}

function names(parameters) {
  const all = parameters.join(', ');
  if (parameters.length <= 4) return all;
  const summary = `${parameters.length} parameters, ${parameters[0]} to ${parameters.at(-1)}`;
  return html('details', {}, html('summary', {}, summary), all);
}

function bucketsOf(buckets) {
  if (!buckets.length) return null;
  const columns = [  // heading, class, what stands there
    ['bucket', 'number', (bucket) => String(bucket.index)],
    ['size', 'number', (bucket) => bucket.size],
    ['algorithm', '', (bucket) => bucket.algorithm],
    ['mean time', 'number', (bucket) => bucket.time],
    ['hidden by backward', 'number', (bucket) => bucket.hidden],
    ['parameters', 'names', (bucket) => names(bucket.parameters)],
  ];
  const headings = columns.map(([heading, kind]) => html('th', {class: kind}, heading));
  const rows = buckets.map((bucket) => columns.map(([, kind, cell]) => html('td', {class: kind}, cell(bucket))));
  const table = html('table', {}, ...[headings, ...rows].map((cells) => html('tr', {}, ...cells)));
  return card('Buckets', html('div', {class: 'scroll'}, table));
}

const bar = (colour, i) => svg('rect', {y: i * 5, width: 20, height: 3.4, rx: 1.7, fill: `var(--${colour})`});
const mark = svg('svg', {viewBox: '0 0 20 14', 'aria-hidden': 'true'}, ...['blue', 'orange', 'teal'].map(bar));

const card = (title, ...content) => html('section', {class: 'card'}, html('h2', {}, title), ...content);

function traceOf(path) {
  const viewer = html('a', {href: 'https://ui.perfetto.dev', rel: 'noreferrer'}, 'ui.perfetto.dev');
  return card('Trace', html('p', {}, 'What each rank did, and when: open ', viewer, ' and drop the file ',
                            html('code', {class: 'path'}, path), ' on it. It is read by the page and not uploaded.'));
}

function hint() {
  const each = data.each > 1 ? `Each point is the mean of ${data.each} iterations. ` : '';
  return html('p', {class: 'note hint'}, each + 'Drag over a curve to zoom in, double-click to see all again.');
}

const tile = ({label, value, note}) => html('div', {class: 'tile'},
  html('dt', {}, label), html('dd', {}, value), html('dd', {class: 'note'}, note));
const setting = ([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value));

document.getElementById('page').replaceChildren(...[
  html('header', {}, html('div', {class: 'mark'}, mark, 'Lockstep training report'), html('h1', {}, data.title),
       data.command ? html('code', {class: 'command'}, data.command) : null),
  html('dl', {class: 'card tiles'}, ...data.tiles.map(tile)),
  iterations.length ? chartsOf(data) : html('p', {class: 'card note'}, 'No iteration was recorded.'),
  iterations.length > 2 ? hint() : null,
  bucketsOf(data.buckets),
  data.sample ? card('Sample', html('pre', {class: 'sample'}, data.sample)) : null,
  data.trace ? traceOf(data.trace) : null,
  data.settings.length ? card('Settings', html('dl', {class: 'settings'}, ...data.settings.map(setting))) : null,
].filter(Boolean));

charts.forEach(draw);
new ResizeObserver(() => charts.forEach((chart) => {
  if (Math.abs(roomFor(chart) - chart.width) > 1) draw(chart);
})).observe(document.getElementById('page'));

// On paper the curves stand side by side as on a wide screen, drawn for its width.
const print = (width) => () => {
  document.getElementById('page').style.width = width;
  charts.forEach(draw);
};
addEventListener('beforeprint', print('690px'));
addEventListener('afterprint', print(''));
