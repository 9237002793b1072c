// Scrolling as a person could, and what lies at a point.

/// How far to scroll so that `low..high` comes into `from..to` by the nearest way.
function nearest(low, high, from, to) {
  if (low >= from - 0.5 && high <= to + 0.5) return 0;
  if (high - low > to - from) return low <= from && high >= to ? 0 : low - from;
  return low < from ? low - from : high - to;
}

function targetBox(element) {
  for (const text of textsIn(element).slice(0, 1)) {
    const rects = textRects(text).filter((box) => !isEmpty(box));
    if (rects.length > 0) {
      const box = fromDom(rectOf(element));
      // The whole element when it fits, so that an action has all of it; else its text.
      return isEmpty(box) || box.y1 - box.y0 > viewport().y1 ? rects[0] : box;
    }
  }
  return fromDom(rectOf(element));
}

/// Scrolls what a person could scroll (never `overflow: hidden`) until `boxOf()` is in view, as far as that goes.
function scrollTo_(element, boxOf) {
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
          left: x ? nearest(box.x0, box.x1, left, left + clientWidth(at)) : 0, top: y ? nearest(box.y0, box.y1, top, top + clientHeight(at)) : 0, behavior: "instant",
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
  const left = stuckX ? 0 : nearest(box.x0, box.x1, 0, clientWidth(scroller) || area.x1);
  const top = stuckY ? 0 : nearest(box.y0, box.y1, 0, clientHeight(scroller) || area.y1);
  if (left !== 0 || top !== 0) scrollElementBy(scroller, { left, top, behavior: "instant" });
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
  }
  return flatContains(other, element) ? "ancestor" : "other";
}

/// The point at which an element is acted on: the middle of its first box that is shown; null when none is.
function actionPoint(element) {
  const boxes = [...rectsOf(element)].map(fromDom).filter((box) => !isEmpty(box));
  const pieces = boxes.length > 0 ? pieceOf(element, boxes, false).shown : factsOf(element, false).pieces ?? [];
  return pieces.length === 0 ? null : [(pieces[0].x0 + pieces[0].x1) / 2, (pieces[0].y0 + pieces[0].y1) / 2];
}

function hitOf(element) {
  const point = actionPoint(element);
  if (point === null) return null;
  const [x, y] = point;
  const at = elementAt(x, y);
  const is = at === null ? "nothing" : whose(element, at, true);
  return { x: px(x), y: px(y), is, other: at === null || is === "own" ? null : pathOf(at) };
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
