// One finding: its line, members, pairs of instructions and code.

// Pictures of objects that begin at other offsets of a line.
const PICTURES_MAX = 3;
const FLOWS_MAX = 8;
// Pairs and instructions, each with its lines of source, until all are asked for.
const ROWS_MAX = 40;
// The pictures of all findings have the same colours.
let colourBy = "use";

function findingDetails(finding, doc, sources) {
  const noun = doc.machine.target === "program" ? "thread" : "CPU";
  const pairId = (index) => `finding-${finding.rank}-pair-${index + 1}`;
  return [
    el("h2", { id: `finding-${finding.rank}`, tabindex: -1 }, `#${finding.rank} ${findingName(finding)} ${offsetWords(finding.line_offset)}: ${finding.kind}`),
    findingFacts(finding, noun),
    finding.notes.map((note) => el("p", { class: "note" }, note.text)),
    finding.advice.map((advice) => el("p", {}, prose(advice.words))),
    el("h3", {}, "The line"), linePictures(finding, doc, noun, pairId),
    wholeStruct(finding, doc),
    el("h3", {}, "Members"), memberTable(finding, noun),
    finding.pairs.length ? [el("h3", {}, "Written there, missed here"), pairTable(finding, sources, pairId)] : null,
    el("h3", {}, "Code"), siteTable(finding, sources),
    countsNote("Neighbours on the line", finding.neighbours),
  ].flat().filter(Boolean);
}

function findingFacts(finding, noun) {
  const sure = `${finding.type_confidence_percent}% sure${finding.uncertain_objects ? `; ${counted(finding.uncertain_objects, "object")} may be of another type` : ""}`;
  const saving = finding.saving ? `${count(Math.round(finding.saving.transfers))} transfers with ${counted(finding.saving.moved, "member")} of ${finding.saving.type} moved` : finding.saving_words || finding.saving_why;
  return [el("p", {}, kindWords(finding.kind, noun)), facts([
    [word("transfer", "transfers"), `${count(finding.transfers)} (${percent(finding.share)} of all)`],
    [word("false for the whole stay"), count(finding.false_lifetime)], [word("upgrade", "upgrades"), count(finding.upgrades)],
    ["waiting", finding.wait_percent == null ? null : `${percent(finding.wait_percent / 100)} of the ${noun}s' time, simulated`],
    ["objects", `${count(finding.objects)}, used by ${counted(finding.contexts, noun)}`],
    [word("confidence", "type"), sure], [word("saving"), saving],
    ["allocated", countWords(finding.allocated)],
    ["over the recordings", finding.transfers_range ? `${count(finding.transfers_range[0])} to ${count(finding.transfers_range[1])} transfers` : null]])];
}

function countWords(counts) {
  return Object.entries(counts || {}).map(([name, value]) => `${name} (${count(value)})`).join(", ") || null;
}

function countsNote(title, counts) {
  const words = countWords(counts);
  return words && el("p", {}, `${title}: ${words}.`);
}

function linePictures(finding, doc, noun, pairId) {
  const lineBytes = doc.machine.line_bytes;
  const places = finding.places.length ? finding.places : [{ line_offset: finding.line_offset, objects: finding.objects }];
  const flows = memberFlows(finding, pairId);
  const pictures = el("div", {});
  const draw = () => {
    const colours = colourBy === "set" ? setColours(finding.members, noun) : useColours();
    const drawn = places.slice(0, PICTURES_MAX).map(({ line_offset: first, objects }) => [
      places.length > 1 ? el("p", { class: "note" }, `${counted(objects, "object")} with this line:`) : null,
      linePicture(finding.members, { first, bytes: lineBytes, lineBytes, isWhole: false, colours, flows })]);
    pictures.replaceChildren();
    fill(pictures, {}, [drawn, pictureKey({ colours, isWhole: false, hasFlows: flows.length > 0 })]);
  };
  draw();
  const more = places.length - PICTURES_MAX;
  return [el("label", { class: "inline" }, "Colours by ", el("select", { change: ({ target }) => { colourBy = target.value; draw(); } },
    [["use", "reads and writes"], ["set", `the set of ${noun}s`]].map(([value, words]) => el("option", { value, selected: value === colourBy }, words)))),
  pictures, more > 0 ? el("p", { class: "note" }, `${counted(more, "other place")} of the line in the object.`) : null];
}

// Transfers from a member of the object that was written to one that was missed, most first.
function memberFlows(finding, pairId) {
  const members = new Map();
  // Elements of an array share their name: nobody knows which of them it was.
  for (const member of finding.members) members.set(member.name, members.has(member.name) ? null : member);
  const flows = new Map();
  finding.pairs.slice(0, ROWS_MAX).forEach((pair, index) => {
    const [from, to] = [members.get(pair.there.member), members.get(pair.here.member)];
    if (!from || !to || !pair.transfers) return;
    const key = `${from.name}\n${to.name}`;
    if (!flows.has(key)) flows.set(key, { from, to, transfers: 0, href: `#${pairId(index)}`, first: pair });
    flows.get(key).transfers += pair.transfers;
  });
  return [...flows.values()].sort((a, b) => b.transfers - a.transfers).slice(0, FLOWS_MAX).map((flow) => ({
    ...flow, words: `${flow.from.name} written in ${flow.first.there.function || "unknown code"}, ${flow.to.name} missed in ${flow.first.here.function || "unknown code"}: ${count(flow.transfers)} transfers`,
  }));
}

function memberTable(finding, noun) {
  const ifCounted = (words) => (member) => (member.counted ? words(member) : "not counted");
  const ids = (numbers) => (numbers?.length ? ranges(numbers) : "none");
  return table("members", [["Member", (m) => m.name, "name"], ["Offset", (m) => m.offset, "number"], ["Bytes", (m) => m.size, "number"],
    ["Reads", ifCounted((m) => count(m.reads)), "number"], ["Writes", ifCounted((m) => count(m.writes)), "number"],
    [`Written by ${noun}`, ifCounted((m) => ids(m.writer_ids)), null], [`Used by ${noun}`, (m) => ids(m.context_ids), null],
    ["Transfers", (m) => count(m.transfers), "number"]], finding.members);
}

function pairTable(finding, sources, pairId) {
  const side = (access) => [el("code", {}, access.member), ` ${access.access} in `, sourcePlace(access, sources)];
  return cutTable("pairs of instructions", [["Transfers", (p) => count(p.transfers), "number"], ["Upgrades", (p) => count(p.upgrades), "number"],
    ["Missed by", (p) => side(p.here), null], ["After a store by", (p) => side(p.there), null]], finding.pairs, ROWS_MAX, (_, index) => pairId(index));
}

function siteTable(finding, sources) {
  return cutTable("instructions", [["Access", (s) => s.access, null], ["Count", (s) => count(s.count), "number"],
    ["Transfers", (s) => count(s.transfers), "number"], [word("caused", "Caused"), (s) => count(s.caused), "number"],
    ["Place", (s) => sourcePlace(s, sources), null]], finding.sites, ROWS_MAX);
}

// Rows of the whole struct that are drawn, and those up to which it is drawn at once.
const STRUCT_ROWS_MAX = 64;
const STRUCT_ROWS_OPEN = 8;

// All lines of an object, with padding, and with the traffic that any finding of the type has.
function wholeStruct(finding, doc) {
  const layout = (doc.layouts || []).find((other) => other.type === finding.type && other.variable === finding.variable);
  if (!layout?.members.length) return null;
  const lineBytes = doc.machine.line_bytes;
  const phase = ((finding.line_offset % lineBytes) + lineBytes) % lineBytes;
  const first = phase ? phase - lineBytes : 0;
  const rows = Math.ceil((layout.size - first) / lineBytes);
  const bytes = Math.min(rows, STRUCT_ROWS_MAX) * lineBytes;
  const own = doc.findings.filter((other) => other.type === finding.type && other.variable === finding.variable).flatMap((other) => other.members);
  const members = layout.members.map((member) => withTraffic(member, own));
  const draw = () => [linePicture(members, { first, bytes: Math.min(bytes, layout.size - first), lineBytes, isWhole: true }), pictureKey({ isWhole: true }),
    rows > STRUCT_ROWS_MAX ? el("p", { class: "note" }, `The first ${STRUCT_ROWS_MAX} of ${count(rows)} lines.`) : null];
  const isOpen = rows <= STRUCT_ROWS_OPEN;
  const holder = el("details", { open: isOpen, toggle: () => { if (holder.children.length === 1) fill(holder, {}, draw()); } },
    el("summary", {}, `The whole of ${findingName(finding)}: ${counted(layout.size, "byte")} on ${counted(rows, "line")}`), isOpen ? draw() : null);
  return holder;
}

// A member with the counts of all accessed members in it.
function withTraffic(member, accessed) {
  const inside = accessed.filter((other) => other.offset >= member.offset && other.offset < member.offset + member.size);
  const sum = (key) => inside.reduce((total, other) => total + other[key], 0);
  return { ...member, reads: sum("reads"), writes: sum("writes"), writers: Math.max(0, ...inside.map((other) => other.writers)) };
}
