"use strict";
// The page of `relayout report`.

const KIND_WORDS = {
  "false-sharing": "contexts use different members of one line", "true-sharing": "contexts use the same members",
  "lock-word": "contexts take a lock in turn", "straddle": "objects lie across two lines",
  "silent-store": "stores that change nothing take the line away", "remote-read": "a member of another context is read",
  "read-mostly": "contexts read it, and now and then one stores", "adjacent-line": "the two lines of a pair disturb each other",
};

const FINDING_COLUMNS = [
  ["Rank", (f) => f.rank, "number"], ["Type or variable", (f) => findingName(f), "name"],
  ["Line", (f) => f.line_offset, "number"], ["Kind", (f) => f.kind, null],
  ["Transfers", (f) => f.transfers, "number"], ["Share", (f) => f.share, "number"],
  ["False, whole stay", (f) => f.false_lifetime, "number"], ["Upgrades", (f) => f.upgrades, "number"],
  ["Saving", (f) => (f.saving ? f.saving.transfers : -1), "number"],
];

// Browsers need a second to lay out a table of 10,000 rows, each time that it is sorted.
const ROWS_MAX = 1000;

function offsetWords(offset) {
  return offset < 0 ? String(offset) : `+${offset}`;
}

function findingName(finding) {
  return finding.variable || finding.type;
}

function reportPage(doc) {
  const details = el("section", { id: "details", "aria-live": "polite" });
  const show = () => {
    const rank = Number((location.hash.match(/^#finding-(\d+)$/) || [])[1]);
    const finding = doc.findings.find((f) => f.rank === rank) || doc.findings[0];
    details.replaceChildren(...(finding ? findingDetails(finding, doc) : []));
    for (const row of document.querySelectorAll("tr[data-rank]")) {
      if (finding && Number(row.getAttribute("data-rank")) === finding.rank) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  };
  const list = findingList(doc, show);
  addEventListener("hashchange", () => { show(); details.scrollIntoView(); });
  return [overview(doc), list, details, show];
}

function overview(doc) {
  const { machine } = doc;
  const runs = doc.runs.length === 1 ? "1 recording" : `${doc.runs.length} recordings`;
  const limits = machine.boot
    ? `Recorded under QEMU; changed at boot: ${machine.boot.changes.join(", ") || "nothing"}; not watched: ${machine.boot.not_watched.join(", ")}.`
    : `${machine.collector ? `Recorded by ${machine.collector}; values` : "Values"} of stores were ${machine.values_seen ? "" : "not "}seen.`;
  return el("header", {}, el("h1", {}, `relayout report: ${doc.workload}`),
    facts([["recorded", `${runs} of ${machine.release || machine.target}, ${machine.contexts} contexts, ${machine.arch}`],
      ["transfers", `${count(doc.transfers_total)}${doc.estimated ? ", estimated from samples" : ", counted"}`],
      ["false for the whole stay", percent(doc.transfers_total ? doc.false_lifetime / doc.transfers_total : null)],
      ["named", `${percent(doc.resolved_share)} of the transfers`], ["cache line", `${machine.line_bytes} bytes`],
      ["findings", `${count(doc.findings.length)} of ${count(doc.findings_total)}`]]),
    el("p", { class: "note" }, limits, " A transfer moves a line from one CPU's cache to another's. Counts are of the recorder, not of hardware."));
}

function findingList(doc, show) {
  const state = { column: 0, isDescending: false, text: "", kind: "", isSaving: false, rowsMax: ROWS_MAX };
  const body = el("tbody", {});
  const status = el("p", { role: "status", class: "note" });
  const texts = new Map(doc.findings.map((f) => [f, searchText(f)]));
  const more = el("button", { type: "button", class: "plain", hidden: true, click: () => { state.rowsMax = Infinity; redraw(); } }, "List all");
  const draw = () => {
    const fits = (f) => (!state.kind || f.kind === state.kind) && (!state.isSaving || f.saving) && texts.get(f).includes(state.text);
    const value = FINDING_COLUMNS[state.column][1];
    const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a.rank - b.rank);
    const listed = doc.findings.filter(fits).sort((a, b) => (state.isDescending ? order(b, a) : order(a, b)));
    body.replaceChildren(...listed.slice(0, state.rowsMax).map(findingRow));
    const isCut = listed.length > state.rowsMax;
    status.replaceChildren(document.createTextNode(`${listed.length} of ${doc.findings.length} findings${isCut ? `, the first ${state.rowsMax} are listed` : ""}`));
    more.hidden = !isCut;
  };
  const redraw = () => { draw(); show(); };
  const heads = FINDING_COLUMNS.map(([head, , kind], index) => {
    const cell = el("th", { scope: "col", class: kind, "aria-sort": index === 0 ? "ascending" : "none" });
    cell.append(el("button", { type: "button", click: () => {
      state.isDescending = state.column === index ? !state.isDescending : kind === "number" && index > 0;
      state.column = index;
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      cell.setAttribute("aria-sort", state.isDescending ? "descending" : "ascending");
      redraw();
    } }, head));
    return cell;
  });
  const kinds = [...new Set(doc.findings.map((f) => f.kind))].sort();
  const filters = el("div", { class: "filters", role: "search" },
    el("label", {}, "Search type, member, file, function",
      el("input", { type: "search", input: (event) => { state.text = event.target.value.toLowerCase(); redraw(); } })),
    el("label", {}, "Kind", el("select", { change: (event) => { state.kind = event.target.value; redraw(); } },
      el("option", { value: "" }, "all"), kinds.map((kind) => el("option", { value: kind }, kind)))),
    el("label", {}, "With a saving", el("input", { type: "checkbox", change: (event) => { state.isSaving = event.target.checked; redraw(); } })));
  draw();
  return el("main", {}, el("h2", {}, "Findings"), filters,
    el("div", { class: "scroll findings", tabindex: 0, role: "region", "aria-label": "findings" },
      el("table", {}, el("thead", {}, el("tr", {}, heads)), body)), status, more);
}

function searchText(finding) {
  const sites = finding.sites.flatMap((site) => [site.function, site.inlined, site.file]);
  const names = [finding.type, finding.variable, ...finding.members.map((member) => member.name), ...sites];
  return names.filter(Boolean).join("\n").toLowerCase();
}

function findingRow(finding) {
  const saving = finding.saving ? `${count(Math.round(finding.saving.transfers))}` : "";
  const cells = [finding.rank, el("a", { href: `#finding-${finding.rank}` }, findingName(finding)), offsetWords(finding.line_offset),
    el("span", { title: KIND_WORDS[finding.kind] || null }, finding.kind), count(finding.transfers), percent(finding.share),
    count(finding.false_lifetime), count(finding.upgrades), saving];
  return el("tr", { "data-rank": finding.rank },
    FINDING_COLUMNS.map(([, , kind], index) => el("td", { class: kind }, cells[index])));
}

function findingDetails(finding, doc) {
  const lineBytes = doc.machine.line_bytes;
  const places = finding.places.length ? finding.places : [{ line_offset: finding.line_offset }];
  const offsets = [...new Set(places.map((p) => p.line_offset))].sort((a, b) => a - b);
  const pictures = offsets.map((first) => linePicture(finding.members, { first, bytes: lineBytes, lineBytes, isWhole: false }));
  const sure = finding.type_confidence_percent;
  return [
    el("h2", { id: `finding-${finding.rank}`, tabindex: -1 }, `#${finding.rank} ${findingName(finding)} ${offsetWords(finding.line_offset)}: ${finding.kind}`),
    facts([["meaning", KIND_WORDS[finding.kind] || finding.kind],
      ["transfers", `${count(finding.transfers)} (${percent(finding.share)} of all)`],
      ["objects", `${count(finding.objects)}, ${finding.contexts} contexts`],
      ["type", `${sure}% sure${finding.uncertain_objects ? `; ${count(finding.uncertain_objects)} objects are uncertain` : ""}`],
      ["saving", finding.saving ? `${count(Math.round(finding.saving.transfers))} transfers with ${finding.saving.moved} members moved` : finding.saving_why],
      ["allocated", Object.entries(finding.allocated || {}).map(([where, objects]) => `${where} (${count(objects)})`).join(", ") || null]]),
    finding.advice.map((advice) => el("p", {}, advice.words)),
    el("h3", {}, "The line"), pictures,
    el("h3", {}, "Members"),
    table("members", [["Member", (m) => m.name, "name"], ["Offset", (m) => m.offset, "number"], ["Bytes", (m) => m.size, "number"],
      ["Reads", (m) => (m.counted ? count(m.reads) : "not counted"), "number"],
      ["Writes", (m) => (m.counted ? count(m.writes) : "not counted"), "number"],
      ["Writers", (m) => (m.counted ? m.writers : ""), "number"], ["Transfers", (m) => count(m.transfers), "number"]], finding.members),
    finding.pairs.length ? [el("h3", {}, "Written there, missed here"),
      table("pairs of instructions", [["Transfers", (p) => count(p.transfers), "number"], ["Upgrades", (p) => count(p.upgrades), "number"],
        ["Missed by", (p) => [el("code", {}, p.here.member), ` ${p.here.access} in `, place(p.here)], null],
        ["After a store by", (p) => [el("code", {}, p.there.member), ` ${p.there.access} in `, place(p.there)], null]], finding.pairs)] : null,
    el("h3", {}, "Code"),
    table("instructions", [["Access", (s) => s.access, null], ["Count", (s) => count(s.count), "number"],
      ["Transfers", (s) => count(s.transfers), "number"], ["Caused", (s) => count(s.caused), "number"], ["Place", place, null]], finding.sites),
    Object.keys(finding.neighbours || {}).length ? el("p", {}, "Neighbours on the line: ",
      Object.entries(finding.neighbours).map(([name, objects]) => `${name} (${count(objects)})`).join(", "), ".") : null,
  ].flat().filter(Boolean);
}
