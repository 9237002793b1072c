// The part of the isolated world's script that actions use: it watches where input arrives, and does what no input event can
// (choosing options, setting dates). It runs before the page's own scripts, with prototypes that the page cannot reach.
(() => {
  "use strict";
  if (globalThis.juratAct) return;

  const PRESS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];
  const MOVE = ["pointermove", "mousemove", "pointerover", "mouseover"];
  const DROP = ["pointerup", "mouseup", "drop"];
  const DRAG = ["dragstart"];
  const ALL = [...new Set([...PRESS, ...MOVE, ...DROP, ...DRAG])];

  let armed = null;
  let dragged = false;

  // ---- where things are ----------------------------------------------------------------------------------------------

  const up = (node) => (node instanceof ShadowRoot ? node.host : node.parentNode);

  const holds = (element, node) => {
    for (let at = node; at; at = up(at)) if (at === element) return true;
    return false;
  };

  const step = (element) => {
    let text = element.localName ?? "?";
    if (element.id) text += `#${element.id}`;
    else if (element.classList?.length) text += `.${[...element.classList].slice(0, 2).join(".")}`;
    return text.slice(0, 60);
  };

  const path = (element) => {
    const steps = [];
    for (let at = element; at && steps.length < 3; at = up(at)) {
      if (at.nodeType !== Node.ELEMENT_NODE) continue;
      steps.unshift(step(at));
      if (at.id) break;
    }
    return steps.join(" > ");
  };

  // What a press on an element may land on: for something within a button or link, all of that.
  const scope = (element) => {
    if (element.matches("input, textarea, select")) return element;
    return element.closest("button, [role=button], a[href], [role=link]") ?? element;
  };

  // What is hit within closed roots, which hide themselves from an event's path.
  const deepest = (event, element) => {
    let hit = event.composedPath()[0];
    const roots = [];
    for (let root = element?.getRootNode(); root instanceof ShadowRoot; root = root.host.getRootNode()) roots.unshift(root);
    for (const root of roots) {
      if (root.mode === "closed" && root.host === hit) hit = root.elementFromPoint(event.clientX, event.clientY) ?? hit;
    }
    return hit;
  };

  const isOwn = (element, hit) => {
    if (!element || !(hit instanceof Node)) return false;
    if (holds(scope(element), hit)) return true;
    for (let at = hit; at; at = up(at)) if (at instanceof HTMLLabelElement && at.control === element) return true;
    return false;
  };

  // ---- watching input ------------------------------------------------------------------------------------------------

  const say = (report) => {
    try {
      globalThis.juratReport(JSON.stringify(report));
    } catch {
      // The binding is not there: what was seen is asked for.
    }
  };

  const watch = (event) => {
    if (!event.isTrusted) return;
    if (event.type === "dragstart") {
      // Looked at after the page has had its say.
      setTimeout(() => { dragged = !event.defaultPrevented; });
      dragged = true;
      return;
    }
    if (!armed || !armed.kinds.includes(event.type)) return;
    if (event.type === "click" && event.detail === 0) return;
    if (!armed.report) {
      const hit = deepest(event, armed.element);
      const own = isOwn(armed.element, hit);
      armed.report = { token: armed.token, own, other: own ? null : path(hit) };
      say(armed.report);
    }
    if (!armed.report.own && armed.block) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };

  const listen = () => {
    for (const type of ALL) globalThis.addEventListener(type, watch, { capture: true, passive: false });
  };
  listen();

  // From now on, the first event of the kind tells whether it arrived in `element`; `null` stands for a frame whose content is meant.
  const arm = (token, kind, element) => {
    listen(); // document.open() takes listeners away
    const kinds = { press: PRESS, move: MOVE, drop: DROP }[kind];
    armed = { token, kinds, element, block: kind === "press", report: null };
    if (kind === "press") dragged = false;
    return element ? element.isConnected : true;
  };

  const disarm = (token) => {
    if (armed?.token !== token) return null;
    const { report } = armed;
    armed = null;
    return report;
  };

  // What is at a point: for input that arrived nowhere that was watched.
  const hit = (x, y, element) => {
    let top = document.elementFromPoint(x / 100, y / 100);
    for (let root = element.getRootNode(); top && root instanceof ShadowRoot; root = root.host.getRootNode()) {
      if (holds(root.host, top) || root.host === top) top = root.elementFromPoint(x / 100, y / 100) ?? top;
    }
    const own = isOwn(element, top);
    return { own, other: own || !top ? null : path(top) };
  };

  const drags = () => new Promise((resolve) => { setTimeout(() => resolve(dragged)); });

  // The middle of what is shown of an element, in hundredths of a CSS pixel of the frame's viewport.
  const reveal = (element) => {
    if (!element.isConnected) return null;
    element.scrollIntoViewIfNeeded(true);
    const wide = document.documentElement.clientWidth || innerWidth;
    const high = document.documentElement.clientHeight || innerHeight;
    for (const rect of element.getClientRects()) {
      const left = Math.max(rect.left, 0), right = Math.min(rect.right, wide);
      const top = Math.max(rect.top, 0), bottom = Math.min(rect.bottom, high);
      if (right - left > 0 && bottom - top > 0) {
        return [Math.round((left + right) * 50), Math.round((top + bottom) * 50)];
      }
    }
    return null;
  };

  // ---- values --------------------------------------------------------------------------------------------------------

  const TEXTUAL = ["text", "search", "url", "tel", "email", "password", "number"];
  const SETTABLE = ["date", "time", "datetime-local", "month", "week", "color", "range"];
  const LIMIT = 65536;

  const control = (element) => (element instanceof HTMLLabelElement && element.control ? element.control : element);
  const disabled = (element) => element.matches(":disabled") || element.getAttribute("aria-disabled") === "true";

  const chosen = (select) => [...select.selectedOptions].map((option) => option.value).join("\n");

  const value = (given) => {
    const element = control(given);
    if (element instanceof HTMLSelectElement) return chosen(element).slice(0, LIMIT);
    if (element instanceof HTMLInputElement && element.type === "file") return [...element.files].map((f) => f.name).join("\n");
    if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) return element.value.slice(0, LIMIT);
    if (element.isContentEditable) return element.innerText.slice(0, LIMIT);
    return null;
  };

  const tell = (element) => {
    element.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
  };

  const focus = (given) => {
    const element = control(given);
    if (!element.isConnected) return "gone";
    element.focus({ preventScroll: true });
    return "ok";
  };

  const editing = (element) => {
    if (element instanceof HTMLInputElement) return TEXTUAL.includes(element.type) ? "text" : SETTABLE.includes(element.type) ? "set" : "no";
    if (element instanceof HTMLTextAreaElement) return "text";
    return element.isContentEditable ? "rich" : "no";
  };

  const locked = (element) => disabled(element) || element.readOnly === true || element.getAttribute("aria-readonly") === "true";

  // Makes ready for text to be inserted in place of what is there; sets at once what takes no text.
  const fill = (given, text) => {
    const element = control(given);
    if (!element.isConnected) return { how: "gone" };
    const how = editing(element);
    if (how === "no" || locked(element)) return { how: "no" };
    const before = value(element);
    if (how === "set") {
      const wanted = element.type === "color" ? text.toLowerCase() : text;
      element.focus({ preventScroll: true });
      element.value = wanted;
      const same = element.type === "range" ? Number(element.value) === Number(wanted) : element.value === wanted;
      if (!same) {
        element.value = before;
        return { how: "bad", before };
      }
      tell(element);
      return { how, before, after: value(element) };
    }
    if (element.type === "number" && text !== "" && Number.isNaN(Number(text))) return { how: "bad", before };
    element.focus({ preventScroll: true });
    if (how === "text") element.select();
    else getSelection().selectAllChildren(element);
    return { how, before };
  };

  // Makes ready for keys.
  const typing = (given) => {
    const element = control(given);
    if (!element.isConnected) return { how: "gone" };
    const how = editing(element);
    if (how === "no" || locked(element)) return { how: "no" };
    const root = element.getRootNode();
    if (root.activeElement !== element) element.focus({ preventScroll: true });
    return { how, before: value(element) };
  };

  // ---- boxes and lists -----------------------------------------------------------------------------------------------

  const BOXES = ["checkbox", "switch", "radio", "menuitemcheckbox", "menuitemradio", "option", "treeitem"];

  const box = (given) => {
    const element = control(given);
    if (!element.isConnected) return { how: "gone" };
    if (element instanceof HTMLInputElement && (element.type === "checkbox" || element.type === "radio")) {
      return { how: element.type, checked: element.indeterminate ? "mixed" : String(element.checked) };
    }
    const role = element.getAttribute("role")?.trim().split(/\s+/)[0];
    if (BOXES.includes(role) && (role === "switch" || role === "checkbox" || element.hasAttribute("aria-checked"))) {
      const checked = element.getAttribute("aria-checked") ?? "false";
      return { how: role.endsWith("radio") ? "radio" : "checkbox", checked };
    }
    return { how: "no" };
  };

  const frames = (wait) => new Promise((resolve) => {
    const timer = setTimeout(resolve, wait);
    requestAnimationFrame(() => { clearTimeout(timer); resolve(); });
  });

  // What a box shows once it shows what it should, or at the end of patience.
  const boxed = async (given, wanted, patience) => {
    const end = performance.now() + patience;
    for (;;) {
      const now = box(given);
      if (now.checked === wanted || now.how === "gone" || performance.now() >= end) return now;
      await frames(50);
    }
  };

  const fold = (text) => text.replace(/\s+/g, " ").trim();

  const select = (given, wanted) => {
    const element = control(given);
    if (!element.isConnected) return { how: "gone" };
    if (!(element instanceof HTMLSelectElement)) return { how: "no" };
    if (disabled(element)) return { how: "disabled" };
    const before = chosen(element);
    if (wanted.length > 1 && !element.multiple) return { how: "bad", before };
    const options = [...element.options];
    const picked = wanted.map((want) => {
      const fits = (option) => option.value === want || fold(option.label) === fold(want);
      // A person chooses what the list offers.
      const offered = (option) => !option.matches(":disabled") && [option, option.parentElement].every((one) => getComputedStyle(one).display !== "none");
      return options.find((option) => fits(option) && offered(option)) ?? null;
    });
    if (picked.includes(null)) return { how: "missing", before };
    element.focus({ preventScroll: true });
    if (element.multiple) for (const option of options) option.selected = picked.includes(option);
    else picked[0].selected = true;
    const given_ = chosen(element);
    tell(element);
    return { how: "ok", before, given: given_, after: chosen(element) };
  };

  const upload = (given) => {
    const element = control(given);
    if (!element.isConnected) return { how: "gone" };
    if (!(element instanceof HTMLInputElement) || element.type !== "file") return { how: "other" };
    if (disabled(element)) return { how: "disabled" };
    return { how: element.multiple ? "many" : "one", before: value(element) };
  };

  const input = (given) => control(given);

  // ---- rest ----------------------------------------------------------------------------------------------------------

  // Waits until nothing in the document has changed for `quiet` milliseconds, `most` at the longest; gives for how long nothing had, in
  // microseconds. Two animation frames pass in any case.
  const quiet = async (quiet, most) => {
    const begun = performance.now();
    let last = begun;
    const observer = new MutationObserver(() => { last = performance.now(); });
    const all = { subtree: true, childList: true, attributes: true, characterData: true };
    const watched = (root, left) => {
      observer.observe(root, all);
      for (const element of root.querySelectorAll("*")) {
        if (--left.elements < 0 || left.roots <= 0) return;
        if (element.shadowRoot) {
          left.roots -= 1;
          watched(element.shadowRoot, left);
        }
      }
    };
    watched(document, { elements: 50000, roots: 500 });
    await frames(100);
    await frames(100);
    for (;;) {
      const now = performance.now();
      if (now - last >= quiet || now - begun >= most) {
        observer.disconnect();
        return Math.max(0, Math.round((now - last) * 1000));
      }
      await new Promise((resolve) => { setTimeout(resolve, Math.max(1, Math.min(quiet - (now - last), most - (now - begun)))); });
    }
  };

  const api = { arm, disarm, hit, drags, reveal, value, focus, fill, typing, box, boxed, select, upload, input, quiet };
  Object.defineProperty(globalThis, "juratAct", { value: Object.freeze(api) });
})();
