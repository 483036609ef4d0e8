// Places in the source, with the lines around them where the document has them.

function sourceIndex(doc) {
  const files = new Map((doc.sources || []).map((source) => [source.file, source]));
  return { files, root: doc.source_root || "" };
}

// Path of a file for reading: below the tree, or without the folder that all files share.
function filePath(file, sources) {
  const known = sources.files.get(file);
  if (known) return known.path;
  return sources.root && file.startsWith(sources.root) ? file.slice(sources.root.length) : file;
}

// `function > inlined function  file:line`, and the lines around it.
function sourcePlace(site, sources) {
  const code = [site.function, site.inlined].filter(Boolean).join(" > ") || "unknown code";
  const file = site.file ? ` ${filePath(site.file, sources)}:${site.line}` : "";
  return [el("code", {}, code), el("span", { class: "note" }, file), excerpt(site, sources)];
}

function excerpt(site, sources) {
  const source = sources.files.get(site.file);
  const found = source?.excerpts.find(({ first_line: first, lines }) => first <= site.line && site.line < first + lines.length);
  if (!found) return null;
  const first = Math.max(found.first_line, site.line - 3);
  const lines = found.lines.slice(first - found.first_line, site.line + 4 - found.first_line);
  const rows = lines.map((text, index) => {
    const number = first + index;
    return el(number === site.line ? "mark" : "span", { class: "source" }, `${String(number).padStart(5)}  ${text}\n`);
  });
  return el("details", {}, el("summary", {}, "source"), el("pre", { tabindex: 0 }, rows));
}
