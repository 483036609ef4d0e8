// The pages of `relayout advise` and `relayout what-if`.

function advisePage(doc) {
  const skipped = doc.skipped.map((s) => el("li", {}, el("code", {}, s.name), `: ${counted(s.transfers, "transfer")}${s.why ? `, ${s.why}` : ""}`));
  const place = (s) => s.declared_in ? ` of ${s.declared_in.function}${s.declared_in.line ? ` (${s.declared_in.file}:${s.declared_in.line})` : ""}` : "";
  const variables = doc.variables.map((s) => el("li", {}, el("code", {}, s.name), `${place(s)}, ${s.type}: ${counted(s.transfers, "transfer")}`,
    s.findings.flatMap((finding) => finding.advice.map((advice) => el("p", {}, prose(advice.words))))));
  return [el("header", {}, el("h1", {}, `relayout advise: ${doc.workload}`), notes(doc),
    el("p", { class: "note" }, "Changes of ", word("transfer", "transfers"), " come from ", word("replay", "replaying"), " the recording. Throughput is ",
      word("predicted"), "; ", el("code", {}, "relayout verify"), " measures it."),
    doc.types.length > 1 ? el("nav", { "aria-label": "types" }, doc.types.map((type) => [el("a", { href: `#${typeId(type)}` }, type.name), " "])) : null),
  el("main", {}, doc.types.map((type) => typeAdvice(type, doc)),
    variables.length ? [el("h2", {}, "Variables"), el("ul", {}, variables)] : null,
    skipped.length ? [el("h2", {}, "Not advised on"), el("ul", {}, skipped)] : null), followHash];
}

function whatIfPage(doc) {
  const given = doc.all_given || [];
  const names = given.map((candidate, index) => candidate.name || (given.length > 1 ? `Layout ${index + 1}` : "The given layout"));
  const type = { current: doc.current, evidence: [] };
  return [el("header", {}, el("h1", {}, `relayout what-if: ${doc.name}`), notes(doc)),
    el("main", {}, doc.refused ? el("p", {}, doc.refused) : given.map((candidate, index) =>
      candidateSection(candidate, `layout-${index + 1}`, names[index], type, doc))), followHash];
}

// Elements with the address of the page appear only now.
function followHash() {
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

function notes(doc) {
  return doc.notes.map((note) => el("p", { class: "note" }, prose(note)));
}

function typeId(type) {
  return `type-${type.name}`;
}

function typeAdvice(type, doc) {
  const id = typeId(type);
  if (!type.candidates || !type.current) return [el("h2", { id }, type.name), el("p", {}, type.why || type.refused || "No layout was searched.")];
  const chosen = type.recommended;
  const link = (index) => `#${id}-candidate-${index + 1}`;
  const title = (index) => `Candidate ${index + 1} of ${type.name}${index === chosen ? ", recommended" : ""}`;
  const shown = type.candidates.map((candidate, index) => candidateSection(candidate, link(index).slice(1), title(index), type, doc, index === (chosen ?? 0)));
  return el("section", {}, el("h2", { id, tabindex: -1 }, type.name),
    facts([["verdict", type.verdict], ["objects", count(type.objects)], ["bytes today", count(type.current.size)],
      ["allocated", type.current.slab_class], ["transfers today", count(type.current.transfers)], ["layouts tried", count(type.tried)]]),
    typeLinks(type, id, link), reviewSection(type, id),
    type.doubts.map((doubt) => el("p", { class: "note" }, el("strong", {}, "Doubt: "), prose(doubt.sentence))),
    type.candidates.length ? [el("h3", { id: `${id}-candidates`, tabindex: -1 }, "Gain against edits"), editsChart(type.candidates, chosen, link), candidateTable(type, link)] : null,
    shown, type.given.map((candidate, index) => candidateSection(candidate, `${id}-given-${index + 1}`, `Given: ${candidate.name || ""}`, type, doc)),
    orderTable(type), compileTable(type),
    el("h3", { id: `${id}-accesses`, tabindex: -1 }, "Who accesses what"),
    table(`accesses of ${type.name}`, [["Member", (m) => m.member, "name"], ["Access", (m) => m.access, null], ["Count", (m) => count(m.count), "number"],
      ["Contexts", (m) => m.contexts, "number"], ["Functions", (m) => m.functions.map((f) => `${f.function} (${count(f.count)})`).join(", "), null]], type.evidence));
}

// Ways to the answers of a reviewer.
function typeLinks(type, id, link) {
  const parts = [["answers", `#${id}-review`], ["candidates", `#${id}-candidates`]];
  if (type.recommended !== null) {
    const own = link(type.recommended);
    const candidate = type.candidates[type.recommended];
    parts.push(["what moves", `${own}-lines`]);
    if (candidate.predicted_curve) parts.push(["gain by CPUs", `${own}-curve`]);
    if (candidate.patch) parts.push(["patch", `${own}-patch`]);
  }
  parts.push(["who accesses what", `#${id}-accesses`]);
  return el("nav", { "aria-label": `parts of ${type.name}` }, parts.map(([words, href]) => [el("a", { href }, words), " "]));
}

function reviewSection(type, id) {
  const heading = (words) => el("h3", { id: `${id}-review`, tabindex: -1 }, words);
  const own = type.recommended_why;
  if (!type.review) return [heading("Nothing is recommended"), el("p", {}, prose(own))];
  return [heading(type.review.title), el("ol", { class: "review" }, type.review.answers.map(({ question, answer }) =>
    el("li", {}, el("strong", {}, question, ": "), prose(answer))))];
}

function candidateTable(type, link) {
  const rows = type.candidates.map((candidate, index) => ({ candidate, index }));
  return table(`candidates of ${type.name}`, [["Candidate", (r) => el("a", { href: link(r.index) }, r.index + 1), "number"],
    ["Change of transfers", (r) => changeWords(r.candidate), "number"], ["Members moved", (r) => r.candidate.edits.members, "number"],
    ["Attributes", (r) => r.candidate.edits.attributes, "number"], ["Bytes", (r) => r.candidate.size, "number"],
    ["Changes", (r) => r.candidate.changes.join("; "), null]], rows);
}

function orderTable(type) {
  return type.order.length ? [el("h3", {}, "Code that relies on the order"), table(`order of ${type.name}`,
    [["Place", (fact) => el("code", {}, `${fact.file}:${fact.line}`), null], ["Reliance", (fact) => fact.sentence, null], ["Source", (fact) => el("code", {}, fact.text), null]], type.order)] : null;
}

function compileTable(type) {
  return type.compiled?.length ? valueNode("compiled", type.compiled, 3) : null;
}
