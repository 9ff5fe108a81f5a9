// One iteration of all ranks: what each computed above, its buckets in flight below.
const kLane = 20;
const kinds = {
  data: 'teal', forward: 'ice', backward: 'blue', communication: 'orange', optimizer: 'green', other: 'violet'};

function kindOf({name, category}) {
  if (category === 'communication') return 'communication';
  return kinds[name] ? name : 'other';
}

// Spans of a rank in lanes: each goes into the first that is free when it begins. Communication has lanes of its own.
function lanesOf(spans) {
  const lanes = [];
  const sending = ({kind}) => kind === 'communication';
  const order = [...spans].sort((a, b) => sending(a) - sending(b) || a.begin - b.begin || b.end - a.end);
  for (const span of order) {
    const sends = sending(span);
    let lane = lanes.findIndex((other) => other.sends === sends && other.end <= span.begin);
    if (lane < 0) lane = lanes.push({sends}) - 1;
    lanes[lane].end = span.end;
    span.lane = lane;
  }
  return lanes.length;
}

const timeline = {spans: [], chosen: null};

function readTimeline(span) {
  timeline.chosen = span;
  for (const other of timeline.spans) other.bar.classList.toggle('chosen', other === span);
  const ms = (value) => `${Number((value / 1000).toPrecision(4))} ms`;
  timeline.reading.textContent = span
    ? `rank ${span.rank}, ${span.name}: ${ms(span.end - span.begin)}, from ${ms(span.begin)} to ${ms(span.end)}`
    : 'Point at a bar, or move with the arrow keys, to read it.';
}

function drawTimeline() {
  if (!timeline.figure) return;
  const width = Math.max(roomFor(timeline.figure), 220), left = 46, right = width - 10;
  const last = Math.max(...timeline.spans.map(({end}) => end), 1), x = (us) => left + (us / last) * (right - left);
  const nodes = [];
  let top = 4;
  for (const {rank, lanes, spans} of timeline.ranks) {
    nodes.push(svg('text', {x: 2, y: top + 14}, `rank ${rank}`));
    for (const span of spans) {
      const from = x(span.begin), size = Math.max(x(span.end) - from, 1), y = top + span.lane * kLane;
      span.bar = svg('rect', {class: `span ${span.kind}`, x: from.toFixed(1), y, width: size.toFixed(1),
                              height: kLane - 3, rx: 2.5, style: `--c: var(--${kinds[span.kind]})`,
                              'data-span': span.name, 'data-rank': rank});
      span.bar.addEventListener('pointerenter', () => readTimeline(span));
      span.bar.addEventListener('pointerdown', () => readTimeline(span));
      nodes.push(span.bar);
      if (size > span.name.length * 6.2 + 6) {
        nodes.push(svg('text', {class: `name ${span.kind}`, x: from + 5, y: y + 12.5}, span.name));
      }
    }
    top += lanes * kLane + 8;
    nodes.push(svg('line', {class: 'grid', x1: 0, x2: right, y1: top - 5, y2: top - 5}));
  }
  for (const tick of ticks(0, last / 1000, (right - left) / 80)) {
    const label = `${short(tick)} ms`, at = Math.min(x(tick * 1000), width - label.length * 3.3);
    nodes.unshift(svg('line', {class: 'grid', x1: x(tick * 1000), x2: x(tick * 1000), y1: 0, y2: top - 5}));
    nodes.push(svg('text', {x: at, y: top + 12, 'text-anchor': 'middle'}, label));
  }
  timeline.svg.setAttribute('viewBox', `0 0 ${width} ${top + 18}`);
  timeline.svg.replaceChildren(...nodes);
  readTimeline(timeline.chosen);
}

function timelineOf(spans) {
  if (!spans || !spans.length) return null;
  timeline.spans = spans.map(([rank, name, category, begin, end]) =>
    ({rank, name, begin, end, kind: kindOf({name, category})}));
  timeline.ranks = [...new Set(timeline.spans.map(({rank}) => rank))].sort((a, b) => a - b).map((rank) => {
    const own = timeline.spans.filter((span) => span.rank === rank);
    return {rank, spans: own, lanes: lanesOf(own)};
  });
  const inLanes = (a, b) => a.lane - b.lane || a.begin - b.begin;
  timeline.spans = timeline.ranks.flatMap((rank) => [...rank.spans].sort(inLanes));
  const label = 'What each rank did in one iteration; arrow keys read its bars';
  timeline.svg = svg('svg', {role: 'img', tabindex: 0, 'aria-label': label});
  timeline.reading = html('p', {class: 'note', 'aria-live': 'polite'});
  timeline.svg.addEventListener('keydown', (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity}[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = timeline.chosen ? timeline.spans.indexOf(timeline.chosen) + by : 0;
    readTimeline(timeline.spans[Math.min(Math.max(at, 0), timeline.spans.length - 1)]);
  });
  const present = Object.keys(kinds).filter((kind) => timeline.spans.some((span) => span.kind === kind));
  const keys = present.map((kind) =>
    html('span', {class: 'key area', style: `--c: var(--${kinds[kind]})`}, html('i'), kind));
  timeline.figure = html('figure', {class: 'card chart timeline'},
    html('figcaption', {}, html('h2', {}, 'One iteration, all ranks'), html('div', {class: 'keys'}, ...keys)),
    timeline.svg, timeline.reading);
  return timeline.figure;
}
