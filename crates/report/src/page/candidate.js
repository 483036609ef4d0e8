// One layout: what it changes, what it brings and what it costs.

function changeWords({ change_percent: change }) {
  const signed = (value) => `${value > 0 ? "+" : ""}${value.toFixed(1)}%`;
  return change.low === null ? signed(change.value) : `${signed(change.value)} (${signed(change.low)} to ${signed(change.high)})`;
}

function candidateSection(candidate, id, title, type, doc, isOpen = true) {
  const curve = candidate.predicted_curve;
  const moved = movedMembers(type.current, candidate);
  return el("section", {}, el("h3", { id, tabindex: -1 }, title), candidateFacts(candidate, type),
    candidate.changes.length ? el("ul", {}, candidate.changes.map((change) => el("li", {}, change))) : null,
    elsewhereTable(candidate),
    el("details", { open: isOpen }, el("summary", { id: `${id}-lines` }, "Lines today and then: members that move are dashed"),
      el("div", { class: "sides" }, [["Today", type.current], ["Then", candidate]].map(([words, layout]) =>
        el("div", {}, el("h4", {}, words), layoutPicture(layout, type.evidence, moved, doc.line_bytes)))),
      pictureKey({ colours: type.evidence.length ? useColours() : PLAIN_COLOURS, isWhole: true, hasBars: type.evidence.length > 0 })),
    curve ? el("details", { open: isOpen }, el("summary", { id: `${id}-curve` }, `Predicted gain on ${curve.machine}`), curveSection(curve)) : null,
    candidate.patch ? patchSection(candidate.patch, id) : null);
}

function candidateFacts(candidate, { current }) {
  const gain = candidate.predicted_gain;
  const simulated = candidate.simulated;
  const worst = candidate.worst_change;
  return facts([["transfers", `${count(current.transfers)} to ${count(candidate.transfers)}, ${changeWords(candidate)}`],
    ["to expect", worst === null || worst === undefined ? null : `${worst > 0 ? "+" : ""}${percent(worst)}, the worst of the parts that did not choose it`],
    ["upgrades", `${count(current.upgrades)} to ${count(candidate.upgrades)}`],
    ["memory", `${count(current.bytes_per_object)} to ${count(candidate.bytes_per_object)} bytes for an object${candidate.slab_class ? ` (${candidate.slab_class})` : ""}`],
    ["throughput", gain ? `predicted ${gain.ratio.toFixed(2)} (${gain.low.toFixed(2)} to ${gain.high.toFixed(2)})` : simulated ? simulatedWords(simulated) : "not predicted"]]);
}

function simulatedWords({ cpus, ratio, low, high, verdict }) {
  if (ratio === null) return "simulated: no operation ended in the window";
  const interval = low === null ? "" : ` (${low.toFixed(2)} to ${high.toFixed(2)})`;
  return `simulated on ${cpus} CPUs: ${ratio.toFixed(2)} times${interval}, ${verdict}`;
}

function elsewhereTable(candidate) {
  return (candidate.elsewhere || []).length ? table("other workloads and builds", [["Elsewhere", (s) => s.name, "name"],
    ["Transfers today", (s) => (s.not_judged ? s.not_judged : count(s.current_transfers)), "number"], ["then", (s) => (s.not_judged ? "" : count(s.transfers)), "number"],
    ["Hurts", (s) => (s.hurts ? "yes" : "no"), null]], candidate.elsewhere) : null;
}

// The document of `what-if` does not say who uses the members.
const PLAIN_COLOURS = { keys: [["box", "member"]] };

// Members that move: all but the longest sequence that is in the same order in both layouts.
function movedMembers(today, then) {
  const order = (layout) => [...layout.layout].sort((a, b) => a.offset - b.offset).map((member) => member.name);
  const places = new Map(order(today).map((name, index) => [name, index]));
  const names = order(then).filter((name) => places.has(name));
  const best = names.map(() => 1);
  const previous = names.map(() => -1);
  for (let i = 0; i < names.length; i++) {
    for (let j = 0; j < i; j++) {
      if (places.get(names[j]) < places.get(names[i]) && best[j] + 1 > best[i]) [best[i], previous[i]] = [best[j] + 1, j];
    }
  }
  const kept = new Set();
  for (let at = best.indexOf(Math.max(...best)); at >= 0; at = previous[at]) kept.add(names[at]);
  return new Set(names.filter((name) => !kept.has(name)));
}

function layoutPicture(layout, evidence, moved, lineBytes) {
  const members = layout.layout.map((member) => {
    const own = evidence.filter((row) => row.member === member.name);
    const total = (isWrite) => own.filter((row) => (row.access !== "read") === isWrite).reduce((sum, row) => sum + row.count, 0);
    const writers = Math.max(0, ...own.filter((row) => row.access !== "read").map((row) => row.contexts));
    return { ...member, reads: total(false), writes: total(true), writers };
  });
  return linePicture(members, { first: 0, bytes: layout.size, lineBytes, moved, isWhole: true });
}

function curveSection(curve) {
  const beyond = curve.curve.some((point) => point.extrapolated)
    ? ` * Beyond ${curve.published_to} CPUs it is an extrapolation.` : "";
  const millions = (window) => (window.operations_per_second === null ? "-" : (window.operations_per_second / 1e6).toFixed(3));
  const waited = ({ most_waited: most }) => (most ? `${most.name} ${most.percent.toFixed(1)}%` : "nothing");
  return [curve.curve.length > 1 ? curveChart(curve) : null,
    el("p", { class: "note" }, `Operations a second with ${curve.layout} over today's; ${curve.machine_words}. A `, word("predicted", "prediction"),
      ` with the `, word("interval"), ` of the machine's rules that nobody measured.${beyond}`),
    table("predicted gain", [["CPUs", (p) => `${p.cpus}${p.extrapolated ? " *" : ""}`, "number"],
      ["Gain", (p) => (p.ratio === null ? "-" : p.ratio.toFixed(2)), "number"],
      ["Interval", (p) => (p.low === null ? "-" : `${p.low.toFixed(2)} to ${p.high.toFixed(2)}`), "number"], ["Verdict", (p) => p.verdict, null],
      ["Million/s today", (p) => millions(p.today), "number"], ["then", (p) => millions(p.then), "number"],
      ["CPUs stand still for", (p) => waited(p.today), null], ["then for", (p) => waited(p.then), null]], curve.curve)];
}

function patchSection(patch, id) {
  const text = el("pre", { tabindex: 0 }, patch);
  const said = el("span", { role: "status" });
  const say = (words) => said.replaceChildren(document.createTextNode(words));
  const select = () => { getSelection().selectAllChildren(text); say(" It is selected: copy it."); };
  // Files have no clipboard in some browsers.
  const take = () => (navigator.clipboard ? navigator.clipboard.writeText(patch).then(() => say(" Copied."), select) : select());
  return [el("h4", { id: `${id}-patch`, tabindex: -1 }, "Patch"), el("button", { type: "button", class: "plain", click: take }, "Copy the patch"), said, text];
}
