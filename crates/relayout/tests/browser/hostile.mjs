// Names in documents that are markup, or that control terminals and the direction of text.

/** Characters of control, and those that hide or reorder text. */
const ACTIVE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/;

/** Returns a name as a page shows it. */
export function shownName(name) {
  return name.replace(new RegExp(ACTIVE, "g"), (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

/** Returns what names of the document did to the page. Their scripts, requests and dialogs are problems of the tab. */
export async function hostileNameProblems(tab, doc) {
  const problems = [];
  const { text, made, scripts } = await tab.evaluate(() => ({
    text: document.getElementById("page").textContent,
    made: [...document.querySelectorAll("img, iframe, object, embed, link")].map((node) => node.outerHTML),
    scripts: document.scripts.length,
  }));
  problems.push(...made.map((markup) => `an element came from a name: ${markup}`));
  if (scripts !== 2) problems.push(`the page has ${scripts} scripts and not 2`);
  const active = text.match(ACTIVE);
  if (active) problems.push(`the text has U+${active[0].codePointAt(0).toString(16)}`);
  const isMarkup = JSON.stringify(doc).includes("<img");
  if (isMarkup && !text.includes("<img")) problems.push("a name with markup is not shown");
  return problems;
}
