"use strict";
// The pages of `relayout advise` and `relayout what-if`.

function advisePage(doc) {
  const skipped = doc.skipped.map((s) => el("li", {}, el("code", {}, s.name), `: ${count(s.transfers)} transfers${s.why ? `, ${s.why}` : ""}`));
  return [el("header", {}, el("h1", {}, `relayout advise: ${doc.workload}`), notes(doc),
    el("p", { class: "note" }, "Changes of transfers come from replaying the recording. Throughput is predicted, not measured; `relayout verify` measures it.")),
  el("main", {}, doc.types.map((type) => typeAdvice(type, doc)),
    skipped.length ? [el("h2", {}, "Not advised on"), el("ul", {}, skipped)] : null)];
}

function whatIfPage(doc) {
  const evidence = [];
  const given = doc.given ? [doc.given].flat() : [];
  return [el("header", {}, el("h1", {}, `relayout what-if: ${doc.name}`), notes(doc)),
    el("main", {}, doc.refused ? el("p", {}, doc.refused) : given.map((candidate) =>
      candidateSection(candidate, `${doc.name}-given`, "The given layout", { current: doc.current, evidence }, doc)))];
}

function notes(doc) {
  return doc.notes.map((note) => el("p", { class: "note" }, note));
}

function typeAdvice(type, doc) {
  const id = `type-${type.name}`;
  if (!type.candidates || !type.current) return [el("h2", { id }, type.name), el("p", {}, type.why || type.refused || "No layout was searched.")];
  const chosen = type.recommended;
  const link = (index) => `#${id}-candidate-${index + 1}`;
  return el("section", {}, el("h2", { id }, type.name),
    facts([["verdict", type.verdict], ["objects", count(type.objects)], ["bytes today", count(type.current.size)],
      ["transfers today", count(type.current.transfers)], ["layouts tried", count(type.tried)]]),
    el("p", {}, chosen === null ? "Nothing is recommended. " : ["Recommended: ", el("a", { href: link(chosen) }, `candidate ${chosen + 1}`), ". "],
      type.recommended_why, type.compared_by === "transfers" ? " Layouts are compared by transfers." : null),
    type.doubts.map((doubt) => el("p", { class: "note" }, `Doubt: ${doubt.sentence}`)),
    type.candidates.length ? [el("h3", {}, "Gain against edits"), editsChart(type.candidates, chosen, link),
      candidateTable(type, link)] : null,
    type.candidates.map((candidate, index) => candidateSection(candidate, link(index).slice(1),
      `Candidate ${index + 1} of ${type.name}${index === chosen ? ", recommended" : ""}`, type, doc, index === chosen)),
    type.given.map((candidate, index) => candidateSection(candidate, `${id}-given-${index + 1}`, `Given: ${candidate.name || ""}`, type, doc)),
    el("h3", {}, "Who accesses what"),
    table(`accesses of ${type.name}`, [["Member", (m) => m.member, "name"], ["Access", (m) => m.access, null], ["Count", (m) => count(m.count), "number"],
      ["Contexts", (m) => m.contexts, "number"], ["Functions", (m) => m.functions.map((f) => `${f.function} (${count(f.count)})`).join(", "), null]], type.evidence));
}

function candidateTable(type, link) {
  const rows = type.candidates.map((candidate, index) => ({ candidate, index }));
  return table(`candidates of ${type.name}`, [["Candidate", (r) => el("a", { href: link(r.index) }, r.index + 1), "number"],
    ["Change of transfers", (r) => changeWords(r.candidate), "number"], ["Members moved", (r) => r.candidate.edits.members, "number"],
    ["Attributes", (r) => r.candidate.edits.attributes, "number"], ["Bytes", (r) => r.candidate.size, "number"],
    ["Changes", (r) => r.candidate.changes.join("; "), null]], rows);
}

function changeWords({ change_percent: change }) {
  const signed = (value) => `${value > 0 ? "+" : ""}${value.toFixed(1)}%`;
  return change.low === null ? signed(change.value) : `${signed(change.value)} (${signed(change.low)} to ${signed(change.high)})`;
}

function candidateSection(candidate, id, title, type, doc, isOpen = true) {
  const curve = candidate.predicted_curve;
  const gain = candidate.predicted_gain;
  const moved = movedMembers(type.current, candidate);
  return el("section", {}, el("h3", { id, tabindex: -1 }, title),
    facts([["transfers", `${count(type.current.transfers)} to ${count(candidate.transfers)}, ${changeWords(candidate)}`],
      ["upgrades", `${count(type.current.upgrades)} to ${count(candidate.upgrades)}`],
      ["memory", `${count(type.current.bytes_per_object)} to ${count(candidate.bytes_per_object)} bytes for an object${candidate.slab_class ? ` (${candidate.slab_class})` : ""}`],
      ["throughput", gain ? `predicted ${gain.ratio.toFixed(2)} (${gain.low.toFixed(2)} to ${gain.high.toFixed(2)})` : curve ? "predicted, see the curve" : "not predicted"]]),
    candidate.changes.length ? el("ul", {}, candidate.changes.map((change) => el("li", {}, change))) : null,
    (candidate.elsewhere || []).length ? table("other workloads and builds", [["Elsewhere", (s) => s.name, "name"],
      ["Transfers today", (s) => (s.not_judged ? s.not_judged : count(s.current_transfers)), "number"], ["then", (s) => (s.not_judged ? "" : count(s.transfers)), "number"],
      ["Hurts", (s) => (s.hurts ? "yes" : "no"), null]], candidate.elsewhere) : null,
    el("details", { open: isOpen }, el("summary", {}, "Lines today and then (members that move are dashed)"),
      el("div", { class: "sides" }, [["Today", type.current], ["Then", candidate]].map(([words, layout]) =>
        el("div", {}, el("h4", {}, words), layoutPicture(layout, type.evidence, moved, doc.line_bytes))))),
    curve ? curveSection(curve) : null,
    candidate.patch ? patchSection(candidate.patch) : null);
}

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
    ? ` Beyond ${curve.published_to} CPUs it is an extrapolation.` : "";
  return [el("h4", {}, `Predicted gain on ${curve.machine}`), curveChart(curve),
    el("p", { class: "note" }, `A prediction of the timed model with the interval of what was not measured.${beyond}`),
    table("predicted gain", [["CPUs", (p) => `${p.cpus}${p.extrapolated ? " *" : ""}`, "number"], ["Gain", (p) => p.ratio.toFixed(2), "number"],
      ["Interval", (p) => `${p.low.toFixed(2)} to ${p.high.toFixed(2)}`, "number"], ["Waiting today", (p) => percent(p.waiting_today, 0), "number"],
      ["then", (p) => percent(p.waiting, 0), "number"]], curve.curve)];
}

function patchSection(patch) {
  const text = el("pre", { tabindex: 0 }, patch);
  // Without a clipboard, as in files of some browsers, the text is selected.
  const take = () => (navigator.clipboard ? navigator.clipboard.writeText(patch) : getSelection().selectAllChildren(text));
  return [el("h4", {}, "Patch"), el("button", { type: "button", class: "plain", click: take }, "Copy the patch"), text];
}
