// The contracts that jurat gets in the bench. JSON is a contract format of its own.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const VIEWPORTS = [{ name: "bench", width: 800, height: 600 }];

function write(folder, name, contract) {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(contract));
  return path;
}

/** One contract a flow: the same eight actions that the peers and the floor make, the picture included. */
export function notesContracts(folder, url, flows) {
  return Array.from({ length: flows }, (_, n) => {
    const note = `buy milk ${n}`;
    return write(folder, `notes-${n}`, {
      jurat: "contract/1",
      name: `a note survives a reload ${n}`,
      target: { url },
      viewports: VIEWPORTS,
      steps: [
        { navigate: "/" },
        { fill: { label: "New note", value: note } },
        { click: { role: "button", name: "Add" } },
        { expect: { visible: { text: note } } },
        { reload: {} },
        { expect: { visible: { text: note } } },
        { expect: { url_is: "/" } },
      ],
      capture: { screenshot: "always" },
    });
  });
}

/** Locators for row n of the page of many rows, by what they look at. */
export const LOCATORS = {
  role: (n) => ({ role: "button", name: `Open ${n}.` }),
  label: (n) => ({ label: `Amount ${n}.` }),
  text: (n) => ({ text: `Item ${n}.` }),
  placeholder: (n) => ({ placeholder: `Amount of ${n}.` }),
  testid: (n) => ({ testid: `row-${n}` }),
  css: (n) => ({ css: `#row-${n}` }),
};

/** Opens the page of many rows and asks `count` times for the presence of one row, each time another one. */
export function rowsContract(folder, url, rows, kind, count) {
  const step = Math.floor(rows / count);
  const steps = Array.from({ length: count }, (_, n) => ({ expect: { present: LOCATORS[kind](n * step + step - 1) } }));
  return write(folder, `rows-${kind}-${count}`, {
    jurat: "contract/1",
    name: `find ${count} of ${rows} rows by ${kind}`,
    target: { url },
    viewports: VIEWPORTS,
    steps: [{ navigate: `/rows?n=${rows}` }, ...steps],
    capture: { screenshot: "never" },
  });
}

/** Five steps, with pictures: what `recheck` is measured on. */
export function fiveSteps(folder, url) {
  return write(folder, "five-steps", {
    jurat: "contract/1",
    name: "five steps",
    target: { url },
    viewports: VIEWPORTS,
    steps: [
      { navigate: "/" },
      { fill: { label: "New note", value: "buy milk" } },
      { click: { role: "button", name: "Add" } },
      { reload: {} },
      { expect: { visible: { text: "buy milk" } } },
    ],
    capture: { screenshot: "always" },
  });
}
