// The list of findings of a report.

const FINDING_COLUMNS = [
  ["Rank", (f) => f.rank, "number", null], ["Type or variable", (f) => findingName(f), "name", null],
  ["Line", (f) => f.line_offset, "number", WORDS["cache line"]], ["Kind", (f) => f.kind, "kind", "What the CPUs do to each other; each kind has its own remedy."],
  ["Transfers", (f) => f.transfers, "number", WORDS.transfer], ["Share", (f) => f.share, "number", "Part of all transfers of the recording."],
  ["False, whole stay", (f) => f.false_lifetime, "number", WORDS["false for the whole stay"]], ["Upgrades", (f) => f.upgrades, "number", WORDS.upgrade],
  ["Saving", (f) => (f.saving ? f.saving.transfers : -1), "number", WORDS.saving],
];

// Browsers need a second to lay out a table of 10,000 rows, each time that it is sorted.
const FINDING_ROWS_MAX = 300;

function findingName(finding) {
  return finding.variable || finding.type;
}

// The filters and the table. `select` is called when the rows have changed.
function findingList(doc, sources, select) {
  const state = { column: 0, isDescending: false, most: FINDING_ROWS_MAX, filters: new Map() };
  const body = el("tbody", {});
  const status = el("p", { role: "status", class: "note" });
  const draw = () => {
    const value = FINDING_COLUMNS[state.column][1];
    const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a.rank - b.rank);
    const fitting = doc.findings.filter((finding) => [...state.filters.values()].every((fits) => fits(finding)));
    const sorted = fitting.sort((a, b) => (state.isDescending ? order(b, a) : order(a, b)));
    body.replaceChildren(...sorted.slice(0, state.most).map(findingRow));
    const showAll = () => { state.most = Infinity; redraw(); };
    status.replaceChildren();
    fill(status, {}, cutNotice(sorted.length, doc.findings.length, state.most, "finding", showAll));
  };
  const redraw = () => { draw(); select(); };
  const filter = (key, fits) => {
    if (fits) state.filters.set(key, fits);
    else state.filters.delete(key);
    redraw();
  };
  draw();
  return el("main", {}, el("h2", {}, "Findings"), findingFilters(doc, sources, filter),
    el("div", { class: "scroll findings", tabindex: 0, role: "region", "aria-label": "findings" },
      el("table", {}, el("thead", {}, el("tr", {}, sortableHeads(state, redraw))), body)), status);
}

function sortableHeads(state, redraw) {
  const heads = FINDING_COLUMNS.map(([head, , kind, words], index) => {
    const sort = () => {
      state.isDescending = state.column === index ? !state.isDescending : kind === "number" && index > 0;
      state.column = index;
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      cell.setAttribute("aria-sort", state.isDescending ? "descending" : "ascending");
      redraw();
    };
    const cell = el("th", { scope: "col", class: kind, "aria-sort": index === 0 ? "ascending" : "none" },
      el("button", { type: "button", click: sort, "data-words": words }, head));
    return cell;
  });
  return heads;
}

function findingFilters(doc, sources, filter) {
  const text = (label, key, wordsOf) => {
    const texts = new Map();
    const lower = (finding) => {
      if (!texts.has(finding)) texts.set(finding, wordsOf(finding).filter(Boolean).join("\n").toLowerCase());
      return texts.get(finding);
    };
    return el("label", {}, label, el("input", { type: "search", input: ({ target }) => {
      const wanted = target.value.toLowerCase();
      filter(key, wanted && ((finding) => lower(finding).includes(wanted)));
    } }));
  };
  const files = (finding) => accessSites(finding).map((site) => site.file && filePath(site.file, sources));
  const functions = (finding) => accessSites(finding).flatMap((site) => [site.function, site.inlined]);
  const names = (finding) => [finding.type, finding.variable, ...finding.types_path];
  const members = (finding) => finding.members.map((member) => member.name);
  const kinds = [...new Set(doc.findings.map((finding) => finding.kind))].sort();
  const number = ({ target }) => Number(target.value) || 0;
  return el("div", { class: "filters", role: "search" },
    text("Search all", "all", (finding) => [...names(finding), ...members(finding), finding.kind, ...files(finding), ...functions(finding)]),
    text("Type or variable", "type", names), text("Function", "function", functions), text("File", "file", files),
    el("label", {}, "Kind", el("select", { change: ({ target }) => filter("kind", target.value && ((finding) => finding.kind === target.value)) },
      el("option", { value: "" }, "all"), kinds.map((kind) => el("option", { value: kind }, kind)))),
    el("label", {}, "Saving of at least", el("input", { type: "number", min: 0, size: 7, input: (event) => {
      const least = number(event);
      filter("saving", least > 0 && ((finding) => finding.saving && finding.saving.transfers >= least));
    } })));
}

function accessSites(finding) {
  return [...finding.sites, ...finding.pairs.flatMap((pair) => [pair.here, pair.there])];
}

function findingRow(finding) {
  const saving = finding.saving ? count(Math.round(finding.saving.transfers)) : "";
  const cells = [finding.rank, el("a", { href: `#finding-${finding.rank}` }, findingName(finding)), offsetWords(finding.line_offset),
    el("span", { "data-words": KINDS[finding.kind] }, finding.kind), count(finding.transfers), percent(finding.share),
    count(finding.false_lifetime), count(finding.upgrades), saving];
  return el("tr", { "data-rank": finding.rank },
    FINDING_COLUMNS.map(([, , kind], index) => el("td", { class: kind }, cells[index])));
}
