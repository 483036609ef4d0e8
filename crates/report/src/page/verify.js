// The page of `relayout verify`: what was measured before and after, and how sure the change is.

const VERDICTS = {
  better: "a metric is better, and none is worse", worse: "a metric is worse", same: "no metric differs by more than its margin",
  unclear: "an interval is wider than its margin",
};

function verifyPage(doc) {
  const sides = [["before", doc.before], ["after", doc.after], ["patch", doc.patch], ["release", doc.release]]
    .filter(([, words]) => typeof words === "string").map(([side, words]) => [side, el("code", {}, words)]);
  const starts = doc.starts ? `${count(doc.starts.kept)} of ${count(doc.starts.total)} starts kept, ${count(doc.starts.disturbed)} disturbed, ${count(doc.starts.warm_up)} to warm up` : null;
  return [el("header", {}, el("h1", {}, "relayout verify"), el("p", {}, el("strong", {}, "Verdict: "), `${doc.verdict}: ${VERDICTS[doc.verdict] || ""}.`),
    facts([...sides, ["pairs", `${count(doc.pairs)} of ${count(doc.pairs_planned)}, ${doc.ending}`], ["starts", starts], ["seed", doc.seed]]),
    (doc.words || []).map((words) => el("p", {}, prose(words))), notes(doc)),
  el("main", {}, el("h2", {}, "Metrics"), metricSection("metrics", doc.metrics),
    doc.details.length ? [el("h2", {}, "Where the change comes from"), metricSection("details", doc.details)] : null,
    movedTypes(doc.types || []), doc.predictions?.length ? valueNode("predictions", doc.predictions, 2) : null)];
}

function metricSection(caption, metrics) {
  const side = (value) => `${figure(value.median)} (${figure(value.min)} to ${figure(value.max)})`;
  const signed = (value) => `${value > 0 ? "+" : ""}${value.toFixed(1)}`;
  const columns = [["Metric", (m) => (m.unit ? `${m.name}, ${m.unit}` : m.name), "name"], ["Better if", (m) => m.better, null],
    ["Before, median", (m) => side(m.before), "number"], ["After, median", (m) => side(m.after), "number"],
    ["Change", (m) => (m.change_percent === null ? "unknown" : `${signed(m.change_percent)}${m.change_is === "points" ? "" : "%"}`), "number"],
    ["95% interval", (m) => (m.ci95_percent ? `${signed(m.ci95_percent[0])} to ${signed(m.ci95_percent[1])}` : "none"), "number"],
    ["Pairs", (m) => m.before.n, "number"], ["Verdict", (m) => [m.verdict, m.why || m.change_why].filter(Boolean).join(": "), null]];
  return [table(caption, columns, metrics), metrics.some((m) => m.ci95_percent) ? intervalChart(metrics) : null];
}

function figure(value) {
  return value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 4 });
}

function movedTypes(types) {
  return types.map((type) => el("section", {}, el("h2", {}, `${type.name}: ${type.old_size} to ${counted(type.new_size, "byte")}`),
    table(`members of ${type.name} that moved`, [["Member", (m) => m.name, "name"], ["Before", (m) => m.old_offset, "number"], ["Now", (m) => m.new_offset, "number"]], type.members)));
}
