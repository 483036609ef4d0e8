// Times of reports with many findings, made by repeating those of a report.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { openFile } from "./chromium.mjs";
import { documentOfPage, replaceDocument } from "./documents.mjs";

const FINDING_COUNTS = [300, 10_000];
/** Instructions, and pairs, of findings that are repeated: late findings of a recording have 4 at the median. */
const SITES_MAX = 10;
/** Sorting and filtering may take so long until the list is drawn. */
const ACTION_MS_MAX = 1000;
/** The quickest of so many counts, because other programs use the machine as well. */
const ATTEMPTS = 4;

/** Writes large pages beside the screenshots, prints their sizes and times, and returns what is too slow. */
export async function manyFindingsProblems(browser, report, folder) {
  const problems = [];
  for (const count of FINDING_COUNTS) {
    const file = join(folder, `findings-${count}.html`);
    const page = repeatFindings(readFileSync(report, "utf8"), count);
    writeFileSync(file, page);
    const opened = await openFile(browser, file);
    const { tab } = opened;
    await tab.waitForSelector("#finding-1");
    const sortMs = await quickestMs(tab, () => {
      [...document.querySelectorAll("th button")].find((head) => head.textContent.startsWith("Transfers")).click();
    });
    const filterMs = await quickestMs(tab, () => {
      const input = document.querySelector("input[type=search]");
      input.value = input.value ? "" : "no such name";
      input.dispatchEvent(new Event("input"));
    });
    const times = { sorting: sortMs, filtering: filterMs };
    for (const [action, ms] of Object.entries(times)) {
      if (ms > ACTION_MS_MAX) problems.push(`${action} ${count} findings takes ${ms.toFixed(0)} ms`);
    }
    const size = (page.length / 1e6).toFixed(1);
    console.log(`${count} findings: ${size} MB, open ${opened.openMs.toFixed(0)} ms, ` +
      `sort ${sortMs.toFixed(0)} ms, filter ${filterMs.toFixed(0)} ms`);
    problems.push(...opened.problems);
    await tab.close();
  }
  return problems;
}

function repeatFindings(page, count) {
  const doc = documentOfPage(page);
  const own = doc.findings;
  const repeated = own.map((finding) => ({ ...finding, sites: finding.sites.slice(0, SITES_MAX), pairs: finding.pairs.slice(0, SITES_MAX) }));
  doc.findings = Array.from({ length: count }, (_, index) => ({ ...(own[index] ?? repeated[index % own.length]), rank: index + 1 }));
  doc.findings_total = count;
  return replaceDocument(page, doc);
}

/** Returns the shortest time from an action in the page to the next drawing, in milliseconds. */
async function quickestMs(tab, action) {
  const times = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await tab.evaluate(() => { globalThis.actionBegin = performance.now(); });
    await tab.evaluate(action);
    times.push(await tab.evaluate(() => new Promise((drawn) => {
      requestAnimationFrame(() => setTimeout(() => drawn(performance.now() - actionBegin)));
    })));
  }
  return Math.min(...times);
}
