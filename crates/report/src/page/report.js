// The page of `relayout report`.

function reportPage(doc) {
  const sources = sourceIndex(doc);
  const details = el("section", { id: "details", "aria-live": "polite" });
  let current = doc.findings[0];
  const mark = () => {
    for (const row of document.querySelectorAll("tr[data-rank]")) {
      if (current && Number(row.getAttribute("data-rank")) === current.rank) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  };
  const show = (finding) => {
    if (finding && details.getAttribute("data-rank") !== String(finding.rank)) {
      current = finding;
      details.replaceChildren(...findingDetails(finding, doc, sources));
      details.setAttribute("data-rank", finding.rank);
    }
    mark();
  };
  const follow = () => {
    const [, rank] = location.hash.match(/^#finding-(\d+)/) || [];
    if (rank === undefined) return;
    show(doc.findings.find((finding) => finding.rank === Number(rank)));
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  return [overview(doc), findingList(doc, sources, mark), details, () => { show(current); follow(); }];
}

function overview(doc) {
  const { machine } = doc;
  const runs = counted(doc.runs.length, "recording");
  return el("header", {}, el("h1", {}, `relayout report: ${doc.workload}`),
    facts([["recorded", `${runs} of ${machine.release || machine.target}, ${counted(machine.contexts, machine.target === "program" ? "thread" : "CPU")}, ${machine.arch}`],
      [word("transfer", "transfers"), `${count(doc.transfers_total)}${doc.estimated ? ", estimated from samples" : ", counted"}`],
      [word("false for the whole stay"), percent(doc.transfers_total ? doc.false_lifetime / doc.transfers_total : null)],
      ["order of accesses", machine.simulated_machine ? `simulated: ${machine.simulated_machine}` : null],
      ["named", `${percent(doc.resolved_share)} of the transfers`], [word("cache line"), `${machine.line_bytes} bytes`],
      ["findings", `${count(doc.findings.length)} of ${count(doc.findings_total)}`]]),
    el("p", { class: "note" }, limitWords(machine), " Counts are of the recorder, not of hardware.",
      doc.host_was_busy ? " The machine was busy with other work while it recorded: repeat it before you trust small counts." : null));
}

function limitWords({ boot, collector, values_seen: isSeen }) {
  if (boot) return `Recorded under QEMU; changed at boot: ${boot.changes.join(", ") || "nothing"}; not watched: ${boot.not_watched.join(", ")}.`;
  return `${collector ? `Recorded by ${collector}; values` : "Values"} of stores were ${isSeen ? "" : "not "}seen.`;
}
