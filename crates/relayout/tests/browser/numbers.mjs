// Numbers that a page shows, beside those of its document.
import { shownName } from "./hostile.mjs";

/** Findings whose details are compared: each needs the page to show it. */
const DETAILED_FINDINGS_MAX = 20;

/** Returns numbers of the page that differ from those of the document. */
export async function numberProblems(tab, doc) {
  if (doc.schema.startsWith("relayout/report/")) return reportProblems(tab, doc);
  if (doc.types?.[0]?.candidates) return adviceProblems(tab, doc);
  if (doc.given) return curveProblems(tab, [doc.given].flat());
  return [];
}

async function reportProblems(tab, doc) {
  const problems = [];
  const list = await readTable(tab, "findings");
  for (const finding of doc.findings) {
    const row = list.find((cells) => cells.Rank === String(finding.rank));
    problems.push(...compare(`finding ${finding.rank}`, row, { Transfers: finding.transfers, Upgrades: finding.upgrades }));
  }
  for (const finding of doc.findings.slice(0, DETAILED_FINDINGS_MAX)) {
    await tab.evaluate((hash) => { location.hash = hash; }, `#finding-${finding.rank}`);
    await tab.waitForSelector(`#finding-${finding.rank}`);
    const members = await readTable(tab, "members");
    for (const member of finding.members) {
      const row = members.find((cells) => cells.Member === shownName(member.name) && cells.Offset === String(member.offset));
      const uses = member.counted ? { Reads: member.reads, Writes: member.writes } : {};
      problems.push(...compare(`${member.name} of finding ${finding.rank}`, row, { ...uses, Transfers: member.transfers }));
    }
  }
  return problems;
}

async function adviceProblems(tab, doc) {
  const problems = [];
  for (const type of doc.types.filter(({ candidates }) => candidates?.length)) {
    const rows = await readTable(tab, `candidates of ${type.name}`);
    for (const [index, candidate] of type.candidates.entries()) {
      const where = `candidate ${index + 1} of ${type.name}`;
      const change = rows[index]?.["Change of transfers"] ?? "";
      const wanted = candidate.change_percent.value.toFixed(1);
      if (parseFloat(change) !== Number(wanted)) problems.push(`${where}: ${change} and not ${wanted}%`);
      const text = await tab.evaluate((id) => document.getElementById(id)?.parentElement.textContent ?? "",
        `type-${type.name}-candidate-${index + 1}`);
      const transfers = `to ${candidate.transfers.toLocaleString("en")},`;
      if (!text.includes(transfers)) problems.push(`${where}: its transfers are not shown: ${transfers}`);
    }
    problems.push(...await curveProblems(tab, type.candidates));
  }
  return problems;
}

async function curveProblems(tab, candidates) {
  const curves = candidates.map((candidate) => candidate.predicted_curve).filter(Boolean);
  const tables = await readTables(tab, "predicted gain");
  if (tables.length < curves.length) return [`${tables.length} of ${curves.length} curves have a table`];
  return curves.flatMap(({ curve }) => {
    const ratios = curve.map((point) => point.ratio?.toFixed(2) ?? "-").join(" ");
    const isShown = tables.some((rows) => rows.map((row) => row.Gain).join(" ") === ratios);
    return isShown ? [] : [`no table has the gains ${ratios}`];
  });
}

function compare(where, row, wanted) {
  if (!row) return [`${where} is not in its table`];
  return Object.entries(wanted).filter(([head, value]) => Number((row[head] ?? "").replaceAll(",", "")) !== value)
    .map(([head, value]) => `${where}: ${head} is ${row[head]} and not ${value}`);
}

async function readTable(tab, label) {
  return (await readTables(tab, label))[0] ?? [];
}

/** Returns the tables of this label: for each row, its cells by the words in the head. */
function readTables(tab, label) {
  return tab.evaluate((wanted) => {
    const regions = [...document.querySelectorAll("[role=region]")].filter((node) => node.ariaLabel === wanted);
    return regions.map((region) => {
      const heads = [...region.querySelectorAll("th")].map((head) => head.textContent.trim());
      return [...region.querySelectorAll("tbody tr")].map((row) =>
        Object.fromEntries([...row.cells].map((cell, index) => [heads[index], cell.textContent.trim()])));
    });
  }, label);
}
