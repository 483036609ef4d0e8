// Reads the document, and shows its page.

async function readDocument() {
  const packed = Uint8Array.from(atob(document.getElementById("document").textContent.trim()), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function showDocument(doc) {
  const kind = doc.schema.split("/")[1];
  const pages = { report: reportPage, advise: advisePage, "what-if": whatIfPage, diff: diffPage, verify: verifyPage, fleet: fleetPage };
  const parts = (pages[kind] || documentPage)(doc);
  const usesWords = ["report", "advise", "what-if"].includes(kind);
  const nodes = parts.filter((part) => part && typeof part === "object");
  document.getElementById("page").replaceChildren(...nodes, ...(usesWords ? [wordList()] : []), explainWords());
  parts.filter((part) => typeof part === "function").forEach((afterwards) => afterwards());
}

const started = readDocument().then(showDocument).catch((error) => {
  document.getElementById("page").replaceChildren(el("p", {}, `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
  throw error;
});
