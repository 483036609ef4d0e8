// Runs the scripts of a page in as much of a document as they use, and prints what they show: the text of the page, and
// after `--at HASH` that of its address. With `--document` it prints the document of the page instead. Ends with 1 if a
// script fails, or asks for anything that is not here.
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { gunzipSync } from "node:zlib";

class Element {
  constructor(tag) {
    Object.assign(this, { tag, children: [], attributes: new Map(), listeners: new Map(), style: {} });
  }
  append(...nodes) { this.children.push(...nodes); }
  replaceChildren(...nodes) { this.children = nodes; }
  setAttribute(name, value) { this.attributes.set(name, String(value)); }
  getAttribute(name) { return this.attributes.get(name) ?? null; }
  removeAttribute(name) { this.attributes.delete(name); }
  addEventListener(name, listener) { this.listeners.set(name, listener); }
  scrollIntoView() {}
  get textContent() { return this.children.map((child) => child.textContent).join(""); }
  *all() {
    yield this;
    for (const child of this.children) if (child.all) yield* child.all();
  }
}

const [file, option, hash = ""] = process.argv.slice(2);
const html = readFileSync(file, "utf8");
const [, embedded] = html.match(/<script id="document" type="application\/gzip;base64">\n([^]*?)\n<\/script>/);
const [, scripts] = html.match(/<script>\n([^]*?)<\/script>/);
const page = new Element("div");
const listeners = new Map();
const text = (words) => ({ textContent: String(words) });
const byId = (id) => [...page.all()].find((node) => node.attributes.get("id") === id) ?? null;
const document = {
  createElement: (tag) => new Element(tag),
  createElementNS: (_, tag) => new Element(tag),
  createTextNode: text,
  getElementById: (id) => ({ page, document: text(embedded) })[id] ?? byId(id),
  querySelectorAll: (selector) => {
    if (selector !== "tr[data-rank]") throw new Error(`no selector ${selector}`);
    return [...page.all()].filter((node) => node.attributes.has("data-rank") && node.tag === "tr");
  },
};

if (option === "--document") {
  process.stdout.write(gunzipSync(Buffer.from(embedded, "base64")));
} else {
  await show();
}

async function show() {
  const location = { hash: "" };
  const addEventListener = (name, listener) => listeners.set(name, listener);
  await runInNewContext(`${scripts}\nstarted`, { document, location, addEventListener, atob, Blob, DecompressionStream, Response });
  if (hash) {
    location.hash = hash;
    listeners.get("hashchange")();
  }
  const ids = new Set([...page.all()].map((node) => node.attributes.get("id")).filter(Boolean));
  for (const node of page.all()) {
    const link = node.attributes.get("href");
    if (link && !/^#(finding|type)-\d+$/.test(link) && !ids.has(link.slice(1))) throw new Error(`${link} leads nowhere`);
  }
  for (const node of page.all()) if (!["div", "section", "main"].includes(node.tag)) console.log(`${node.tag}: ${node.textContent}`);
}
