// Curves over an x axis that several charts may share: a line follows the pointer or the arrow keys in all of a group's
// charts at once; a drag of the mouse zooms in, a double click out.
const charts = [];

// `xs`: where the line stops, in order. `range`: of the axis when all is in view. `log`, `bytes`, `whole`: what is on it.
function makeGroup(xs, options = {}) {
  return {xs, range: [xs[0], xs[xs.length - 1]], shown: [0, xs.length - 1], charts: [], ...options};
}

// The last point at or before an x.
function indexAt(xs, x) {
  let low = 0, high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function view({xs, range, shown}) {
  const all = shown[0] === 0 && shown[1] === xs.length - 1;
  return all ? range : [xs[shown[0]], xs[shown[1]]];
}

// Between values and shares of the way from low to high.
function scale(low, high, log) {
  const [to, from] = log ? [Math.log, Math.exp] : [(value) => value, (value) => value];
  const length = to(high) - to(low);
  return {share: (value) => (length > 0 ? (to(value) - to(low)) / length : 0.5),
          value: (share) => from(to(low) + share * length)};
}

function ticksOf(low, high, count, {log, bytes}) {
  if (log) return logTicks(low, high, count, bytes ? 2 : 10);
  const unit = bytes ? 1024 ** Math.max(Math.floor(Math.log(high) / Math.log(1024)), 0) : 1;
  return ticks(low / unit, high / unit, count).map((tick) => tick * unit);
}

function nameOf(x, {whole, bytes: inBytes}) {
  return inBytes ? bytes(x) : whole ? x.toLocaleString('en') : short(x);
}

function extent(chart, first, last) {
  const values = [];
  for (const series of chart.series) {
    if (series.kind === 'sum') continue;
    if (chart.series.some((other) => other.base === series.y)) continue;  // what stands on it is higher
    series.y.forEach((value, i) => {
      const base = series.base ? series.base[i] ?? 0 : 0;
      const seen = value !== null && series.x[i] >= first && series.x[i] <= last;
      if (seen && (!chart.log || value > 0)) values.push(value + base);
    });
  }
  if (!values.length) return chart.log ? {low: 1, high: 10} : {low: 0, high: 1};
  values.sort((a, b) => a - b);
  const fromZero = chart.zero && values[0] >= 0;
  let low = fromZero ? 0 : values[0], high = values[values.length - 1];
  if (chart.log) return {low: low / 1.3, high: high * 1.3};
  // A first iteration that warms caches up must not flatten all others.
  const usual = values[Math.floor((values.length - 1) * 0.985)];
  if (chart.zero && !chart.whole && high > usual * 2) high = usual * 1.25;
  if (high <= low) {
    const some = (Math.abs(low) || 1) * 0.1;
    high = low + some;
    low -= some;
  }
  const room = (high - low) * 0.06;
  return {low: fromZero ? 0 : low - room, high: high + room};
}

function drawSeries(chart, series, x, y) {
  const drawable = (value) => value !== null && value !== undefined && (!chart.log || value > 0);
  const place = (values) => series.x.map((at, i) => (drawable(values[i]) ? [x(at), y(values[i])] : null));
  const add = (group, kind, points) => group.append(svg('path', {class: kind, d: through(points)}));
  const raw = place(series.y);
  const group = svg('g', {class: 'series', style: `--c: var(--${series.colour})`, 'data-name': series.name,
                          'data-points': raw.filter(Boolean).length});
  const dots = () => {
    for (const [cx, cy] of raw.filter(Boolean)) {
      const r = series.kind === 'points' ? 4 : 3;
      group.append(svg('circle', {class: 'dot', cx: cx.toFixed(1), cy: cy.toFixed(1), r}));
    }
  };
  if (series.kind === 'sum') return group;  // of what is drawn already: read in the legend
  if (series.kind === 'area' || series.kind === 'hatch') {
    // Narrower than a pixel a point, colours would mix to mud: means of a pixel or two.
    const reach = Math.round(raw.length / 400), floor = smooth(series.base ?? series.y.map(() => 0), reach);
    const top = smooth(series.y, reach).map((value, i) => (floor[i] ?? 0) + (value ?? 0));
    const region = svg('path', {class: 'region', d: through([...place(top), ...place(floor).reverse()]) + 'Z'});
    if (series.kind === 'hatch') region.setAttribute('style', `fill: url(#${chart.id}-hatch)`);
    group.append(region);
  } else if (series.kind === 'points') {
    if (series.joined && raw.length > 1) add(group, 'curve thin', raw);
    dots();
  } else if (series.kind === 'dots') {
    add(group, 'curve', raw);
    if (raw.length <= 60) dots();
  } else if (series.smooth && raw.length >= 100) {
    add(group, 'curve raw', raw);
    add(group, 'curve', place(smooth(series.y, Math.round(raw.length / 80))));
  } else {
    add(group, 'curve', raw);
  }
  return group;
}

const roomFor = (figure) => figure.clientWidth - 2 * parseFloat(getComputedStyle(figure).paddingLeft);

function drawXAxis(chart, first, last, height) {
  const {group, area, width, x} = chart, shownTicks = [], labels = [];
  const to = last > first ? last : group.log ? first * 2 : first + 1;
  let right = -Infinity;
  for (const tick of ticksOf(first, to, (area.right - area.left) / (group.log ? 64 : 90), group)) {
    if ((group.whole && !Number.isInteger(tick)) || tick < first * 0.999999 || tick > last * 1.000001) continue;
    const label = nameOf(tick, group), half = label.length * 3.3;
    const at = Math.min(x(tick), width - half);
    if (at - half < right + 6) continue;
    right = at + half;
    const node = svg('text', {x: at, y: area.bottom + 18, 'text-anchor': 'middle'}, label);
    shownTicks.push(node);
    labels.push({node, at, half});
  }
  if (chart.xLabel) {
    const middle = (area.left + area.right) / 2;
    shownTicks.push(svg('text', {class: 'label', x: middle, y: height - 3, 'text-anchor': 'middle'}, chart.xLabel));
  }
  return {nodes: shownTicks, labels};
}

function drawGrid(chart, low, high) {
  const {area, y} = chart, grid = svg('g');
  for (const tick of ticksOf(low, high, (area.bottom - area.top) / (chart.log ? 26 : 44), {log: chart.log, bytes: chart.bytes})) {
    const label = chart.bytes ? bytes(tick) : short(tick);
    grid.append(svg('line', {class: 'grid', x1: area.left, x2: area.right, y1: y(tick), y2: y(tick)}),
                svg('text', {x: area.left - 8, y: y(tick) + 4, 'text-anchor': 'end'}, label));
  }
  if (chart.yLabel) grid.append(svg('text', {class: 'label', x: 2, y: 12}, chart.yLabel));
  grid.append(svg('line', {class: 'axis', x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom}));
  return grid;
}

// Stripes that let through what they lie on.
function stripes(id, colour) {
  return svg('pattern', {id, width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'},
             svg('rect', {width: 2, height: 5, style: `fill: var(--${colour})`}));
}

function draw(chart) {
  const width = Math.max(roomFor(chart.figure), 220);
  const height = (chart.wide ? 300 : 190) + (chart.xLabel ? 18 : 0) + (chart.yLabel ? 14 : 0);
  const area = {left: chart.bytes ? 58 : 46, right: width - 10, top: chart.yLabel ? 24 : 8,
                bottom: height - (chart.xLabel ? 42 : 24)};
  const [first, last] = view(chart.group);
  const {low, high} = extent(chart, first, last);
  const across = scale(first, last, chart.group.log), up = scale(low, high, chart.log);
  const x = (value) => area.left + across.share(value) * (area.right - area.left);
  const y = (value) => area.bottom - up.share(value) * (area.bottom - area.top);
  Object.assign(chart, {area, x, y, high, width, across, id: `chart-${charts.indexOf(chart)}`});
  const grid = drawGrid(chart, low, high), below = drawXAxis(chart, first, last, height);
  grid.append(...below.nodes);
  chart.labels = below.labels;
  const clip = `${chart.id}-clip`;
  const inside = {x: area.left - 6, y: 2, width: area.right - area.left + 14, height: area.bottom};
  const hatched = chart.series.find((series) => series.kind === 'hatch');
  const pointsLast = [...chart.series].sort((a, b) => (a.kind === 'points') - (b.kind === 'points'));
  const drawn = pointsLast.map((series) => drawSeries(chart, series, x, y));
  const curves = svg('g', {'clip-path': `url(#${clip})`}, ...drawn);
  chart.cursor = svg('g', {class: 'cursor'});
  chart.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  chart.svg.replaceChildren(svg('clipPath', {id: clip}, svg('rect', inside)),
                            hatched ? stripes(`${chart.id}-hatch`, hatched.colour) : '', grid, curves, chart.cursor);
  point(chart, null);
}

// The value of a series at an x: of points the one that stands there, of a curve the last one before.
function valueAt(series, x) {
  const found = indexAt(series.x, x);
  if (found < 0 || (series.kind === 'points' && series.x[found] !== x)) return {value: null};
  return {value: series.y[found], at: series.x[found]};
}

// Shows what is at a point (null: at the last one, with no line) in the legend of a chart.
function point(chart, index) {
  const {group} = chart, x = group.xs[index ?? group.shown[1]];
  chart.cursor.replaceChildren();
  chart.labels.forEach(({node}) => node.removeAttribute('visibility'));
  if (index !== null) {
    const at = chart.x(x), label = nameOf(x, group), half = label.length * 3.6 + 6;
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
    const {value, at} = valueAt(series, x), text = chart.bytes ? bytes(value) : short(value);
    chart.values[i].textContent = text + (value === null || !chart.unit ? '' : ` ${chart.unit}`);
    if (index === null || value === null || ['area', 'hatch', 'sum'].includes(series.kind)) return;
    const cy = chart.y(Math.min(value, chart.high));
    chart.cursor.append(svg('circle', {style: `--c: var(--${series.colour})`, cx: chart.x(at), cy, r: 4.5}));
  });
}

function show(group, first, last) {
  group.shown = [Math.max(first, 0), Math.min(last, group.xs.length - 1)];
  group.charts.forEach(draw);
}
