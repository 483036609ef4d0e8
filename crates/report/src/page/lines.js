// Pictures of cache lines: a row for each, members to scale, with the traffic of members below and what they do to each
// other above.

const USE_KEYS = [
  ["box reads", "only read"], ["box writes", "written by one"], ["box many", "written by several"],
  ["box", "not accessed, or not counted"],
];
const PADDING_KEY = ["box padding", "no member"];
const SET_COLOURS = 6;

// Colours of members by how they are used.
function useColours() {
  const kind = (member) => {
    if (member.writes > 0) return member.writers > 1 ? "box many" : "box writes";
    return member.reads > 0 ? "box reads" : "box";
  };
  return { kind, letter: () => "", keys: USE_KEYS };
}

// Colours of members by the set of CPUs or threads that write them, or read them if none writes.
function setColours(members, noun) {
  const words = (member) => {
    if (member.writer_ids?.length) return `written by ${noun} ${ranges(member.writer_ids)}`;
    return member.context_ids?.length ? `only read by ${noun} ${ranges(member.context_ids)}` : "";
  };
  const sets = [...new Set(members.map(words).filter(Boolean))];
  const place = (set) => Math.min(sets.indexOf(set), SET_COLOURS);
  const letter = (set) => (sets.length > 1 && set ? String.fromCharCode(65 + (sets.indexOf(set) % 26)) : "");
  const kind = (set) => (set ? `box set-${place(set)}` : "box");
  return {
    kind: (member) => kind(words(member)),
    letter: (member) => letter(words(member)),
    keys: [...sets.map((set) => [kind(set), `${letter(set)} ${set}`.trim()]), ["box", "not accessed, or not counted"]],
  };
}

// `members` have name, offset and size, and for those that are accessed reads, writes and writers. `flows` are
// {from, to, transfers, href, words} between two of `members`.
function linePicture(members, { first, bytes, lineBytes, moved = new Set(), isWhole, colours = useColours(), flows = [] }) {
  const most = Math.max(1, ...members.map((member) => Math.max(member.reads || 0, member.writes || 0)));
  const end = first + bytes;
  const rows = [];
  for (let start = first; start < end; start += lineBytes) {
    rows.push(lineRow(members, { start, lineBytes, moved, isWhole, end, colours, flows, most }));
  }
  return el("div", { class: "lines" }, rows);
}

// What colours, bars and arcs mean.
function pictureKey({ colours = useColours(), isWhole, hasFlows = false, hasBars = true }) {
  const keys = [...colours.keys, ...(isWhole ? [PADDING_KEY] : [])].map(([kind, words]) => el("span", { class: `${kind} key` }, words));
  const bars = hasBars ? [el("span", { class: "bar reads key" }, "reads"), el("span", { class: "bar writes key" }, "writes"), "below: the tallest bar is the most of any member. "] : null;
  return el("p", { class: "note" }, keys, bars, hasFlows ? "Arcs lead from the member that was written to the one that was missed; thicker is more often." : null);
}

function lineRow(members, { start, lineBytes, moved, isWhole, end, colours, flows, most }) {
  const stop = start + lineBytes;
  const inside = members.filter((m) => m.offset < stop && m.offset + m.size > start).sort((a, b) => a.offset - b.offset || b.size - a.size);
  const place = (from, to) => `left:${(100 * (from - start)) / lineBytes}%;width:${(100 * (to - from)) / lineBytes}%`;
  const boxes = [];
  const bars = [];
  let at = start;
  const gap = (until) => {
    if (isWhole && until > at) boxes.push(el("div", { class: "box padding", title: `${counted(until - at, "byte")} without a member`, style: place(at, until) }));
  };
  for (const member of inside) {
    const [from, to] = [Math.max(member.offset, start), Math.min(member.offset + member.size, stop)];
    gap(from);
    // A member of a union lies over the one before.
    const kind = `${colours.kind(member)}${moved.has(member.name) ? " moved" : ""}${from < at ? " over" : ""}`;
    const letter = colours.letter(member);
    boxes.push(el("div", { class: kind, title: memberWords(member), style: place(from, to) }, letter ? [el("b", {}, letter), " "] : null, member.name));
    if (member.reads || member.writes) bars.push(el("div", { class: "bars", style: place(from, to) }, bar("reads", member.reads, most), bar("writes", member.writes, most)));
    at = Math.max(at, to);
  }
  gap(Math.min(stop, end));
  const label = inside.map(memberWords).join("; ") || "no member that was accessed";
  const flowsHere = flows.filter(({ from, to }) => inside.includes(from) && inside.includes(to));
  return el("div", { class: "line" }, el("span", {}, offsetWords(start)), el("div", {},
    flowsHere.length ? flowArcs(flowsHere, start, lineBytes) : null,
    el("div", { class: "row", role: "img", "aria-label": `bytes ${start} to ${stop - 1}: ${label}` }, boxes),
    bars.length ? el("div", { class: "heat", "aria-hidden": true }, bars) : null));
}

function bar(kind, value, most) {
  return el("span", { class: `bar ${kind}`, style: `height:${value ? Math.max(4, (100 * value) / most) : 0}%` });
}

// Arcs above a line, each a link to its pair of instructions. The picture is as wide as its line.
function flowArcs(flows, start, lineBytes) {
  const most = Math.max(...flows.map(({ transfers }) => transfers));
  const centre = ({ offset, size }) => (1000 * (Math.min(Math.max(offset + size / 2, start), start + lineBytes) - start)) / lineBytes;
  const arcs = flows.map(({ from, to, transfers, href, words }) => {
    const [a, b] = [centre(from), centre(to)];
    const path = from === to ? `M${a - 8},40 C${a - 30},8 ${a + 30},8 ${a + 8},40` : `M${a},40 Q${(a + b) / 2},${-14 - Math.abs(a - b) / 60} ${b},40`;
    return svg("a", { href, "aria-label": words }, svg("title", {}, words),
      svg("path", { class: "hit", d: path }), svg("path", { class: "flow", d: path, "stroke-width": 1 + 4 * (transfers / most) }),
      svg("path", { class: "flow end", d: `M${from === to ? a + 8 : b},40 l0,-1`, "stroke-width": 9 }));
  });
  return svg("svg", { class: "flows", viewBox: "0 0 1000 42", preserveAspectRatio: "none", role: "group", "aria-label": "written and missed" }, arcs);
}

function offsetWords(offset) {
  return offset < 0 ? String(offset) : `+${offset}`;
}

function memberWords(member) {
  const uses = member.reads || member.writes
    ? `, ${count(member.reads)} reads, ${count(member.writes)} writes` : "";
  return `${member.name} at ${member.offset}, ${counted(member.size, "byte")}${uses}`;
}
