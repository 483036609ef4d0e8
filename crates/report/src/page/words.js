// Words of the field: explained where they are used, by pointing at them or by focus, and all of them at the end of the page.

const WORDS = {
  transfer: "A cache line moves from one CPU's cache to another's, because a CPU reads or writes what another CPU has written. It costs about as much as a hundred instructions.",
  upgrade: "A CPU writes to a line that it has read before, and must first take the line away from all others that have it.",
  "false sharing": "CPUs use different members that lie on one line. Each store of one takes the line from the others, though they need nothing of what was stored.",
  "true sharing": "CPUs use what other CPUs stored: most transfers bring data that is needed. Storing less often helps, or a copy for each CPU; `relayout advise` searches layouts that save a part.",
  "false for the whole stay": "From the time that a CPU got the line until it lost it, it used nothing of what the other CPU had stored: the transfer was for nothing.",
  "cache line": "The unit in which caches hold and exchange memory, mostly 64 bytes. Offsets are counted from the first byte of the object; objects that do not begin on a line have lines at negative offsets.",
  context: "The owner of a cache: a CPU in a recording of a kernel, a thread in a recording of a program.",
  writer: "A CPU or thread that stored to the member.",
  saving: "Transfers that the best layout found would avoid, by replaying the recording. `relayout advise` has the layouts.",
  replay: "The recorded accesses are run again over another layout, and their transfers are counted. No hardware is involved.",
  predicted: "Computed by a model of a machine. Nothing of it was measured; `relayout verify` measures.",
  interval: "Where the value lies with a probability of 95%, by resampling the recording or by what the model does not know.",
  edit: "A member that is moved, or an attribute that is added, such as an alignment.",
  caused: "Transfers of other CPUs that followed a store by this instruction.",
  confidence: "How sure the type of the memory is: it is elected by the code that accesses it, where nothing names it.",
  padding: "Bytes that belong to no member.",
};

function wordId(key) {
  return `word-${key.replaceAll(" ", "-")}`;
}

// The meaning of a kind of finding, of which the page has the table. `noun` is CPU or thread.
function kindWords(kind, noun) {
  const words = (KINDS[kind] || "").replaceAll("CPUs or threads", `${noun}s`).replaceAll("CPU or thread", noun);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// A word with its explanation. The link leads to the list of words.
function word(key, words = key) {
  return el("a", { class: "word", href: `#${wordId(key)}`, "data-words": WORDS[key] }, words);
}

function wordList() {
  const items = Object.entries(WORDS).map(([key, words]) => el("div", {}, el("dt", { id: wordId(key), tabindex: -1 }, key), el("dd", {}, prose(words))));
  return el("section", { class: "words" }, el("h2", {}, "Words"), el("dl", {}, items));
}

// Shows the explanation of what is pointed at or has the focus.
function explainWords() {
  const tip = el("div", { id: "tip", role: "tooltip", hidden: true });
  const show = ({ target }) => {
    const words = target.closest?.("[data-words]");
    tip.hidden = !words;
    if (!words) return;
    tip.replaceChildren(document.createTextNode(words.getAttribute("data-words")));
    words.setAttribute("aria-describedby", "tip");
    const { left, bottom } = words.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(left, innerWidth - 330))}px`;
    tip.style.top = `${bottom + 4}px`;
  };
  const hide = () => { tip.hidden = true; };
  addEventListener("mouseover", show);
  addEventListener("focusin", show);
  addEventListener("scroll", hide, true);
  addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
  return tip;
}
