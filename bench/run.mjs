#!/usr/bin/env node
// The bench of jurat. Prints Markdown tables, the ones of docs/benchmarks.md; with --check it ends with 1 when a bound is broken.
//
//   node run.mjs [WHAT…] [--jurat PATH] [--browser PATH] [--rounds 7] [--only floor,jurat,…] [--json FILE] [--check]
//
// WHAT: one-flow, suite, suite-two, locator, memory, size, recheck; all of them when none is named.
// Without --jurat only the rows of the others are raced. The peers are there after `npm ci --prefix peers --ignore-scripts`.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { locator, memory, recheck, size } from "./figures.mjs";
import { findBrowser } from "./lib/browser.mjs";
import { serve } from "./lib/pages.mjs";
import { race } from "./race.mjs";

const RACES = {
  "one-flow": { title: "One flow, cold", flows: 1, jobs: 1, bound: 1.3 },
  suite: { title: "20 flows, one at a time", flows: 20, jobs: 1, bound: 1.1 },
  "suite-two": { title: "20 flows, two at a time", flows: 20, jobs: 2, bound: 0.8 },
};
const FIGURES = { locator, memory, size, recheck };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jurat: { type: "string" }, browser: { type: "string" }, rounds: { type: "string", default: "7" }, only: { type: "string" },
    json: { type: "string" }, check: { type: "boolean", default: false },
  },
});
const wanted = positionals.length > 0 ? positionals : [...Object.keys(RACES), ...Object.keys(FIGURES)];
const unknown = wanted.filter((name) => !(name in RACES) && !(name in FIGURES));
if (unknown.length > 0) {
  console.error(`run.mjs: ${unknown.join(", ")}: not one of ${[...Object.keys(RACES), ...Object.keys(FIGURES)].join(", ")}`);
  process.exit(3);
}

const browser = values.browser ?? findBrowser();
const work = mkdtempSync(join(tmpdir(), "jurat-bench-"));
const site = await serve();
const setting = { jurat: values.jurat, browser, url: site.url, work, rounds: Number(values.rounds), only: values.only?.split(",") };
const results = { browser: version(browser), cores: cpus().length, rounds: setting.rounds };
const broken = [];

try {
  console.log(`${results.browser}, ${results.cores} cores, medians of ${setting.rounds} rounds\n`);
  for (const name of wanted) {
    if (name in RACES) {
      results[name] = await race({ ...setting, ...RACES[name] });
      printRace(RACES[name], results[name]);
    } else if (setting.jurat) {
      results[name] = await FIGURES[name](setting);
      printFigures(results[name]);
    }
  }
} finally {
  site.close();
  rmSync(work, { recursive: true, force: true });
}
if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
broken.forEach((line) => console.error(`over its bound: ${line}`));
process.exitCode = values.check && broken.length > 0 ? 1 : 0;

function version(path) {
  return execFileSync(path, ["--version", "--no-sandbox"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

function printRace({ title, bound }, rows) {
  console.log(`### ${title}\n\n| tool | × floor | median | range | processor |\n|---|---|---|---|---|`);
  for (const row of rows) {
    const range = `${row.least.toFixed(2)} to ${row.most.toFixed(2)} s`;
    console.log(`| ${row.name} | ${row.ratio.toFixed(2)} | ${row.wall.toFixed(3)} s | ${range} | ${row.cpu === undefined ? "not seen" : `${row.cpu.toFixed(2)} s`} |`);
    if (row.name === "jurat" && row.ratio > bound) broken.push(`${title}: ${row.ratio.toFixed(2)} x floor, at most ${bound}`);
  }
  console.log();
}

function printFigures(rows) {
  console.log("| figure | measured | bound |\n|---|---|---|");
  for (const { name, value, unit, bound } of rows) {
    console.log(`| ${name} | ${value.toFixed(1)} ${unit} | ${bound.toFixed(1)} ${unit} |`);
    if (value > bound) broken.push(`${name}: ${value.toFixed(1)} ${unit}, at most ${bound.toFixed(1)}`);
  }
  console.log();
}
