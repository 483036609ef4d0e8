// An answer about many recordings: its tables, with a bar for each share.

function shareCell(value) {
  if (value === null || value === undefined) return "none";
  const width = Math.max(0, Math.min(1, value)) * 100;
  return [el("meter", { min: 0, max: 100, value: width, "aria-hidden": true }), ` ${percent(value, 2)}`];
}

function fleetCell(name, value) {
  if (value === null || value === undefined) return "none";
  if (name.endsWith("share")) return shareCell(value);
  if (name.endsWith("change") && typeof value === "number") return `${value > 0 ? "+" : ""}${percent(value)}`;
  return typeof value === "number" && Number.isInteger(value) ? count(value) : plainWords(value);
}

function fleetTable({ name, rows }) {
  if (!rows.length) return el("section", {}, el("h2", {}, keyWords(name)), el("p", {}, "No rows."));
  const columns = Object.keys(rows[0]).map((key) => [keyWords(key), (row) => fleetCell(key, row[key]), rows.some((row) => typeof row[key] === "number") ? "number" : null]);
  return el("section", {}, el("h2", {}, keyWords(name)), cutTable(keyWords(name), columns, rows, 200));
}

function fleetPage(doc) {
  return [el("header", {}, el("h1", {}, `relayout fleet ${doc.question}`),
    facts([["data set", doc.data_set], ["recordings", count(doc.recordings)]])),
    el("main", {}, doc.tables.map(fleetTable), doc.notes.map((note) => el("p", { class: "note" }, note)))];
}
