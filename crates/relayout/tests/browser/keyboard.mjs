// Use of a page by keyboard alone.

const CONTROLS = "a[href], button, input, select, summary, [tabindex='0']";

/** Returns controls that Tab does not reach from the top of the page, and those whose focus is not visible. */
export async function controlProblems(tab) {
  const total = await tab.evaluate((selector) => {
    const controls = [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility());
    globalThis.missedControls = new Set(controls);
    globalThis.invisibleFocus = new Set();
    document.activeElement?.blur();
    getSelection().removeAllRanges();
    scrollTo(0, 0);
    addEventListener("focusin", ({ target }) => {
      missedControls.delete(target);
      const { outlineStyle, outlineWidth } = getComputedStyle(target);
      if (outlineStyle === "none" || parseFloat(outlineWidth) === 0) invisibleFocus.add(target);
    });
    return controls.length;
  }, CONTROLS);
  for (let pressed = 0; pressed <= total; pressed++) await tab.keyboard.press("Tab");
  const [missed, invisible] = await tab.evaluate(() => [missedControls, invisibleFocus]
    .map((nodes) => [...nodes].map((node) => node.outerHTML.slice(0, 120))));
  return [
    ...missed.map((html) => `Tab does not reach ${html}`),
    ...invisible.map((html) => `the focus is not visible on ${html}`),
  ];
}

/** Sorts, filters and opens findings of a report, and returns what does not work. */
export async function findingListProblems(tab, doc) {
  const problems = [];
  const expect = (isTrue, problem) => { if (!isTrue) problems.push(problem); };
  const ranks = () => tab.$$eval("tr[data-rank]", (rows) => rows.map((row) => Number(row.dataset.rank)));
  const shown = await ranks();
  expect(shown.length === doc.findings.length, `${shown.length} of ${doc.findings.length} findings are listed`);

  await focusHead(tab, "Transfers");
  for (const [order, sign] of [["descending", -1], ["ascending", 1]]) {
    await tab.keyboard.press("Enter");
    const transfers = new Map(doc.findings.map((finding) => [finding.rank, finding.transfers]));
    const values = (await ranks()).map((rank) => sign * transfers.get(rank));
    expect(values.every((value, index) => index === 0 || values[index - 1] <= value), `the list is not ${order} by transfers`);
    const sorted = await tab.$$eval("th", (heads) => heads.find((head) => head.textContent.startsWith("Transfers")).ariaSort);
    expect(sorted === order, `aria-sort is ${sorted} and not ${order}`);
  }

  await tab.focus("input[type=search]");
  await tab.keyboard.type("no such name");
  expect((await ranks()).length === 0, "a search for no such name lists findings");
  await tab.keyboard.down("Control");
  await tab.keyboard.press("a");
  await tab.keyboard.up("Control");
  await tab.keyboard.press("Backspace");
  expect((await ranks()).length === shown.length, "an empty search lists not all findings");

  const kind = doc.findings.at(-1).kind;
  await tab.focus("select");
  await tab.keyboard.type(kind);
  const listed = doc.findings.filter((finding) => finding.kind === kind);
  expect((await ranks()).length === listed.length, `the kind ${kind} does not list its ${listed.length} findings`);

  const { rank } = listed.at(-1);
  await tab.focus(`tr[data-rank="${rank}"] a`);
  await tab.keyboard.press("Enter");
  expect(await isPresent(tab, `#finding-${rank}`), `Enter on finding ${rank} does not show it`);
  return problems;
}

async function focusHead(tab, words) {
  await tab.evaluate((text) => {
    const buttons = [...document.querySelectorAll("th button")];
    buttons.find((button) => button.textContent.trim().startsWith(text)).focus();
  }, words);
}

/** Waits for an element, and returns false if it does not appear. */
export async function isPresent(tab, selector) {
  try {
    await tab.waitForSelector(selector, { timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}
