"use strict";
// Reads the document, and shows its page.

function start() {
  const doc = JSON.parse(document.getElementById("document").textContent);
  const kind = doc.schema.split("/")[1];
  const pages = { report: reportPage, advise: advisePage, "what-if": whatIfPage };
  const parts = (pages[kind] || documentPage)(doc);
  const nodes = parts.filter((part) => part && typeof part === "object");
  document.getElementById("page").replaceChildren(...nodes);
  parts.filter((part) => typeof part === "function").forEach((afterwards) => afterwards());
}

start();
