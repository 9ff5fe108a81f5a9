// How a chart is read: by the pointer, by touch, by the arrow keys.
function indexUnder(chart, event) {
  const {xs, shown, log} = chart.group, box = chart.svg.getBoundingClientRect();
  const place = ((event.clientX - box.left) / box.width) * chart.width;
  const share = Math.min(Math.max((place - chart.area.left) / (chart.area.right - chart.area.left), 0), 1);
  const x = chart.across.value(share), below = Math.min(Math.max(indexAt(xs, x), shown[0]), shown[1]);
  if (below >= shown[1]) return below;
  const middle = log ? Math.sqrt(xs[below] * xs[below + 1]) : (xs[below] + xs[below + 1]) / 2;
  return x > middle ? below + 1 : below;
}

function listen(chart) {
  const {group} = chart;
  let start = null, selection = null, current = null;
  const move = (index) => { current = index; group.charts.forEach((other) => point(other, index)); };
  const all = () => show(group, 0, group.xs.length - 1);
  chart.svg.addEventListener('pointermove', (event) => {
    move(indexUnder(chart, event));
    if (start === null) return;
    const [from, to] = [chart.x(group.xs[start]), chart.x(group.xs[current])].sort((a, b) => a - b);
    if (!selection) chart.svg.append(selection = svg('rect', {class: 'selection'}));
    grow(selection, {x: from, width: to - from, y: chart.area.top, height: chart.area.bottom - chart.area.top}, []);
  });
  chart.svg.addEventListener('pointerdown', (event) => {
    move(indexUnder(chart, event));  // a finger has not moved before
    if (event.pointerType !== 'mouse' || event.button !== 0) return;
    chart.svg.setPointerCapture(event.pointerId);
    start = current;
  });
  chart.svg.addEventListener('pointerup', () => {
    const from = start;
    start = null;
    selection?.remove();
    selection = null;
    if (from !== null && Math.abs(current - from) >= 2) show(group, Math.min(from, current), Math.max(from, current));
  });
  const leave = () => {
    current = null;
    group.charts.forEach((other) => point(other, null));
  };
  chart.svg.addEventListener('pointerleave', () => { if (start === null) leave(); });
  chart.svg.addEventListener('blur', leave);
  chart.svg.addEventListener('dblclick', all);
  chart.svg.addEventListener('keydown', (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity}[event.key];
    if (event.key === 'Escape') all();
    if (by === undefined) return;
    event.preventDefault();
    move(Math.min(Math.max((current ?? group.shown[1]) + by, group.shown[0]), group.shown[1]));
  });
}

// The figure of a chart in a group; null where no series has a value.
function addChart(group, chart, ...notes) {
  chart.series = chart.series.filter((series) => series.y.some((value) => value !== null));
  if (!chart.series.length) return null;
  chart.group = group;
  chart.values = chart.series.map(() => html('b'));
  const keys = chart.series.map((series, i) => {
    const attributes = {class: `key ${series.kind ?? ''}`, style: `--c: var(--${series.colour})`};
    return html('span', attributes, html('i'), series.label ?? series.name, ' ', chart.values[i]);
  });
  chart.svg = svg('svg', {role: 'img', tabindex: 0, 'aria-label': `${chart.title}; arrow keys read its values`});
  chart.figure = html('figure', {class: `card chart${chart.wide ? ' wide' : ''}`},
                      html('figcaption', {}, html('h2', {}, chart.title), html('div', {class: 'keys'}, ...keys)),
                      chart.svg, ...notes);
  charts.push(chart);
  group.charts.push(chart);
  listen(chart);
  return chart.figure;
}

// Draws all that stands on the page, and again when its width changes. `others`: what else is drawn for a width.
function drawAll(...others) {
  const all = () => {
    charts.forEach(draw);
    others.forEach((other) => other());
  };
  all();
  const page = document.getElementById('page');
  let width = page.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(page.clientWidth - width) <= 1) return;
    width = page.clientWidth;
    all();
  }).observe(page);
  // On paper the curves stand side by side as on a wide screen, drawn for its width.
  const print = (size) => () => {
    page.style.width = size;
    all();
  };
  addEventListener('beforeprint', print('690px'));
  addEventListener('afterprint', print(''));
}
