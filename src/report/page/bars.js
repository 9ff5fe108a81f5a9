// Memory by kind: a bar of what was counted, and below it a thinner one of what the formula says.
function barsOf(title, rows) {
  if (!rows || !rows.length) return null;
  const largest = Math.max(...rows.flatMap(({predicted, measured}) => [predicted, measured]), 1);
  const bar = (kind, value, name) =>
    html('div', {class: `bar ${kind}`, 'data-kind': name, 'data-bytes': value,
                 style: `width: ${Number((100 * value / largest).toPrecision(4))}%`});
  const error = ({predicted, measured}) => {
    if (!predicted) return 'not predicted';
    const percent = 100 * (predicted - measured) / measured;  // as BucketRecord::prediction_error
    const said = measured ? ` (${percent >= 0 ? '+' : ''}${percent.toFixed(1)} %)` : '';
    return `predicted ${bytes(predicted)}${said}`;
  };
  const lines = rows.map((row) => html('div', {class: 'bars', tabindex: 0},
    html('div', {class: 'words'}, html('span', {}, row.kind, ' ', html('b', {}, bytes(row.measured))),
         html('span', {class: 'note'}, error(row))),
    bar('measured', row.measured, row.kind), bar('predicted', row.predicted, row.kind)));
  const key = (kind, name) => html('span', {class: 'key'}, html('i', {class: `bar ${kind}`}), name);
  return html('section', {class: 'card'},
              html('figcaption', {}, html('h2', {}, title),
                   html('div', {class: 'keys'}, key('measured', 'measured'), key('predicted', 'predicted'))), ...lines);
}
