// Any other document: its values as lists and tables, by their keys.

function keyWords(key) {
  return key.replaceAll("_", " ");
}

function isPlain(value) {
  return value === null || typeof value !== "object";
}

function plainWords(value) {
  if (value === null) return "none";
  return typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : String(value);
}

function valueNode(key, value, level) {
  if (isPlain(value)) return el("p", {}, el("strong", {}, `${keyWords(key)}: `), plainWords(value));
  if (Array.isArray(value)) return listNode(key, value, level);
  const plain = Object.entries(value).filter(([, child]) => isPlain(child));
  const rest = Object.entries(value).filter(([, child]) => !isPlain(child));
  return el("section", {}, el(`h${Math.min(level, 6)}`, {}, keyWords(key)), facts(plain.map(([name, child]) => [keyWords(name), plainWords(child)])),
    rest.map(([name, child]) => valueNode(name, child, level + 1)));
}

function listNode(key, values, level) {
  if (!values.length) return null;
  const heading = el(`h${Math.min(level, 6)}`, {}, keyWords(key));
  if (values.every(isPlain)) return el("section", {}, heading, el("p", {}, values.map(plainWords).join(", ")));
  const keys = [...new Set(values.flatMap((value) => Object.keys(value).filter((name) => isPlain(value[name]))))];
  const columns = keys.map((name) => [keyWords(name), (row) => plainWords(row[name] ?? null), values.some((v) => typeof v[name] === "number") ? "number" : null]);
  const rest = values.filter((value) => Object.values(value).some((child) => !isPlain(child) && Object.keys(child).length));
  return el("section", {}, heading, table(keyWords(key), columns, values),
    rest.map((value) => el("details", {}, el("summary", {}, plainWords(value.name ?? value.member ?? Object.values(value)[0])),
      Object.entries(value).filter(([, child]) => !isPlain(child)).map(([name, child]) => valueNode(name, child, level + 1)))));
}

function documentPage(doc) {
  const [, name] = doc.schema.split("/");
  const entries = Object.entries(doc).filter(([key]) => key !== "schema");
  const plain = entries.filter(([, value]) => isPlain(value));
  return [el("header", {}, el("h1", {}, `relayout ${name}`), facts(plain.map(([key, value]) => [keyWords(key), plainWords(value)]))),
    el("main", {}, entries.filter(([, value]) => !isPlain(value)).map(([key, value]) => valueNode(key, value, 2)))];
}
