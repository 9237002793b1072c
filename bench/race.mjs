// The race: one flow, one browser binary, one loopback page, every tool in turn, round after round, so that a slow moment of
// the machine hits all of them.
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { BROWSER_FLAGS } from "./lib/browser.mjs";
import { notesContracts } from "./lib/contracts.mjs";
import { median, timed } from "./lib/measure.mjs";

const here = import.meta.dirname;
const modules = join(here, "peers/node_modules");

/** Their browser is a child of a daemon, so its processor time is not seen from here. */
const OUT_OF_SIGHT = new Set(["agent-browser"]);

/** The command of each tool that can run here. */
function commands({ jurat, browser, url, flows, jobs, work }) {
  const floor = (atOnce) => [process.execPath, join(here, "floor.mjs"), browser, url, work, String(flows), String(atOnce)];
  const tools = { floor: floor(1) };
  if (jobs > 1) tools["floor-two"] = floor(2);
  if (jurat) {
    tools.jurat = [jurat, "verify", "--browser", browser, "--evidence-root", join(work, "evidence"),
      ...(flows > 1 ? ["--jobs", String(jobs)] : []), ...notesContracts(work, url, flows)];
  }
  if (existsSync(modules)) {
    tools.playwright = [process.execPath, join(modules, "@playwright/test/cli.js"), "test", "--config", join(here, "peers/playwright/playwright.config.cjs")];
    // It has no way to run several flows at once but to be started several times, so it has no row there.
    if (jobs === 1) {
      // Its own binary, without the Node script in front: its best case. The archive lacks the executable bit.
      const tool = join(modules, "agent-browser/bin", `agent-browser-${process.platform}-${process.arch}`);
      chmodSync(tool, 0o755);
      tools["agent-browser"] = ["bash", join(here, "peers/agent-browser.sh"), tool, browser, url, work, String(flows)];
    }
  }
  return tools;
}

/** Rows of medians, the floor first; the first round only warms the page cache and is not counted. */
export async function race({ only, rounds, ...setting }) {
  const { browser, url, flows, jobs, work } = setting;
  const env = {
    ...process.env,
    BENCH_BROWSER: browser, BENCH_FLAGS: BROWSER_FLAGS.join(","), BENCH_URL: url, BENCH_FLOWS: String(flows), BENCH_JOBS: String(jobs),
    BENCH_OUT: join(work, "playwright"),
  };
  const tools = Object.entries(commands(setting)).filter(([name]) => name === "floor" || !only || only.includes(name));
  const walls = new Map(tools.map(([name]) => [name, []]));
  const cpus = new Map(tools.map(([name]) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, command] of tools) {
      const { wall, cpu } = await timed(command, { env });
      if (round === 0) continue;
      walls.get(name).push(wall);
      cpus.get(name).push(cpu);
    }
  }
  const floor = median(walls.get("floor"));
  return tools.map(([name]) => {
    const all = walls.get(name);
    return { name, wall: median(all), least: Math.min(...all), most: Math.max(...all), cpu: OUT_OF_SIGHT.has(name) ? undefined : median(cpus.get(name)), ratio: median(all) / floor };
  });
}
