"use strict";
// Pictures of cache lines: a row for each, members to scale.

const LINE_KEYS = [
  ["box reads", "only read"], ["box writes", "written by one"], ["box many", "written by several"],
  ["box", "not accessed, or not counted"], ["box padding", "no member"],
];

// `members` have name, offset and size, and for those that are accessed reads, writes and writers.
function linePicture(members, { first, bytes, lineBytes, moved = new Set(), isWhole }) {
  const rows = [];
  for (let start = first; start < first + bytes; start += lineBytes) {
    rows.push(lineRow(members, { start, lineBytes, moved, isWhole, end: first + bytes }));
  }
  const keys = LINE_KEYS.filter(([kind]) => isWhole || kind !== "box padding")
    .map(([kind, words]) => el("span", { class: `${kind} key` }, words));
  return el("div", {}, rows, el("p", { class: "note" }, keys));
}

function lineRow(members, { start, lineBytes, moved, isWhole, end }) {
  const inside = members.filter((m) => m.offset < start + lineBytes && m.offset + m.size > start)
    .sort((a, b) => a.offset - b.offset);
  const boxes = [];
  let at = start;
  const gap = (until) => {
    if (isWhole && until > at) boxes.push(box("box padding", "", at, until, `${until - at} bytes without a member`));
  };
  const box = (kind, label, from, to, title) => el("div", {
    class: kind, title,
    style: `left:${(100 * (from - start)) / lineBytes}%;width:${(100 * (to - from)) / lineBytes}%`,
  }, label);
  for (const member of inside) {
    const [from, to] = [Math.max(member.offset, start), Math.min(member.offset + member.size, start + lineBytes)];
    gap(Math.max(at, from));
    const kind = `${memberKind(member)}${moved.has(member.name) ? " moved" : ""}`;
    boxes.push(box(kind, member.name, from, to, memberWords(member)));
    at = Math.max(at, to);
  }
  gap(Math.min(start + lineBytes, end));
  const label = inside.map(memberWords).join("; ") || "no member that was accessed";
  return el("div", { class: "line" }, el("span", {}, `+${start}`),
    el("div", { class: "row", role: "img", "aria-label": `bytes ${start} to ${start + lineBytes - 1}: ${label}` }, boxes));
}

function memberKind(member) {
  if (member.writes > 0) return member.writers > 1 ? "box many" : "box writes";
  return member.reads > 0 ? "box reads" : "box";
}

function memberWords(member) {
  const uses = member.reads || member.writes
    ? `, ${count(member.reads)} reads, ${count(member.writes)} writes` : "";
  return `${member.name} at ${member.offset}, ${member.size} bytes${uses}`;
}
