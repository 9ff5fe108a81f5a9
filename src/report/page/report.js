// The report of a training.
const iterations = data.columns.iteration;

function timeSeries({iteration: x, compute_ms, exposed_ms, hidden_ms = [], data_wait_ms = []}) {
  // Hidden communication ran while compute did: striped over the top of compute, beside the exposed part, it adds
  // nothing to the height. No more of it than compute has room for.
  const under = hidden_ms.map((hidden, i) => Math.max((compute_ms[i] ?? 0) - (hidden ?? 0), 0));
  const seen = hidden_ms.map((hidden, i) => (hidden === null ? null : Math.min(hidden, compute_ms[i] ?? 0)));
  const both = compute_ms.map((compute, i) => (compute ?? 0) + (exposed_ms[i] ?? 0));
  const communication = exposed_ms.map((exposed, i) => (exposed === null ? null : exposed + (hidden_ms[i] ?? 0)));
  return [
    {name: 'compute', colour: 'ice', x, y: compute_ms, kind: 'area'},
    {name: 'hidden in compute', colour: 'orange', x, y: seen, base: under, kind: 'hatch'},
    {name: 'exposed', colour: 'orange', x, y: exposed_ms, base: compute_ms, kind: 'area'},
    {name: 'data wait', colour: 'teal', x, y: data_wait_ms, base: both, kind: 'area'},
    {name: 'communication', colour: 'orange', x, y: communication, kind: 'sum'}];
}

function chartsOf({columns, validation}) {
  const x = columns.iteration, group = makeGroup(x, {whole: true});
  const one = (title, name, colour, key, smoothed) =>
    addChart(group, {title, zero: true, series: [{name, colour, x, y: columns[key] ?? [], smooth: smoothed}]});
  // Alone the loss takes the whole width; with an accuracy they stand side by side.
  const wide = !columns.accuracy && validation.accuracy.every((value) => value === null);
  const both = (title, key, unit) => addChart(group, {title, unit, wide, series: [
    {name: 'training', colour: 'blue', x, y: columns[key] ?? [], smooth: true},
    {name: 'validation', colour: 'orange', x: validation.iteration, y: validation[key], kind: 'dots'}]});
  return html('section', {class: 'charts'},
    both('Loss', 'loss'),
    both('Accuracy', 'accuracy', '%'),
    addChart(group, {title: 'Iteration time', unit: 'ms', zero: true, series: timeSeries(columns)}),
    one('Throughput', `${data.item}/s`, 'green', 'items_per_second', true),
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
  const text = (key) => (bucket) => bucket[key];
  const columns = [
    ['bucket', 'number', text('index'), 'index'],
    ['operation', '', text('operation'), 'operation'],
    ['block', '', text('block'), 'block'],
    ['phase', '', text('phase'), 'phase'],
    ['size', 'number', text('size'), 'size'],
    ['algorithm', '', text('algorithm'), 'algorithm'],
    ['steps', 'number', text('steps'), 'steps'],
    ['sent', 'number', text('sent'), 'sent'],
    ['mean time', 'number', text('time'), 'time'],
    ['predicted', 'number', text('predicted'), 'predicted'],
    ['error', 'number', text('error'), 'error'],
    ['hidden', 'number', text('hidden'), 'hidden'],
    ['parameters', 'names', (bucket) => names(bucket.parameters), 'parameters'],
  ].filter(([, , , key]) => buckets.some((bucket) => bucket[key] !== undefined));
  return card('Buckets', tableOf(columns, buckets));
}

function traceOf(path) {
  const viewer = html('a', {href: 'https://ui.perfetto.dev', rel: 'noreferrer'}, 'ui.perfetto.dev');
  return card('Trace', html('p', {}, 'What each rank did, and when: open ', viewer, ' and drop the file ',
                            html('code', {class: 'path'}, path), ' on it. It is read by the page and not uploaded.'));
}

function hint() {
  const each = data.each > 1 ? `Each point is the mean of ${data.each} recorded iterations. ` : '';
  return html('p', {class: 'note hint'}, each + 'Drag over a curve to zoom in, double-click to see all again.');
}

const tile = ({label, value, note}) => html('div', {class: 'tile'},
  html('dt', {}, label), html('dd', {}, value), html('dd', {class: 'note'}, note));
// Tiles in one row, or in rows of the same length.
const inRows = (count) => Math.ceil(count / Math.ceil(count / 7));
const setting = ([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value));

fillPage('training report',
  html('dl', {class: 'card tiles', style: `--columns: ${inRows(data.tiles.length)}`}, ...data.tiles.map(tile)),
  iterations.length ? chartsOf(data) : html('p', {class: 'card note'}, 'No iteration was recorded.'),
  iterations.length > 2 ? hint() : null,
  timelineOf(data.timeline),
  bucketsOf(data.buckets),
  barsOf('Memory of a rank', data.memory),
  data.sample ? card('Sample', html('pre', {class: 'sample'}, data.sample)) : null,
  data.trace ? traceOf(data.trace) : null,
  data.settings.length ? card('Settings', html('dl', {class: 'settings'}, ...data.settings.map(setting))) : null);
drawAll(drawTimeline);
