// Measuring: wall time, processor time and peak memory of child processes. What counts is a ratio of medians, never a time.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Seconds of processor time of all children that ended and were waited for, in ticks of 10 ms. */
function childrenCpu() {
  const fields = readFileSync("/proc/self/stat", "utf8").replace(/^.*\) /s, "").split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** KiB, from the kernel's own high-water mark; 0 once the process is gone. */
function highWater(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/**
 * Runs a command to its end. `codes` are the exit codes that are no error.
 * `peak` also watches the memory of this one process (not of its children), every 2 ms.
 */
export async function timed(command, { env = process.env, codes = [0], peak = false } = {}) {
  const cpuBefore = childrenCpu();
  const begin = performance.now();
  const child = spawn(command[0], command.slice(1), { env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (output.stdout += chunk));
  child.stderr.on("data", (chunk) => (output.stderr += chunk));
  let kib = 0;
  const watch = peak ? setInterval(() => (kib = Math.max(kib, highWater(child.pid))), 2) : undefined;
  const closed = once(child, "close");
  const [code] = await once(child, "exit");
  const wall = (performance.now() - begin) / 1000;
  clearInterval(watch);
  await closed;
  if (!codes.includes(code)) {
    throw new Error(`${command.slice(0, 3).join(" ")} … ended with ${code}\n${(output.stderr + output.stdout).slice(-2000)}`);
  }
  return { wall, cpu: childrenCpu() - cpuBefore, kib, ...output };
}
