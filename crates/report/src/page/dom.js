"use strict";
// Builds the page from the document that is embedded in it. Names of types, members and files come from anybody's
// files: they only ever become text nodes and attribute values, never markup.

const SVG = "http://www.w3.org/2000/svg";

// Characters that reorder or hide text, or that a terminal obeys, are shown by their number.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function shown(value) {
  return String(value).replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : shown(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(typeof child === "object" ? child : document.createTextNode(shown(child)));
  }
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function count(value) {
  return value === null || value === undefined ? "unknown" : Number(value).toLocaleString("en");
}

// A sentence in which `code` stands between backticks.
function prose(words) {
  return String(words).split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

function percent(share, digits = 1) {
  return share === null || share === undefined ? "unknown" : `${(100 * share).toFixed(digits)}%`;
}

// 3 objects
function counted(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

// 0-3, 7
function ranges(numbers) {
  const parts = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
}

// A table: `columns` are [head, cell of a row, kind], where kind is "number" or "name". `rowId` gives rows an address.
function table(caption, columns, rows, rowId = () => null) {
  const heads = columns.map(([head, , kind]) => el("th", { scope: "col", class: kind || null }, head));
  const body = rows.map((row, index) => el("tr", { id: rowId(row, index), tabindex: rowId(row, index) ? -1 : null },
    columns.map(([, cell, kind]) => el("td", { class: kind || null }, cell(row)))));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", { hidden: true }, caption), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, body)));
}

// A table of the first `most` rows, with a button that lists the rest.
function cutTable(caption, columns, rows, most, rowId) {
  const holder = el("div", {}, table(caption, columns, rows.slice(0, most), rowId));
  const showAll = () => holder.replaceChildren(table(caption, columns, rows, rowId));
  if (rows.length > most) holder.append(el("p", { class: "note" }, cutNotice(rows.length, rows.length, most, "row", showAll)));
  return holder;
}

function facts(pairs) {
  return el("ul", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => el("li", {}, el("strong", {}, name, ": "), value)));
}

// A list of rows that is cut after `most`, with a button that lists the rest.
function cutNotice(listed, total, most, noun, showAll) {
  const isCut = listed > most;
  return [`${count(listed)} of ${counted(total, noun)}${isCut ? `; the first ${count(most)} are listed` : ""}. `,
    isCut ? el("button", { type: "button", class: "plain", click: showAll }, "List all") : null];
}
