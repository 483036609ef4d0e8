// Charts: the gain over the number of CPUs, and transfers against edits.

const CHART = { width: 560, height: 260, left: 56, right: 16, top: 28, bottom: 40 };

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

function frame(title, xWords, yWords, marks) {
  const { width, height, left, right, top, bottom } = CHART;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title },
    svg("line", { class: "axis", x1: left, y1: height - bottom, x2: width - right, y2: height - bottom }),
    svg("line", { class: "axis", x1: left, y1: top, x2: left, y2: height - bottom }),
    svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, xWords),
    svg("text", { x: 4, y: 12 }, yWords), marks);
}

function curveChart(curve) {
  const { width, height, left, right, top, bottom } = CHART;
  // Without draws of the machine's rules, a ratio is its own interval; a window without operations has none.
  const points = curve.curve.filter((point) => point.ratio !== null)
    .map((point) => ({ ...point, low: point.low ?? point.ratio, high: point.high ?? point.ratio }));
  const x = scale(0, Math.max(points.length - 1, 1), left + 20, width - right - 20);
  const y = scale(Math.min(1, ...points.map((p) => p.low)), Math.max(1, ...points.map((p) => p.high)), height - bottom, top);
  const path = (key) => points.map((point, index) => `${x(index)},${y(point[key])}`);
  const band = [...path("low"), ...path("high").reverse()].join(" ");
  const marks = points.map((point, index) => svg("g", {},
    svg("circle", { class: point.extrapolated ? "curve" : "point", cx: x(index), cy: y(point.ratio), r: 4 },
      svg("title", {}, `${point.cpus} CPUs: ${point.ratio.toFixed(2)} (${point.low.toFixed(2)} to ${point.high.toFixed(2)}), ${point.verdict}`)),
    svg("text", { x: x(index), y: height - bottom + 16, "text-anchor": "middle" }, point.cpus)));
  const today = svg("line", { class: "axis", x1: left, x2: width - right, y1: y(1), y2: y(1), "stroke-dasharray": "4 4" });
  const [low, high] = [Math.min(...points.map((p) => p.low)), Math.max(...points.map((p) => p.high))];
  // Numbers that would lie on each other are left out.
  const ticks = [1, ...[low, high].filter((value) => Math.abs(y(value) - y(1)) > 14)].map((value) =>
    svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(2)));
  return frame("predicted gain by the number of CPUs", "CPUs", "throughput over today's",
    [svg("polygon", { class: "band", points: band }), today, svg("polyline", { class: "curve", points: path("ratio").join(" ") }),
      marks, ticks]);
}

// Points are candidates: `edits` to the right, transfers saved upwards. Each is a link to its candidate.
function editsChart(candidates, recommended, link) {
  const { width, height, left, right, top, bottom } = CHART;
  const edits = (candidate) => candidate.edits.members + candidate.edits.attributes;
  const saved = (candidate) => -candidate.change_percent.value;
  const x = scale(0, Math.max(1, ...candidates.map(edits)), left + 16, width - right - 16);
  const y = scale(Math.min(0, ...candidates.map(saved)), Math.max(1, ...candidates.map(saved)), height - bottom, top + 10);
  const marks = candidates.map((candidate, index) => {
    const words = `candidate ${index + 1}: ${edits(candidate)} edits, ${saved(candidate).toFixed(1)}% of transfers saved`;
    return svg("a", { href: link(index), "aria-label": words },
      svg("circle", { class: index === recommended ? "chosen" : "point", cx: x(edits(candidate)), cy: y(saved(candidate)), r: 7 },
        svg("title", {}, words)));
  });
  const ticks = [0, Math.max(1, ...candidates.map(saved))]
    .map((value) => svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, `${value.toFixed(0)}%`));
  return frame("transfers saved by the number of edits", "members moved and attributes added", "transfers saved", [marks, ticks]);
}

// The changes of metrics with their intervals, a row for each, against no change.
function intervalChart(metrics) {
  const rows = metrics.filter((metric) => metric.ci95_percent);
  const { width, left, right, top, bottom } = CHART;
  const height = top + bottom + 24 * rows.length;
  // A margin that has no percentage is null, which is drawn as 0.
  const ends = rows.flatMap((metric) => [...metric.ci95_percent, metric.margin_percent, -metric.margin_percent]);
  const x = scale(Math.min(0, ...ends), Math.max(0, ...ends), left + 90, width - right - 20);
  const marks = rows.map((metric, index) => {
    const y = top + 24 * index + 12;
    const [low, high] = metric.ci95_percent;
    const words = `${metric.name}: ${metric.change_percent.toFixed(1)}%, ${low.toFixed(1)} to ${high.toFixed(1)}`;
    return svg("g", {}, svg("title", {}, words), svg("text", { x: 4, y: y + 4 }, metric.name.slice(0, 20)),
      svg("line", { class: "curve", x1: x(low), x2: x(high), y1: y, y2: y }), svg("circle", { class: "point", cx: x(metric.change_percent), cy: y, r: 5 }));
  });
  const floor = height - bottom;
  // Numbers that would lie on each other are left out.
  const ticks = [0, ...[Math.min(...ends), Math.max(...ends)].filter((value) => Math.abs(x(value) - x(0)) > 40)].map((value) => svg("text", { x: x(value), y: floor + 16, "text-anchor": "middle" }, `${value.toFixed(1)}%`));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "change of each metric with its interval" },
    svg("line", { class: "axis", x1: x(0), x2: x(0), y1: top, y2: floor, "stroke-dasharray": "4 4" }), marks, ticks,
    svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "change"));
}
