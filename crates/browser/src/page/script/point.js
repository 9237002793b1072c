// Scrolling as a person could, and what lies at a point.

/// How far to scroll so that `low..high` comes into `from..to`: the nearest way, or to its middle, end or start where it fits.
function distance(low, high, from, to, how) {
  if (how === "centre") return (low + high) / 2 - (from + to) / 2;
  if (how !== "nearest" && high - low <= to - from) return how === "end" ? high - to : low - from;
  if (low >= from - 0.5 && high <= to + 0.5) return 0;
  if (high - low > to - from) return low <= from && high >= to ? 0 : low - from;
  return low < from ? low - from : high - to;
}

function targetBox(element) {
  for (const text of textsIn(element).slice(0, 1)) {
    const rects = textRects(text).filter((box) => !isEmpty(box));
    if (rects.length > 0) {
      const box = fromDom(rectOf(element));
      const area = viewport();
      // The whole element when it fits, so that an action has all of it; else its text.
      return isEmpty(box) || box.y1 - box.y0 > area.y1 || box.x1 - box.x0 > area.x1 ? rects[0] : box;
    }
  }
  return fromDom(rectOf(element));
}

/// Scrolls what a person could scroll (never `overflow: hidden`) until `boxOf()` is in view, as far as that goes.
function scrollTo_(element, boxOf, [howX, howY] = ["nearest", "nearest"]) {
  let fixed = false;
  const root = documentElementOf(doc);
  const body = bodyOf(doc);
  for (let at = element; at !== null; at = flatParent(at)) {
    const style = computedStyle(at);
    if (at !== element && at !== root && !(at === body && css(computedStyle(root), "overflow-x") === "visible")) {
      const x = /auto|scroll/.test(css(style, "overflow-x")) && scrollWidth(at) > clientWidth(at);
      const y = /auto|scroll/.test(css(style, "overflow-y")) && scrollHeight(at) > clientHeight(at);
      if (x || y) {
        const box = boxOf();
        const area = fromDom(rectOf(at));
        const left = area.x0 + clientLeft(at);
        const top = area.y0 + clientTop(at);
        scrollElementBy(at, {
          left: x ? distance(box.x0, box.x1, left, left + clientWidth(at), howX) : 0, top: y ? distance(box.y0, box.y1, top, top + clientHeight(at), howY) : 0, behavior: "instant",
        });
      }
    }
    if (css(style, "position") === "fixed") {
      fixed = true;
      break;
    }
  }
  const scroller = scrollingElementOf(doc);
  if (fixed || scroller === null) return;
  const [stuckX, stuckY] = viewportScrollLock();
  const box = boxOf();
  const area = viewport();
  const left = stuckX ? 0 : distance(box.x0, box.x1, 0, clientWidth(scroller) || area.x1, howX);
  const top = stuckY ? 0 : distance(box.y0, box.y1, 0, clientHeight(scroller) || area.y1, howY);
  if (left !== 0 || top !== 0) scrollElementBy(scroller, { left, top, behavior: "instant" });
}

/// Where a person scrolls to when a bar hides what the nearest way brought into view.
const CLEAR_OF_BARS = [["nearest", "centre"], ["centre", "centre"], ["nearest", "end"], ["nearest", "start"]];
/// When scrolling an element clear of what covers it was last tried in vain, so that not every look scrolls to and fro.
const inVain = new WeakMap();
const CLEAR_AGAIN_MS = 1000;

/// Whether something that does not scroll with an element (fixed, sticky, or outside its scroller) lies over it at a point and leaves room beside
/// itself.
function isUnderBar(element, point) {
  if (point === null) return false;
  const at = elementAt(point[0], point[1]);
  if (at === null || whose(element, at, true) !== "other") return false;
  const area = viewport();
  const leavesRoom = (bar) => size(meet(fromDom(rectOf(bar)), area)) < size(area) * 0.9;
  for (let up = at; up !== null && !flatContains(up, element); up = flatParent(up)) {
    if (/fixed|sticky/.test(css(computedStyle(up), "position"))) return leavesRoom(up);
  }
  const root = documentElementOf(doc);
  for (let up = flatParent(element); up !== null && up !== root; up = flatParent(up)) {
    if (flatContains(up, at)) return false;
    if (/auto|scroll/.test(css(computedStyle(up), "overflow-y")) && scrollHeight(up) > clientHeight(up)) return leavesRoom(at);
  }
  return false;
}

const triedInVain = (element) => now() - (inVain.get(element) ?? -Infinity) < CLEAR_AGAIN_MS;

/// Scrolls an element into view, and on where a bar covers it there. What no scrolling uncovers is left where it was.
function bringIntoView(element, boxOf, pointOf) {
  scrollTo_(element, boxOf);
  if (triedInVain(element) || !isUnderBar(element, pointOf())) return;
  const places = [];
  for (let at = element; at !== null; at = flatParent(at)) places.push([at, scrollLeft(at), scrollTop(at)]);
  for (const how of CLEAR_OF_BARS) {
    scrollTo_(element, boxOf, how);
    if (!isUnderBar(element, pointOf())) return;
  }
  for (const [at, left, top] of places) {
    const [x, y] = [left - scrollLeft(at), top - scrollTop(at)];
    if (x !== 0 || y !== 0) scrollElementBy(at, { left: x, top: y, behavior: "instant" });
  }
  inVain.set(element, now());
}

/// The innermost element at a point of the frame, as the pointer finds it.
function elementAt(x, y) {
  let at = documentFromPoint(doc, x, y);
  for (let depth = 0; at !== null && depth < 50; depth += 1) {
    const root = rootOf(at);
    const inner = root === null ? null : rootFromPoint(root, x, y);
    if (inner === null || inner === at || !flatContains(at, inner)) return at;
    at = inner;
  }
  return at;
}

/// What stands for an element when it is clicked: the control that it is a part of.
const actor = (element) => closest(element, "button,[role=button],a,[role=link]") ?? element;

/// Whether something is drawn for a control, and for it alone: in a box around it that is hardly larger and holds no other control.
function isDrawnFor(control, other) {
  if (!CONTROLS.has(localName(control))) return false;
  const own = rectOf(control);
  let up = flatParent(control);
  for (let depth = 0; up !== null && depth < 3; depth += 1, up = flatParent(up)) {
    const box = rectOf(up);
    if (box.width > own.width + 80 || box.height > own.height + 40) return false;
    if (listLength(queryList(up, "input:not([type=hidden]),textarea,select,button,a[href]")) > 1) return false;
    if (!flatContains(up, other)) continue;
    const drawn = rectOf(other);
    return drawn.left >= box.left - 1 && drawn.right <= box.right + 1 && drawn.top >= box.top - 1 && drawn.bottom <= box.bottom + 1;
  }
  return false;
}

/// Whose an element is, seen from another: `own`, `ancestor` or `other`.
function whose(element, other, forPointer) {
  if (flatContains(element, other)) return "own";
  if (forPointer) {
    if (flatContains(actor(element), other)) return "own";
    const label = closest(other, "label");
    if (label !== null && label instanceof HTMLLabelElement) {
      const control = labelControl(label);
      if (control !== null && composedContains(element, control)) return "own";
    }
    if (isDrawnFor(element, other)) return "own";
  }
  return flatContains(other, element) ? "ancestor" : "other";
}

/// What a click on it is not a click on the label that it is in.
const TAKES_CLICKS = "a[href],button,input,select,textarea,summary,[role=button],[role=link],[contenteditable]";

/// The point at which an element is acted on: the middle of its first box that is shown; null when none is. Of a label, a point that is no
/// link in it.
function actionPoint(element) {
  const boxes = [...rectsOf(element)].map(fromDom).filter((box) => !isEmpty(box));
  const pieces = boxes.length > 0 ? pieceOf(element, boxes, false).shown : factsOf(element, false).pieces ?? [];
  if (pieces.length === 0) return null;
  const middle = [(pieces[0].x0 + pieces[0].x1) / 2, (pieces[0].y0 + pieces[0].y1) / 2];
  if (localName(element) !== "label") return middle;
  const points = pieces.slice(0, 3).flatMap(({ x0, x1, y0, y1 }) => [0.5, 0.1, 0.9, 0.3, 0.7].map((part) => [x0 + (x1 - x0) * part, (y0 + y1) / 2]));
  const control = labelControl(element);
  const works = ([x, y]) => {
    const at = elementAt(x, y);
    if (at === null || !flatContains(element, at)) return false;
    const taker = closest(at, TAKES_CLICKS);
    return taker === null || taker === control || !flatContains(element, taker);
  };
  return points.find(works) ?? middle;
}

function hitOf(element) {
  const point = actionPoint(element);
  if (point === null) return null;
  const [x, y] = point;
  const at = elementAt(x, y);
  const is = at === null ? "nothing" : whose(element, at, true);
  return { x: px(x), y: px(y), is, other: at === null || is === "own" ? null : pathOf(at) };
}

/// What stands for an element when it is acted on: the label of a box that pages hide and draw themselves, where it can be seen and the box cannot.
function standIn(element) {
  if (!(element instanceof HTMLInputElement) || !["checkbox", "radio", "file"].includes(inputType(element))) return element;
  const isSeen = (facts) => facts.rendered && facts.visibility && facts.opacity >= 20 && facts.boxes.some(([, , width, height]) => width > 200 && height > 200) && (facts.shown !== null || facts.cut === "below" || facts.cut === "overflow");
  if (isSeen(factsOf(element, false))) return element;
  return labelsOf(element).find((label) => isSeen(factsOf(label, false)) || size(fromDom(rectOf(label))) > 16 && checkVisibility(label, { visibilityProperty: true })) ?? element;
}

const MOST_BEHIND = 15000;
let behindLeft = 0;
/// Whether something that lets clicks through, which no hit test of a script finds, lies where a text is.
function passesBehind(element, box) {
  behindLeft -= 1;
  if (behindLeft < 0 || box === null || elementsSeen > MOST_BEHIND) return false;
  let left = MOST_BEHIND;
  for (const root of roots(false).roots) {
    const all = queryList(root, "*");
    const length = listLength(all);
    left -= length;
    if (left < 0) return false;
    for (let i = 0; i < length; i += 1) {
      const at = all[i];
      const own = rectOf(at);
      if (own.right <= box.x0 || own.left >= box.x1 || own.bottom <= box.y0 || own.top >= box.y1) continue;
      const style = computedStyle(at);
      if (css(style, "pointer-events") !== "none" || css(style, "visibility") !== "visible" || flatContains(element, at) || flatContains(at, element)) continue;
      if (REPLACED.has(localName(at)) || css(style, "background-image") !== "none" || colour(css(style, "background-color"))[3] > 0) return true;
    }
  }
  return false;
}

/// Whether something that is no ancestor of it is painted below an element's text, so that what is behind it is not known.
function somethingBehind(element, points) {
  const root = getRootNode(element);
  // The whole stack at a point is found by walking all of a large document.
  const large = elementsSeen > MOST_BEHIND;
  if (behindLeft < (large ? 4 : 1)) return false;
  for (const [x, y] of points.slice(0, large ? 1 : 3)) {
    const stack = isShadowRoot(root) ? rootStack(root, x, y) : documentStack(doc, x, y);
    const own = stack.findIndex((at) => flatContains(element, at));
    if (own === -1) continue;
    for (const at of stack.slice(own + 1)) {
      if (flatContains(element, at)) continue;
      if (flatContains(at, element)) continue;
      const style = computedStyle(at);
      if (REPLACED.has(localName(at)) || css(style, "background-image") !== "none" || colour(css(style, "background-color"))[3] > 0 || CONTROLS.has(localName(at))) return true;
    }
  }
  return false;
}
