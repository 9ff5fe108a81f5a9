// The page of an experiment: words, charts of measured points with the model's line through them, tables.
const palette = ['blue', 'orange', 'teal', 'violet', 'green', 'red'];

function labChart(chart) {
  const shown = (points) => points.filter(([x, y]) => (!chart.log_x || x > 0) && (!chart.log_y || y > 0));
  const curves = chart.curves.map(({name, measured, predicted}) =>
    ({name, measured: shown(measured), predicted: shown(predicted)}));
  const xs = (lists) => [...new Set(lists.flat().map(([x]) => x))].sort((a, b) => a - b);
  const measured = xs(curves.map((curve) => curve.measured));
  const all = xs(curves.flatMap((curve) => [curve.measured, curve.predicted]));
  const group = makeGroup(measured.length ? measured : all,
                          {range: [all[0], all[all.length - 1]], log: chart.log_x, bytes: chart.x_bytes,
                           whole: !chart.log_x && !chart.x_bytes && all.every(Number.isInteger)});
  const series = curves.flatMap(({name, measured, predicted}, i) => {
    const colour = palette[i % palette.length];
    const of = (points, more) => ({colour, x: points.map(([x]) => x), y: points.map(([, y]) => y), ...more});
    return [of(measured, {name, kind: 'points', joined: !predicted.length}),
            of(predicted, {name: `${name}, predicted`, label: measured.length ? 'predicted' : undefined})];
  });
  const words = chart.words ? [html('p', {class: 'note words'}, chart.words)] : [];
  return addChart(group, {title: chart.title, xLabel: chart.x_label, yLabel: chart.y_label, log: chart.log_y,
                          bytes: chart.y_bytes, zero: !chart.log_y, whole: true, series}, ...words);
}

function labTable({title, columns, rows}) {
  const number = (i) => rows.every((row) => /^[-+–]?\d[\d.,]*(e[-+]?\d+)?( ?[%\w/]+)?$/.test(row[i] ?? ''));
  return card(title, tableOf(columns.map((heading, i) => [heading, number(i) ? 'number' : '', (row) => row[i]]), rows));
}

fillPage('lab',
  html('section', {class: 'prose'}, ...data.paragraphs.map((text) => html('p', {}, text))),
  data.charts.length ? html('section', {class: 'charts'}, ...data.charts.map(labChart)) : null,
  ...data.bars.map(({title, rows}) => barsOf(title, rows)),
  ...data.tables.map(labTable));
drawAll();
