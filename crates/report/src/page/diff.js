// The page of `relayout diff`: types of two builds, old lines beside new ones.

const TYPE_ROWS_MAX = 300;
// Searching thousands of types takes one pass; more lines than these would not be looked at.
const DIFF_LINES_MAX = 128;

function diffPage(doc) {
  const details = el("section", { id: "details", "aria-live": "polite" });
  const ids = new Map(doc.types.map((type, index) => [type, `type-${index + 1}`]));
  const follow = () => {
    const [, number] = location.hash.match(/^#type-(\d+)$/) || [];
    const type = doc.types[number - 1];
    if (!type) return;
    details.replaceChildren(...typeChange(type, ids.get(type), doc));
    details.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  const totals = Object.entries(doc.summary).map(([name, value]) => [name.replaceAll("_", " "), count(value)]);
  return [el("header", {}, el("h1", {}, "relayout diff"), facts([["old", el("code", {}, doc.old)], ["new", el("code", {}, doc.new)], ...totals])),
    typeList(doc, ids), details, follow];
}

function typeList(doc, ids) {
  const state = { text: "", status: "changed", most: TYPE_ROWS_MAX };
  if (!doc.types.some((type) => type.status === state.status)) state.status = "";
  const body = el("tbody", {});
  const status = el("p", { role: "status", class: "note" });
  const draw = () => {
    const fits = (type) => (!state.status || type.status === state.status) && type.name.toLowerCase().includes(state.text);
    const listed = doc.types.filter(fits);
    body.replaceChildren(...listed.slice(0, state.most).map((type) => typeRow(type, ids.get(type))));
    status.replaceChildren();
    fill(status, {}, cutNotice(listed.length, doc.types.length, state.most, "type", () => { state.most = Infinity; draw(); }));
  };
  const statuses = [...new Set(doc.types.map((type) => type.status))].sort();
  draw();
  return el("main", {}, el("h2", {}, "Types"), el("div", { class: "filters", role: "search" },
    el("label", {}, "Name", el("input", { type: "search", input: ({ target }) => { state.text = target.value.toLowerCase(); draw(); } })),
    el("label", {}, "Status", el("select", { change: ({ target }) => { state.status = target.value; draw(); } },
      el("option", { value: "" }, "all"), statuses.map((value) => el("option", { value, selected: value === state.status }, value))))),
  el("div", { class: "scroll findings", tabindex: 0, role: "region", "aria-label": "types" }, el("table", {},
    el("thead", {}, el("tr", {}, ["Type", "Status", "Bytes before", "Bytes now", "Members", "Because of"].map((head) => el("th", { scope: "col" }, head)))), body)), status);
}

function typeRow(type, id) {
  const changes = new Map();
  for (const member of type.members) if (member.change !== "same") changes.set(member.change, (changes.get(member.change) || 0) + 1);
  const members = [...changes].map(([change, times]) => `${times} ${change}`).join(", ");
  const cells = [el("a", { href: `#${id}` }, `${type.kind} ${type.name}`), type.status, type.old_size ?? "", type.new_size ?? "",
    members, (type.because_of || []).slice(0, 3).join(", ")];
  return el("tr", {}, cells.map((cell, index) => el("td", { class: index === 0 ? "name" : index === 2 || index === 3 ? "number" : null }, cell)));
}

function typeChange(type, id, doc) {
  const sides = [["old", "Before"], ["new", "Now"]].map(([side, words]) => {
    const size = type[`${side}_size`];
    if (size === null || size === undefined) return null;
    return el("div", {}, el("h3", {}, `${words}: ${counted(size, "byte")}`), sidePicture(type, side, size, doc.line_bytes));
  });
  const at = (offset, size) => (offset === null || offset === undefined ? "" : `${offset}, ${counted(size, "byte")}`);
  return [el("h2", { id, tabindex: -1 }, `${type.kind} ${type.name}: ${type.status}`),
    type.file ? el("p", { class: "note" }, `${type.file}:${type.line}`) : null,
    el("div", { class: "sides" }, sides), el("p", { class: "note" }, CHANGE_KEYS.map(([kind, words]) => el("span", { class: `${kind} key` }, words))),
    type.members.length ? table("members of the type", [["Member", (m) => m.name, "name"], ["Change", (m) => m.change, null], ["Before", (m) => at(m.old_offset, m.old_size), "number"],
      ["Now", (m) => at(m.new_offset, m.new_size), "number"], ["Type before", (m) => m.old_type, "name"], ["Type now", (m) => m.new_type, "name"]], type.members) : null,
  ].filter(Boolean);
}

const CHANGE_KEYS = [["box many", "moved"], ["box writes", "added or removed"], ["box reads", "resized"], ["box", "same, or pushed by others (dashed)"], PADDING_KEY];
const CHANGE_KINDS = { moved: "box many", added: "box writes", removed: "box writes", resized: "box reads", "pushed-resized": "box reads" };

function sidePicture(type, side, size, lineBytes) {
  const members = type.members.filter((member) => typeof member[`${side}_offset`] === "number")
    .map((member) => ({ name: member.name, offset: member[`${side}_offset`], size: member[`${side}_size`] || 0, change: member.change }));
  const pushed = new Set(members.filter((member) => member.change.startsWith("pushed")).map((member) => member.name));
  const colours = { kind: (member) => CHANGE_KINDS[member.change] || "box", letter: () => "", keys: CHANGE_KEYS };
  const bytes = Math.min(size, DIFF_LINES_MAX * lineBytes);
  return [linePicture(members, { first: 0, bytes, lineBytes, moved: pushed, isWhole: true, colours }),
    bytes < size ? el("p", { class: "note" }, `The first ${counted(DIFF_LINES_MAX, "line")}.`) : null];
}
