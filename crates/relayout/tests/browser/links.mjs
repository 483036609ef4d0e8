// Addresses within pages.
import { openFile } from "./chromium.mjs";

/** Opens a report at a finding, or advice at a candidate, and returns what is not shown. */
export async function deepLinkProblems(browser, file, doc) {
  const problems = [];
  for (const id of linkedIds(doc)) {
    const opened = await openFile(browser, file, undefined, `#${encodeURIComponent(id)}`);
    const { tab } = opened;
    try {
      await tab.waitForFunction((target) => {
        const box = document.getElementById(target)?.getBoundingClientRect();
        return box && box.top > -2 && box.top < innerHeight;
      }, { timeout: 10_000 }, id);
    } catch {
      problems.push(`#${id} is not in the window that opens at it`);
    }
    problems.push(...opened.problems);
    await tab.close();
  }
  return problems;
}

function linkedIds(doc) {
  if (doc.schema.startsWith("relayout/report/")) {
    return doc.findings.slice(0, 3).slice(-1).map((finding) => `finding-${finding.rank}`);
  }
  return (doc.types || []).filter((type) => type.candidates?.length)
    .map((type) => `type-${type.name}-candidate-${Math.min(2, type.candidates.length)}`);
}
