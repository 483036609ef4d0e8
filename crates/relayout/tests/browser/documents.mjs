// The JSON document in a page.

const PARTS = /(<script id="document" type="application\/json">\n)([^]*?)(\n<\/script>)/;

/** Returns the document in the text of a page, or null. */
export function documentOfPage(page) {
  const parts = page.match(PARTS);
  return parts ? JSON.parse(parts[2]) : null;
}

/** Returns the page with another document. */
export function replaceDocument(page, doc) {
  const json = JSON.stringify(doc).replaceAll("<", "\\u003c");
  return page.replace(PARTS, (_, begin, old, end) => begin + json + end);
}
