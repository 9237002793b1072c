// The browser binary that all tools of the bench drive, and the flags that its peers get.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The peers work without confinement: that is their best case. */
export const BROWSER_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const runs = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** The binary itself, never a wrapper script, so that every tool starts the same process. */
export function findBrowser() {
  const names = ["chromium-headless-shell", "chromium", "google-chrome"];
  const folders = ["/usr/lib/chromium", "/opt/google/chrome", ...(process.env.PATH ?? "").split(delimiter)];
  const candidates = [process.env.JURAT_BROWSER, ...names.flatMap((name) => folders.map((folder) => join(folder, name)))];
  const found = candidates.find((path) => path && runs(path));
  if (!found) throw new Error("no Chromium found: run ./x setup, or set JURAT_BROWSER");
  return found;
}
