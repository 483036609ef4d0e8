// The JSON document in a page.
import { gunzipSync, gzipSync } from "node:zlib";

const PARTS = /(<script id="document" type="application\/gzip;base64">\n)([^]*?)(\n<\/script>)/;

/** Returns the document in the text of a page, or null. */
export function documentOfPage(page) {
  const parts = page.match(PARTS);
  return parts ? JSON.parse(gunzipSync(Buffer.from(parts[2], "base64"))) : null;
}

/** Returns the page with another document. */
export function replaceDocument(page, doc) {
  const packed = gzipSync(JSON.stringify(doc)).toString("base64");
  return page.replace(PARTS, (_, begin, old, end) => begin + packed + end);
}
