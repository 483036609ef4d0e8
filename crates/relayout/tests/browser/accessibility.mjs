// Violations of accessibility rules, by axe-core.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FAILING_IMPACTS = ["serious", "critical"];

/** Returns the serious violations in a tab. The debugger runs axe, so the page's policy stays as it is. */
export async function accessibilityProblems(tab, modules) {
  await tab.evaluate(readFileSync(join(modules, "node_modules/axe-core/axe.min.js"), "utf8"));
  const { violations } = await tab.evaluate(() => axe.run(document, { preload: false, resultTypes: ["violations"] }));
  return violations.filter(({ impact }) => FAILING_IMPACTS.includes(impact)).map(({ id, help, nodes }) => {
    const details = nodes[0].any.concat(nodes[0].all, nodes[0].none).map(({ message }) => message).join("; ");
    return `axe ${id}: ${help}, at ${nodes.length} places, first ${nodes[0].html.slice(0, 200)}: ${details}`;
  });
}
