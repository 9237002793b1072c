// The watcher of negative locators: how many matches could be seen, once an animation frame, as changes.
//
// Text that came and went within one frame was never painted and is not counted: what is seen before a frame is painted must
// still be there right after it. What CSS alone shows is seen because candidates are looked at in every frame, whether or not
// the document changed.
const paint = (() => {
  const MAX_SAMPLES = 64;
  const MAX_CANDIDATES = 24;
  const SMALL = 3000;
  let config = null;
  let watched = [];
  let observer = null;
  const observed = new WeakSet();
  let dirty = null;
  let all = true;
  let scheduled = false;
  let elements = 0;
  let lastLook = null;
  let longest = 0;
  let waiting = [];
  let gone = false;
  const documentId = Math.random().toString(36).slice(2);
  const channel = new MessageChannel();
  const OBSERVE = { subtree: true, childList: true, characterData: true, attributes: true };

  const clock = () => performance.timeOrigin + now();

  function inScope(spec) {
    const frame = spec.frame;
    if (frame === null) return "yes";
    if (window.top === window) return "no";
    try {
      const element = window.frameElement;
      if (element !== null) return frame.name === null ? "maybe" : frameNamed(element, frame.name) ? "yes" : "no";
    } catch {
      // Another origin.
    }
    return frame.name !== null && window.name === frame.name ? "yes" : "maybe";
  }

  function watch(root) {
    if (observed.has(root)) return;
    observed.add(root);
    observer.observe(root, OBSERVE);
  }

  function arm(next) {
    current();
    disarm();
    config = next;
    lastLook = null;
    longest = 0;
    observer = new MutationObserver((records) => {
      if (dirty === null) dirty = new Set();
      for (const record of records) {
        if (dirty.size > 60) all = true;
        else dirty.add(isElement(record.target) || isShadowRoot(record.target) || nodeType(record.target) === 9 ? record.target : parentNode(record.target));
      }
      schedule();
    });
    all = true;
    watched = next.locators.map((spec) => ({ spec, scope: inScope(spec), found: new Set(), samples: [], cut: 0, last: null, lost: false, before: 0 }));
    watch(doc);
    look();
    for (const one of watched) {
      one.before = one.last === null ? 0 : one.last.seen;
      one.first = one.last;
      one.samples = [];
    }
    if (next.fresh) {
      // A new document: what it shows from its first frame on is a change.
      for (const one of watched) {
        one.before = 0;
        one.first = null;
        if (one.last !== null && (one.last.seen > 0 || one.last.unsure > 0)) one.samples = [one.last];
        else one.last = { t: clock(), seen: 0, unsure: 0, text: null };
      }
    }
    tell();
    schedule();
    return state();
  }

  function disarm() {
    if (observer !== null) observer.disconnect();
    observer = null;
    config = null;
    watched = [];
    dirty = null;
  }

  function schedule() {
    if (scheduled || config === null) return;
    scheduled = true;
    nextFrame(frame);
  }

  channel.port1.onmessage = () => {
    if (config !== null) settle();
  };

  function frame() {
    scheduled = false;
    if (config === null) return;
    if (!current()) {
      all = true;
      watch(doc);
    }
    look();
    channel.port2.postMessage(0);
    // Candidates that are not seen may be shown by style alone, and those that are seen hidden by it.
    if (watched.some((one) => one.found.size > 0)) schedule();
  }

  function refresh() {
    const changed = dirty;
    dirty = null;
    if (all || changed !== null) {
      const small = elements <= SMALL;
      if (all || small) {
        const trees = roots(true);
        elements = trees.elements;
        for (const root of trees.roots) watch(root);
        suspect(trees.suspects);
        for (const one of watched) one.found = new Set(search(one, trees.roots));
        all = false;
        return;
      }
      if (changed.size > 60) {
        all = true;
        return refresh();
      }
      forgetLabels();
      const suspects = [];
      for (const target of changed) {
        if (target === null || !isConnected(target)) continue;
        const list = queryList(target, "*");
        const length = Math.min(listLength(list), 20000);
        const time = now();
        for (let i = 0; i < length; i += 1) {
          const element = list[i];
          const root = rootOf(element);
          if (root !== null) watch(root);
          else if (suspects.length < 50 && isSuspect(element, time)) suspects.push(element);
        }
        for (const one of watched) for (const element of search(one, [target])) one.found.add(element);
      }
      suspect(suspects);
      for (const one of watched) for (const element of one.found) if (!isConnected(element) || !stillMatches(one.spec, element)) one.found.delete(element);
    }
  }

  /// Elements that may hold a closed root nobody knows yet: the other side is asked, and hands roots in.
  function suspect(list) {
    if (list.length === 0) return;
    for (const element of list) asked.set(element, now());
    waiting = waiting.concat(list).slice(0, 200);
    globalThis.juratReport?.(JSON.stringify({ token: config.token + 1 }));
  }
  onAdopt.push((root) => {
    if (config === null) return;
    watch(root);
    all = true;
    schedule();
  });

  function search(one, trees) {
    if (one.scope === "no") return [];
    const spec = { ...one.spec, ax: false };
    forgetLabels();
    let list = candidates(spec, trees).map(([element]) => element);
    for (let inner = spec.within; inner !== null && inner !== undefined && list.length > 0; inner = null) {
      const scopes = search({ spec: inner, scope: one.scope }, roots(false).roots);
      list = list.filter((element) => scopes.some((scope) => scope !== element && composedContains(scope, element)));
    }
    if (spec.nth !== null && spec.nth !== undefined) list = [spec.nth < 0 ? list[list.length + spec.nth] : list[spec.nth]].filter((element) => element !== undefined);
    return list;
  }

  function stillMatches(spec, element) {
    const test = spec.value === null ? null : textTest(spec.value, spec.exact, spec.regex);
    switch (spec.by) {
      case "text": return test.of(fullText(element, Infinity) ?? "");
      case "css": return matchesSelector(element, spec.value);
      case "placeholder": return test.of(getAttribute(element, "placeholder") ?? "");
      case "testid": return spec.regex ? test.of(getAttribute(element, "data-testid") ?? "") : getAttribute(element, "data-testid") === spec.value;
      case "label": return labelTexts(element).some((text) => test.of(text));
      default: return roleOf(element) === spec.role && (test === null || test.of(nameOf(element)));
    }
  }

  /// `seen`, `unsure` or `no`, by style, geometry and hit test.
  function judge(spec, element) {
    if (!isConnected(element)) return "no";
    const facts = factsOf(element, spec.by === "text");
    if (!facts.rendered || !facts.visibility || facts.opacity < 20) return "no";
    if (facts.font !== null && facts.font <= 0) return "no";
    if (facts.boxes.every((box) => box[2] <= 0 || box[3] <= 0)) return "no";
    if (facts.shown === null && facts.cut !== "below") return "no";
    if (facts.shown !== null && (facts.shown[2] <= 0 || facts.shown[3] <= 0)) return "no";
    let covered = 0;
    for (const [x, y] of facts.points) {
      const top = elementAt(x, y);
      if (top !== null && !flatContains(element, top) && css(computedStyle(element), "pointer-events") !== "none") covered += 1;
    }
    if (facts.effects.length > 0 || facts.contrast === null || facts.contrast < 24 || covered > 0) return "unsure";
    return "seen";
  }

  function count(one) {
    const now_ = { t: clock(), seen: 0, unsure: 0, text: null, shown: [] };
    let left = MAX_CANDIDATES;
    for (const element of one.found) {
      left -= 1;
      if (left < 0) break;
      let answer = judge(one.spec, element);
      if (answer === "seen" && one.scope === "maybe") answer = "unsure";
      if (answer === "no") continue;
      now_.shown.push(element);
      now_[answer] += 1;
      now_.text ??= bounded(renderedText(element).slice(0, 300))[0];
    }
    return now_;
  }

  /// Before a frame is painted.
  function look() {
    const time = clock();
    if (lastLook !== null && watched.some((one) => one.found.size > 0)) longest = Math.max(longest, time - lastLook);
    lastLook = time;
    try {
      refresh();
      for (const one of watched) {
        const next = count(one);
        if (one.last === null) note(one, next);
        else one.next = next;
      }
    } catch {
      for (const one of watched) one.lost = true;
    }
  }

  /// Right after it was painted: what is gone already was not.
  function settle() {
    let changed = false;
    for (const one of watched) {
      const next = one.next;
      if (next === undefined || next === null) continue;
      one.next = null;
      if (one.last !== null && next.seen === one.last.seen && next.unsure === one.last.unsure) continue;
      const more = next.seen + next.unsure > one.last.seen + one.last.unsure;
      if (more && next.shown.some((element) => !isConnected(element) || !stillMatches(one.spec, element))) continue;
      note(one, next);
      changed = true;
    }
    if (changed) tell();
  }

  function note(one, next) {
    const sample = { t: next.t, seen: next.seen, unsure: next.unsure, text: next.text };
    if (one.samples.length < MAX_SAMPLES) one.samples.push(sample);
    else one.cut += 1;
    one.last = sample;
  }

  function state() {
    return {
      token: config.token, document: documentId, url: location.href.slice(0, 300), gone, longest: Math.round(longest * 1000),
      watched: watched.map((one) => ({ before: one.before, samples: one.samples, cut: one.cut, lost: one.lost, first: one.first ?? null })),
    };
  }

  function report(message) {
    globalThis.juratReport?.(JSON.stringify({ token: config.token, document: documentId, ...message }));
  }

  function tell() {
    report(state());
  }

  // A document that goes away says so itself; one that comes back from the history says that too.
  window.addEventListener("pagehide", (event) => {
    if (!event.isTrusted || config === null) return;
    gone = true;
    tell();
  }, true);
  window.addEventListener("pageshow", (event) => {
    if (!event.isTrusted || config === null || !gone) return;
    gone = false;
    all = true;
    tell();
    schedule();
  }, true);

  /// Elements that may hold a closed root, once.
  function pending() {
    const list = waiting.filter((element) => isConnected(element));
    waiting = [];
    return [JSON.stringify({ elements }), [], list];
  }

  return {
    pending,
    arm: (next) => JSON.stringify(arm(next)),
    disarm,
    read: (token) => {
      if (config === null || config.token !== token) return "null";
      look();
      settle();
      return JSON.stringify(state());
    },
  };
})();
