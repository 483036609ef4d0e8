// Chromium without a window, and pages in it that may load nothing but their own file.
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";

/** A page may take so long until it is shown, on a busy machine too. */
const OPEN_MS_MAX = 120_000;

/** Ways to look at a page. */
export const VIEWS = {
  light: { scheme: "light", media: "screen", width: 1280 },
  dark: { scheme: "dark", media: "screen", width: 1280 },
  narrow: { scheme: "light", media: "screen", width: 390 },
  print: { scheme: "light", media: "print", width: 1280 },
};

/** Starts Chromium with the packages of npm in the folder `modules`. */
export async function launchBrowser(modules) {
  const require = createRequire(join(modules, "package.json"));
  const puppeteer = require("puppeteer-core");
  // Chromium's sandbox refuses root, who runs tests in containers.
  const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return puppeteer.launch({
    executablePath: findProgram("chromium"),
    args: [...sandbox, "--disable-dev-shm-usage", "--disable-gpu"],
    protocolTimeout: OPEN_MS_MAX,
  });
}

function findProgram(name) {
  for (const folder of process.env.PATH.split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // The next folder may have the program.
    }
  }
  throw new Error(`no program ${name}: run scripts/setup.sh --tests`);
}

/**
 * Opens `file` in a tab. The tab's `problems` are requests for anything but the file, errors on the console, and
 * violations of the page's policy. Its `openMs` is the time until the page is loaded and drawn.
 */
export async function openFile(browser, file, view = VIEWS.light, hash = "") {
  const tab = await browser.newPage();
  const problems = watchForProblems(tab, file);
  await tab.setViewport({ width: view.width, height: 900 });
  await tab.emulateMediaType(view.media);
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: view.scheme }]);
  await tab.setRequestInterception(true);
  const begin = performance.now();
  await tab.goto(pathToFileURL(file).href + hash, { waitUntil: "load", timeout: OPEN_MS_MAX });
  await tab.waitForFunction(() => document.querySelector("h1"),
    { timeout: OPEN_MS_MAX });
  await tab.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))));
  return { tab, problems, openMs: performance.now() - begin };
}

function watchForProblems(tab, file) {
  const problems = [];
  const own = pathToFileURL(file).href;
  tab.on("request", (request) => {
    if (request.url().split("#")[0] === own) {
      request.continue();
    } else {
      problems.push(`a request for ${request.url().slice(0, 200)}`);
      request.abort();
    }
  });
  tab.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) problems.push(`on the console: ${message.text()}`);
  });
  tab.on("pageerror", (error) => problems.push(`an error of a script: ${error.message}`));
  tab.on("dialog", (dialog) => {
    problems.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return problems;
}
