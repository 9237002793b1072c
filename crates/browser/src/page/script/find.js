// One look for a locator in one frame.
const AX_CANDIDATES = 60;
const WHOLE_ELEMENTS = 1000;
const WHOLE_EVERY_MS = 1000;
let lastWhole = -Infinity;
const looks = new Map();
let lastLook = 0;

/// Keeps elements of a look for later calls; the last few looks are kept.
function hold(elements) {
  lastLook += 1;
  looks.set(lastLook, elements);
  if (looks.size > 12) {
    const oldest = looks.keys().next().value;
    looks.delete(oldest);
    acting.delete(oldest);
  }
  return lastLook;
}

function held(look, index) {
  const element = looks.get(look)?.[index];
  if (element === undefined) throw new Error("jurat: no such element");
  return element;
}

/// What was looked at for an element of a look: itself, or what stands for it.
function shownFor(look, index) {
  const element = held(look, index);
  return acting.has(look) ? standIn(element) : element;
}
/// The looks that were for an action.
const acting = new Set();

/// Document order over shadow roots: a host, then what is in its root, then its light children.
function inOrder(a, b) {
  if (a === b) return 0;
  const chain = (node) => {
    const steps = [node];
    for (let root = getRootNode(node); isShadowRoot(root); root = getRootNode(steps[0])) steps.unshift(hostOf(root));
    return steps;
  };
  const one = chain(a);
  const two = chain(b);
  for (let i = 0; i < Math.min(one.length, two.length); i += 1) {
    if (one[i] === two[i]) continue;
    return comparePosition(one[i], two[i]) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  }
  return one.length - two.length;
}

function frameNamed(element, name) {
  return ["name", "id", "title"].some((attribute) => getAttribute(element, attribute) === name);
}

/// What a locator finds in the roots: a list of `[element, sure, matched]`. Not sure is what only Chromium's own role and
/// name can tell.
function candidates(spec, trees) {
  const found = [];
  const test = spec.value === null ? null : textTest(spec.value, spec.exact, spec.regex);
  for (const root of trees) {
    switch (spec.by) {
      case "text":
        for (const element of findText(root, test)) found.push([element, true, null]);
        break;
      case "css":
        for (const element of query(root, spec.value)) found.push([element, true, null]);
        break;
      case "frame":
        for (const element of query(root, "iframe,frame,object,embed")) if (frameNamed(element, spec.value)) found.push([element, true, null]);
        break;
      case "placeholder":
        for (const element of query(root, "[placeholder]")) {
          const seen = getAttribute(element, "placeholder");
          if (test.of(seen)) found.push([element, true, seen]);
        }
        break;
      case "testid":
        for (const element of query(root, "[data-testid]")) {
          const seen = getAttribute(element, "data-testid");
          if (spec.regex ? test.of(seen) : seen === spec.value) found.push([element, true, seen]);
        }
        break;
      case "label":
        found.push(...labelledBy(root, test));
        break;
      case "role":
        for (const element of query(root, sourcesOf(spec.role))) {
          const same = roleOf(element) === spec.role;
          if (!same && !(spec.ax && couldBe(element, spec.role))) continue;
          if (test === null) found.push([element, same, null]);
          else if (test.of(nameOf(element))) found.push([element, same, null]);
          else if (spec.ax) found.push([element, false, null]);
        }
        break;
      default:
        throw new Error(`jurat: no such locator: ${spec.by}`);
    }
  }
  return found;
}

/// The elements of one tree that have a label which the test takes, in document order.
function labelledBy(root, test) {
  const found = [];
  const add = (element) => {
    const seen = labelTexts(element).find((text) => test.of(text));
    if (seen !== undefined) found.push([element, true, seen]);
  };
  query(root, "[aria-labelledby],[aria-label]").forEach(add);
  for (const control of labelledIn(root).keys()) if (!hasAttribute(control, "aria-labelledby") && !hasAttribute(control, "aria-label")) add(control);
  return found.length > 1 && found.length <= 5000 ? found.sort((a, b) => inOrder(a[0], b[0])) : found;
}

/// Whether an element could have a role although the scan thinks otherwise.
function couldBe(element, role) {
  const explicit = getAttribute(element, "role");
  if (explicit !== null) return plainRole(explicitRole(element)) === role || plainRole(implicitRole(element)) === role;
  return ["cell", "gridcell", "columnheader", "rowheader", "textbox", "combobox", "listbox", "banner", "contentinfo", "region", "form", "switch", "button"].includes(role);
}

/// Custom elements that could have any role by their `ElementInternals`, which only Chromium can tell; at most `room`.
function byInternals(trees, room) {
  const found = [];
  for (const root of trees) {
    for (const element of query(root, NO_HOST)) {
      if (found.length >= room) return found;
      if (localName(element).includes("-") && !hasAttribute(element, "role") && checkVisibility(element)) found.push([element, false, null]);
    }
  }
  return found;
}

function describe(element, spec, matched) {
  const [text, textCut] = bounded(renderedText(element));
  let seen = matched;
  if (spec.by === "text") {
    const full = fullText(element, Infinity);
    if (full !== text) seen = full;
    if (seen !== null && seen.length * 3 > MAX_TEXT) {
      const test = textTest(spec.value, spec.exact, spec.regex);
      const place = test.regex ? test.regex.exec(seen)?.index ?? 0 : seen.toLowerCase().indexOf(test.text.toLowerCase());
      seen = seen.slice(Math.max(0, place - 200), place + 1000);
    }
  }
  const attributes = {};
  for (const name of spec.attributes) {
    const value = getAttribute(element, name);
    if (value !== null) attributes[name] = bounded(value)[0];
  }
  const value = valueOf(element);
  return {
    tag: localName(element).slice(0, 100), path: pathOf(element), role: roleOf(element), name: bounded(nameOf(element))[0], text, text_cut: textCut,
    matched: seen === null ? null : bounded(seen)[0], value: value === null ? null : bounded(value)[0], checked: checkedOf(element), attributes,
    enabled: isEnabled(element), editable: isEditable(element),
  };
}

function layoutOf(given, spec, scroll) {
  const element = spec.acts ? standIn(given) : given;
  const strict = spec.by === "text" ? meantBy(element, spec) : null;
  let facts = factsOf(element, strict);
  // A person acts at one point; what is to be seen is its text.
  const pointOf = () => (spec.acts ? null : factsOf(element, strict).points[0]) ?? actionPoint(element);
  const mustScroll = () => facts.rendered && (isAway(facts, element) || (spec.scroll && facts.shown !== null && !triedInVain(element) && isUnderBar(element, spec.acts ? actionPoint(element) : facts.points[0] ?? actionPoint(element))));
  if (scroll && mustScroll()) {
    bringIntoView(element, () => targetBox(element), pointOf);
    facts = factsOf(element, strict);
  }
  const away = mustScroll();
  if (facts.rendered && facts.contrast !== null && facts.font !== null && !facts.effects.includes("background_image") && (somethingBehind(element, facts.points) || passesBehind(element, facts.pieces?.[0] ?? null))) {
    facts.effects.push("background_image");
  }
  lastMeant.set(element, facts.texts ?? null);
  delete facts.pieces;
  delete facts.texts;
  const scroller = scrollingElementOf(doc);
  return {
    ...facts, away, hit: spec.hit && facts.rendered ? hitOf(element) : null,
    view: { sx: window.scrollX, sy: window.scrollY, w: px(window.innerWidth), h: px(window.innerHeight), has: scroller !== null },
  };
}

/// Whether scrolling could show more of it.
function isAway(facts, element) {
  if (facts.shown === null) return facts.cut === "below" || facts.cut === "unreachable" || facts.cut === "overflow";
  const box = targetBox(element);
  const area = viewport();
  const whole = Math.min(size(box), size(area));
  return whole > 0 && size(meet(box, area)) < whole / 2;
}

/// Whether anything in the document is being animated.
const isMoving = () => animationsOf(doc).some((animation) => animation.playState === "running");

/// Which of the elements keep their boxes from one frame to the next; over a third where something is animated, because a swing is not still
/// where it turns. Null when no frame came.
const heldStill = (elements, frames = false) => {
  const boxes = () => elements.map((element) => out(fromDom(rectOf(element))).join());
  const first = boxes();
  return new Promise((done) => {
    const timer = later(() => done(null), 1000);
    nextFrame(() => {
      const second = boxes();
      const settle = (third) => {
        clearTimeout(timer);
        done(first.map((box, index) => box === second[index] && (third === null || box === third[index])));
      };
      if (!frames && !isMoving()) settle(null);
      else nextFrame(() => settle(boxes()));
    });
  });
};

/// The look. Gives `[json, elements, suspects]`.
function find(spec) {
  forgetLabels();
  behindLeft = 4;
  const { roots: trees, suspects, elements } = roots(spec.suspects);
  const ax = spec.ax && elements <= spec.ax_elements;
  const all = { attributes: [], ...spec, ax };
  let found = candidates(all, trees);
  if (ax && spec.by === "role") found = found.concat(byInternals(trees, AX_CANDIDATES - found.length));
  if (spec.scopes !== null) {
    const scopes = spec.scopes.map(([look, index]) => held(look, index));
    found = found.filter(([element]) => scopes.some((scope) => scope !== element && composedContains(scope, element)));
  }
  if (trees.length > 1 && found.length > 1 && found.length <= 5000) found.sort((a, b) => inOrder(a[0], b[0]));
  let askAx = ax;
  if (spec.by === "role") {
    askAx = ax && found.length <= AX_CANDIDATES;
    if (!askAx) found = found.filter(([element, sure]) => sure && !isHiddenFromAria(element));
  }
  const kept = found.slice(0, askAx && spec.by === "role" ? AX_CANDIDATES : spec.max);
  const look = hold(kept.map(([element]) => element));
  if (spec.acts) acting.add(look);
  let near = [];
  if (!found.some(([, sure]) => sure)) near = nearby(all, trees);
  if (spec.suspects) for (const suspect of suspects) asked.set(suspect, now());
  const finish = (stable) => {
    const items = kept.map(([element, sure, matched], index) => {
      if (!sure) return null;
      const item = describe(element, all, matched);
      if (spec.layout) {
        item.layout = layoutOf(element, all, false);
        item.layout.stable = stable === null ? null : stable[index];
      }
      return item;
    });
    // Nothing found: closed roots that no sign gives away are looked for at times, in documents small enough.
    const whole = found.length === 0 && elements <= WHOLE_ELEMENTS && now() - lastWhole > WHOLE_EVERY_MS;
    if (whole) lastWhole = now();
    const answer = { look, whole, total: found.length, ax: askAx, elements, items, near, suspects: suspects.length };
    return [JSON.stringify(answer), kept.map(([element]) => element), suspects.slice(0, 200)];
  };
  if (!spec.stable || kept.length === 0) return finish(null);
  return heldStill(kept.map(([element]) => element)).then((still) => finish(still));
}

/// More about elements of a look: those that only Chromium's answer made matches, and those to be scrolled to.
function more(look, indices, spec, scroll) {
  const all = { attributes: [], ...spec };
  forgetLabels();
  behindLeft = 4;
  return JSON.stringify(indices.map((index) => {
    const element = held(look, index);
    const item = describe(element, all, null);
    if (spec.layout) item.layout = { stable: null, ...layoutOf(element, all, scroll) };
    return item;
  }));
}

/// Whose each node is, seen from an element of a look. A pseudo-element is no node of the page: it is told by the element that it belongs to.
function relate(look, index, ...nodes) {
  const element = shownFor(look, index);
  return JSON.stringify(nodes.map((node) => {
    if (node === null || node === undefined) return ["nothing", null];
    const origin = originOf(node);
    if (origin !== null) {
      const kind = pseudoOf(node);
      const is = whose(element, origin, false);
      if (is === "own" && paintsNothing(origin, kind)) return ["own", null];
      return [is === "own" ? "pseudo" : is, `${pathOf(origin)}${kind}`];
    }
    const other = isElement(node) ? node : isShadowRoot(node) ? hostOf(node) : documentElementOf(doc);
    if (other === null) return ["nothing", null];
    const is = whose(element, other, false);
    // Something inside it that holds none of its text can still be a cover.
    if (is === "own" && !acting.has(look) && !holdsText(element, other)) return ["other", pathOf(other)];
    return [is, is === "own" ? null : pathOf(other)];
  }));
}

/// Whether a pseudo-element leaves what is below it as it is: no content, background, border or shadow of its own.
function paintsNothing(origin, kind) {
  const style = computedStyle(origin, kind);
  if (Number(css(style, "opacity")) === 0 || css(style, "visibility") !== "visible") return true;
  return /^(""|none|normal)$/.test(css(style, "content")) && css(style, "background-image") === "none" && colour(css(style, "background-color"))[3] === 0
    && css(style, "backdrop-filter") === "none" && css(style, "box-shadow") === "none" && css(style, "border-image-source") === "none"
    && ["top", "right", "bottom", "left"].every((side) => css(style, `border-${side}-style`) === "none" || Number.parseFloat(css(style, `border-${side}-width`)) === 0);
}

/// The place and paint of a frame's owner, and whether the pointer reaches it at a point of the frame.
function owner(element, box, point, scroll) {
  const content = () => {
    const border = rectOf(element);
    const width = element instanceof HTMLElement ? offsetWidth(element) : border.width;
    const scale = width > 0 && border.width > 0 ? border.width / width : 1;
    const style = computedStyle(element);
    const pad = (side) => (Number.parseFloat(css(style, `padding-${side}`)) || 0) * scale;
    const x0 = border.left + clientLeft(element) * scale + pad("left");
    const y0 = border.top + clientTop(element) * scale + pad("top");
    return { area: rect(x0, y0, x0 + clientWidth(element) * scale - pad("left") - pad("right"), y0 + clientHeight(element) * scale - pad("top") - pad("bottom")), scale };
  };
  const inside = () => {
    const { area, scale } = content();
    if (box === null) return area;
    return rect(area.x0 + (box[0] / 100) * scale, area.y0 + (box[1] / 100) * scale, area.x0 + ((box[0] + box[2]) / 100) * scale, area.y0 + ((box[1] + box[3]) / 100) * scale);
  };
  if (scroll) {
    bringIntoView(element, inside, () => {
      const part = meet(inside(), viewport());
      return isEmpty(part) ? null : [(part.x0 + part.x1) / 2, (part.y0 + part.y1) / 2];
    });
  }
  const { area, scale } = content();
  const piece = pieceOf(element, [area], false);
  let hit = null;
  if (point !== null) {
    const at = elementAt(area.x0 + (point[0] / 100) * scale, area.y0 + (point[1] / 100) * scale);
    hit = at === null ? ["nothing", null] : at === element ? ["own", null] : [flatContains(at, element) ? "ancestor" : "other", pathOf(at)];
  }
  return JSON.stringify({
    rendered: rectsOf(element).length > 0, x: px(area.x0), y: px(area.y0), scale: Math.round(scale * 1000), shown: piece.shown.length > 0 ? out(piece.shown[0]) : null, cut: piece.cut,
    visibility: piece.visibility, opacity: Math.round(Math.min(1, piece.opacity) * 1000), effects: [...piece.effects].filter((effect) => effect !== "replaced"), hit,
    view: { sx: window.scrollX, sy: window.scrollY, w: px(window.innerWidth), h: px(window.innerHeight), has: true },
  });
}

/// The nearest things that did not match, for a message.
function nearby(spec, trees) {
  const seen = new Map();
  const wanted = fold(spec.value ?? "").toLowerCase();
  const grams = (text) => {
    const set = new Set();
    for (let i = 0; i + 1 < text.length; i += 1) set.add(text.slice(i, i + 2));
    return set;
  };
  const ours = grams(wanted);
  const add = (text) => {
    const short = text.slice(0, 80);
    if (short === "" || seen.has(short) || seen.size > 400) return;
    let shared = 0;
    const theirs = grams(short.toLowerCase());
    for (const gram of theirs) if (ours.has(gram)) shared += 1;
    seen.set(short, wanted === "" ? 1 : (2 * shared) / Math.max(1, ours.size + theirs.size));
  };
  let left = 300;
  for (const root of trees) {
    if (left <= 0) break;
    const each = (selector, tell) => {
      for (const element of query(root, selector)) {
        left -= 1;
        if (left <= 0) return;
        tell(element);
      }
    };
    if (spec.by === "role") each(sourcesOf(spec.role), (element) => roleOf(element) === spec.role && add(`${spec.role} ${JSON.stringify(nameOf(element).slice(0, 60))}`));
    else if (spec.by === "label") each("button,input,meter,output,progress,select,textarea,[aria-label]", (element) => labelTexts(element).forEach((text) => add(text)));
    else if (spec.by === "placeholder") each("[placeholder]", (element) => add(getAttribute(element, "placeholder")));
    else if (spec.by === "testid") each("[data-testid]", (element) => add(getAttribute(element, "data-testid")));
    else if (spec.by === "text") {
      const walker = createWalker(doc, root, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null && left > 0; node = walker.nextNode()) {
        left -= 1;
        const holder = parentNode(node);
        if (isElement(holder) && !NO_TEXT.has(localName(holder))) add(fold(dataOf(node).slice(0, 300)));
      }
    }
  }
  return [...seen].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([text]) => text);
}
