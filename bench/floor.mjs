// The raw floor: the flow of the race over a DevTools pipe, with nothing around it. No tool can be faster by more than luck.
//
//   node floor.mjs BROWSER URL OUT [FLOWS] [AT-ONCE]
//
// Prints one JSON line: milliseconds for launch, flows and close.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BROWSER_FLAGS } from "./lib/browser.mjs";

const [browser, url, out, flows = "1", atOnce = "1"] = process.argv.slice(2);

/** One browser process and the calls that wait for its answers. */
class Pipe {
  #last = 0;
  #rest = "";
  #calls = new Map();
  #waits = [];

  constructor(child) {
    this.child = child;
    const [, , , write, read] = child.stdio;
    this.write = write;
    read.setEncoding("utf8").on("data", (text) => {
      const messages = (this.#rest + text).split("\0");
      this.#rest = messages.pop();
      messages.forEach((message) => this.#take(JSON.parse(message)));
    });
  }

  #take(message) {
    if (message.id !== undefined) {
      const { resolve, reject } = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
      return;
    }
    const at = this.#waits.findIndex((wait) => wait.session === message.sessionId && wait.method === message.method);
    if (at >= 0) this.#waits.splice(at, 1)[0].resolve(message.params);
  }

  call(method, params, sessionId) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.write.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  next(method, session) {
    return new Promise((resolve) => this.#waits.push({ method, session, resolve }));
  }
}

/** The eight actions: open, fill, click, see, reload, see, address, picture. */
async function flow(pipe, n) {
  const note = `buy milk ${n}`;
  const { browserContextId } = await pipe.call("Target.createBrowserContext");
  const { targetId } = await pipe.call("Target.createTarget", { url: "about:blank", browserContextId });
  const { sessionId } = await pipe.call("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params = {}) => pipe.call(method, params, sessionId);
  const read = async (expression) => (await call("Runtime.evaluate", { expression, returnByValue: true })).result.value;
  const see = async () => {
    const text = await read("document.body.innerText");
    if (!text.includes(note)) throw new Error(`the page does not show "${note}"`);
  };
  const load = async (method, params) => {
    const loaded = pipe.next("Page.loadEventFired", sessionId);
    await call(method, params);
    await loaded;
  };

  await Promise.all(["Page", "Runtime", "Network"].map((domain) => call(`${domain}.enable`)));
  await load("Page.navigate", { url });
  await read("document.querySelector('input').focus()");
  await call("Input.insertText", { text: note });
  const at = await read("(({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(document.querySelector('button').getBoundingClientRect())");
  await call("Input.dispatchMouseEvent", { type: "mouseMoved", ...at });
  await call("Input.dispatchMouseEvent", { type: "mousePressed", button: "left", clickCount: 1, ...at });
  await call("Input.dispatchMouseEvent", { type: "mouseReleased", button: "left", clickCount: 1, ...at });
  await see();
  await load("Page.reload");
  await see();
  const address = await read("location.href");
  if (address !== url) throw new Error(`the page is at ${address}`);
  const { data } = await call("Page.captureScreenshot", { format: "png" });
  await writeFile(join(out, `floor-${n}.png`), data, "base64");
  await pipe.call("Target.disposeBrowserContext", { browserContextId });
}

const profile = await mkdtemp(join(tmpdir(), "floor-"));
const begin = performance.now();
const child = spawn(
  browser,
  ["--headless", "--window-size=800,600", ...BROWSER_FLAGS, `--user-data-dir=${profile}`, "--remote-debugging-pipe"],
  { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
);
const gone = once(child, "exit");
try {
  const pipe = new Pipe(child);
  await pipe.call("Browser.getVersion");
  const ready = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < Number(flows)) await flow(pipe, next++);
  };
  await Promise.all(Array.from({ length: Number(atOnce) }, lane));
  const done = performance.now();
  pipe.call("Browser.close").catch(() => {}); // it may be gone before it answers
  await gone;
  console.log(JSON.stringify({ launch: ready - begin, flows: done - ready, close: performance.now() - done }));
} finally {
  child.kill("SIGKILL");
  await rm(profile, { recursive: true, force: true });
}
