// Tests the pages in a folder, and prints a line for each page and each problem. Ends with 1 if there is a problem.
//
//     node run.mjs MODULES FOLDER SCREENSHOTS
//
// MODULES has the node_modules of package-lock.json. Screenshots are written to the folder SCREENSHOTS.
import { mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { accessibilityProblems } from "./accessibility.mjs";
import { launchBrowser, openFile, VIEWS } from "./chromium.mjs";
import { documentOfPage } from "./documents.mjs";
import { hostileNameProblems } from "./hostile.mjs";
import { controlProblems, findingListProblems } from "./keyboard.mjs";
import { deepLinkProblems } from "./links.mjs";
import { manyFindingsProblems } from "./many.mjs";
import { numberProblems } from "./numbers.mjs";
import { screenshotProblems } from "./screenshots.mjs";

/** Pages with more elements are only loaded and drawn: axe and Tab would take minutes. */
const CHECKED_ELEMENTS_MAX = 20_000;
const NARROW_WIDTH_MAX = 400;

const [modules, folder, screenshots] = process.argv.slice(2);
const problems = [];

/** Adds the problems of a page, or of a part of its test. */
function addProblems(where, found) {
  problems.push(...found.map((problem) => `${where}: ${problem}`));
}

async function testPage(browser, name) {
  const file = join(folder, name);
  const doc = documentOfPage(readFileSync(file, "utf8"));
  let elements = 0;
  for (const [viewName, view] of Object.entries(VIEWS)) {
    const opened = await openFile(browser, file, view);
    const { tab } = opened;
    elements = await tab.evaluate(() => document.querySelectorAll("*").length);
    if (viewName === "light") {
      console.log(`${name}: ${(statSync(file).size / 1e6).toFixed(2)} MB, ${elements} elements, open ${opened.openMs.toFixed(0)} ms`);
    }
    const where = `${name}, ${viewName}`;
    addProblems(where, await screenshotProblems(tab, join(screenshots, `${name.replace(/\.html$/, "")}-${viewName}.png`)));
    if (elements <= CHECKED_ELEMENTS_MAX) {
      if (view.media === "screen" && view.width > NARROW_WIDTH_MAX) addProblems(where, await accessibilityProblems(tab, modules));
      if (viewName === "light") addProblems(where, await useProblems(tab, doc));
    }
    addProblems(where, opened.problems);
    await tab.close();
    if (elements > CHECKED_ELEMENTS_MAX) break;
  }
  if (elements > CHECKED_ELEMENTS_MAX) console.log(`${name}: more than ${CHECKED_ELEMENTS_MAX} elements: only opened and drawn`);
  else if (doc) addProblems(name, await deepLinkProblems(browser, file, doc));
}

/** Returns problems of a page's controls, names and numbers. */
async function useProblems(tab, doc) {
  const found = await controlProblems(tab);
  if (!doc) return found;
  found.push(...await hostileNameProblems(tab, doc), ...await numberProblems(tab, doc));
  if (doc.schema.startsWith("relayout/report/")) found.push(...await findingListProblems(tab, doc));
  return found;
}

mkdirSync(screenshots, { recursive: true });
const browser = await launchBrowser(modules);
try {
  const names = readdirSync(folder).filter((name) => name.endsWith(".html")).sort();
  for (const name of names) await testPage(browser, name);
  const report = names.find((name) => name.endsWith("-report.html"));
  if (report) addProblems("many findings", await manyFindingsProblems(browser, join(folder, report), screenshots));
} finally {
  await browser.close();
}
for (const problem of problems) console.log(`PROBLEM ${problem}`);
process.exitCode = problems.length ? 1 : 0;
