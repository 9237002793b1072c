// Figures of jurat alone: a locator on a long page, own peak memory, the size of the binary, recheck against sha256sum.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fiveSteps, LOCATORS, notesContracts, rowsContract } from "./lib/contracts.mjs";
import { median, timed } from "./lib/measure.mjs";

const ROWS = 10_000;
const FIND = 20;

const verify = ({ jurat, browser, work }, ...rest) =>
  [jurat, "verify", "--browser", browser, "--evidence-root", join(work, "evidence"), ...rest];

/**
 * Milliseconds for one locator of each kind on a page of 10,000 rows, from outside: the same contract with 21 and with 1
 * expectations, and the difference of their medians divided by 20. What a step costs besides its locator is in it.
 * Once the bundle's events say when a locator was asked and answered, read it there and keep this as the check on it.
 */
export async function locator(setting) {
  const medians = async (path) => {
    const walls = [];
    for (let round = 0; round <= setting.rounds; round++) walls.push((await timed(verify(setting, path))).wall);
    return median(walls.slice(1));
  };
  const rows = [];
  for (const kind of Object.keys(LOCATORS)) {
    const one = await medians(rowsContract(setting.work, setting.url, ROWS, kind, 1));
    const many = await medians(rowsContract(setting.work, setting.url, ROWS, kind, FIND + 1));
    rows.push({ name: `locator by ${kind}, ${ROWS} rows`, value: ((many - one) * 1000) / FIND, unit: "ms", bound: 50 });
  }
  return rows;
}

/** The high-water mark of the jurat process over the suite of 20 flows; the browser is not counted. */
export async function memory(setting) {
  const paths = notesContracts(setting.work, setting.url, 20);
  const rows = [];
  for (const jobs of [1, 2]) {
    const { kib } = await timed(verify(setting, "--jobs", String(jobs), ...paths), { peak: true });
    rows.push({ name: `own peak memory, 20 flows, ${jobs === 1 ? "one job" : "two jobs"}`, value: (kib * 1024) / 1e6, unit: "MB", bound: 30 });
  }
  return rows;
}

export function size({ jurat }) {
  return [{ name: "release binary", value: statSync(jurat).size / 1e6, unit: "MB", bound: 15 }];
}

/** Recheck of a bundle of five steps; the bound is twice sha256sum of the same files, plus the start of a jurat process. */
export async function recheck(setting) {
  const { stdout } = await timed(verify(setting, "--json", fiveSteps(setting.work, setting.url)));
  const { bundle } = JSON.parse(stdout).runs[0];
  const files = readdirSync(bundle, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const commands = {
    start: [setting.jurat, "--version"],
    recheck: [setting.jurat, "recheck", bundle],
    sum: ["sha256sum", ...files],
  };
  const walls = { start: [], recheck: [], sum: [] };
  for (let round = 0; round <= setting.rounds * 5; round++) {
    for (const [name, command] of Object.entries(commands)) {
      const { wall } = await timed(command);
      if (round > 0) walls[name].push(wall * 1000);
    }
  }
  const [start, own, sum] = ["start", "recheck", "sum"].map((name) => median(walls[name]));
  return [{ name: "recheck of five steps", value: own, unit: "ms", bound: 2 * sum + start }];
}
