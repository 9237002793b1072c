// The watcher of negative locators: how many matches could be seen, once an animation frame, as changes.
//
// Text that came and went within one frame was never painted and is not counted: what is seen before a frame is painted must
// still be there right after it. What CSS alone shows is seen because candidates are looked at in every frame, whether or not
// the document changed; what only becomes a candidate by its state (`:invalid`, `:popover-open`) because selectors with a pseudo-class are
// asked again in every frame. A custom element without a `role` may have one by its `ElementInternals`, which no script but its own can
// read: one that comes into sight is unsure, until Chromium has been asked for its role.
const paint = (() => {
  const MAX_SAMPLES = 64;
  /// Candidates looked at closely in one frame; of further ones only whether they could be seen is asked.
  const MAX_CANDIDATES = 60;
  const SMALL = 3000;
  let config = null;
  let watched = [];
  let observer = null;
  let observed = new WeakSet();
  let trees = [];
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
    trees.push(root);
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
    watched = next.locators.map((spec) => ({ spec, scope: inScope(spec), found: new Set(), samples: [], cut: 0, last: null, lost: false, before: 0, changing: hasState(spec), doubts: new Set(), toAsk: new Set(), cleared: new WeakSet() }));
    trees = [];
    observed = new WeakSet();
    watch(doc);
    look();
    for (const one of watched) {
      // What can be seen already may go away; only what comes is held against a negative.
      if (!next.fresh) for (const element of one.doubts) if (couldBeSeen(element)) one.cleared.add(element);
      one.before = one.last === null ? 0 : one.last.seen;
      one.first = one.last;
      one.samples = [];
    }
    if (next.fresh) {
      // A new document: what it shows from its first frame on is a change.
      for (const one of watched) {
        one.before = 0;
        one.first = null;
        if (one.last !== null && one.last.seen + one.last.unsure + one.last.doubts.length > 0) one.samples = [one.last];
        else one.last = { t: clock(), seen: 0, unsure: 0, text: null, doubts: [] };
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
    if (watched.some((one) => one.found.size > 0 || one.doubts.size > 0 || one.changing)) schedule();
  }

  /// Whether the matches of a locator can change without any change of the document.
  function hasState(spec) {
    return (spec.by === "css" && spec.value.includes(":")) || (spec.within !== null && spec.within !== undefined && hasState(spec.within));
  }

  /// Asks again for what matches by its state.
  function refreshStates() {
    let known = null;
    for (const one of watched) {
      if (!one.changing) continue;
      known ??= trees.filter((root) => root === doc || (isShadowRoot(root) && isConnected(hostOf(root))));
      one.found = new Set(search(one, known));
    }
  }

  /// Custom elements of some trees that could have the role of a locator by their internals.
  function doubtful(one, from) {
    if (one.spec.by !== "role" || one.scope === "no") return;
    for (const root of from) {
      for (const element of query(root, NO_HOST)) if (localName(element).includes("-") && !hasAttribute(element, "role") && !one.cleared.has(element)) one.doubts.add(element);
    }
  }

  /// Whether a person could see anything of an element, by the cheapest question.
  function couldBeSeen(element) {
    return isConnected(element) && (checkVisibility(element, { visibilityProperty: true, opacityProperty: true }) || css(computedStyle(element), "display") === "contents");
  }

  function refresh() {
    const changed = dirty;
    dirty = null;
    if (all || changed !== null) {
      const small = elements <= SMALL;
      if (all || small) {
        const now_ = roots(true);
        elements = now_.elements;
        for (const root of now_.roots) watch(root);
        suspect(now_.suspects);
        for (const one of watched) {
          one.found = new Set(search(one, now_.roots));
          doubtful(one, now_.roots);
        }
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
        for (const one of watched) {
          for (const element of search(one, [target])) one.found.add(element);
          doubtful(one, [target]);
        }
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
      case "text": return test.of(fullText(element, Infinity) ?? "") || test.of(renderedText(element));
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
    const facts = factsOf(element, spec.by === "text" ? meantBy(element, spec) : null);
    if (!facts.rendered || !facts.visibility || facts.opacity < 20) return "no";
    if (facts.font !== null && facts.font < MIN_FONT) return "no";
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
    const now_ = { t: clock(), seen: 0, unsure: 0, text: null, shown: [], doubts: [] };
    let left = MAX_CANDIDATES;
    for (const element of one.found) {
      if (!couldBeSeen(element)) continue;
      left -= 1;
      let answer = left < 0 ? "unsure" : judge(one.spec, element);
      if (answer === "seen" && one.scope === "maybe") answer = "unsure";
      if (answer === "no") continue;
      now_.shown.push(element);
      now_[answer] += 1;
      now_.text ??= bounded(renderedText(element).slice(0, 300))[0];
    }
    for (const element of one.doubts) {
      if (one.cleared.has(element) || one.found.has(element)) continue;
      if (!isConnected(element)) one.doubts.delete(element);
      else if (couldBeSeen(element) && judge({ by: "css" }, element) !== "no") {
        now_.doubts.push(element);
        one.toAsk.add(element);
      }
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
      refreshStates();
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
      if (one.last !== null && next.seen === one.last.seen && next.unsure === one.last.unsure && next.doubts.length === one.last.doubts.length) continue;
      const more = next.seen + next.unsure > one.last.seen + one.last.unsure;
      if (more && next.shown.some((element) => !isConnected(element) || !stillMatches(one.spec, element))) continue;
      note(one, next);
      changed = true;
    }
    if (changed) tell();
  }

  function note(one, next) {
    const sample = { t: next.t, seen: next.seen, unsure: next.unsure, text: next.text, doubts: next.doubts };
    if (one.samples.length < MAX_SAMPLES) one.samples.push(sample);
    else one.cut += 1;
    one.last = sample;
  }

  /// A sample as it is told: doubts that Chromium has dispelled do not count any more.
  function told(one, { t, seen, unsure, text, doubts }) {
    return { t, seen, unsure: unsure + doubts.filter((element) => !one.cleared.has(element)).length, text };
  }

  function state() {
    return {
      doubts: watched.reduce((sum, one) => sum + one.toAsk.size, 0),
      token: config.token, document: documentId, url: location.href.slice(0, 300), gone, longest: Math.round(longest * 1000),
      watched: watched.map((one) => ({
        before: one.before, samples: one.samples.map((sample) => told(one, sample)), cut: one.cut, lost: one.lost, first: one.first ? told(one, one.first) : null,
      })),
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

  let inQuestion = [];
  /// The custom elements whose role is in question.
  function doubts() {
    inQuestion = [...new Set(watched.flatMap((one) => [...one.toAsk]))].filter((element) => isConnected(element)).slice(0, 50);
    return ["{}", inQuestion];
  }

  /// Chromium's roles of what `doubts` gave, null where it has none: who has another role than a locator is no match of it.
  function dispel(token, answers) {
    answers.forEach((role, index) => {
      for (const one of watched) {
        if (!one.toAsk.delete(inQuestion[index])) continue;
        if (role !== null && role !== one.spec.role) one.cleared.add(inQuestion[index]);
      }
    });
    return JSON.stringify(config !== null && config.token === token ? state() : null);
  }

  return {
    doubts,
    dispel,
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
