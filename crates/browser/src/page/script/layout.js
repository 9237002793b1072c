// Layout and paint of one element, as facts. Lengths leave this file in hundredths of a CSS pixel, in the frame's viewport.
const px = (length) => Math.round(length * 100);
const MAX_BOXES = 16;
const MAX_TEXTS = 24;
const REPLACED = new Set(["img", "canvas", "video", "picture", "object", "embed", "iframe", "frame", "svg"]);
const CONTROLS = new Set(["input", "textarea", "select", "progress", "meter", "audio"]);

const rect = (x0, y0, x1, y1) => ({ x0, y0, x1, y1 });
const fromDom = (r) => rect(r.left, r.top, r.right, r.bottom);
const meet = (a, b) => rect(Math.max(a.x0, b.x0), Math.max(a.y0, b.y0), Math.min(a.x1, b.x1), Math.min(a.y1, b.y1));
const isEmpty = (r) => r.x1 - r.x0 <= 0 || r.y1 - r.y0 <= 0;
const union = (a, b) => rect(Math.min(a.x0, b.x0), Math.min(a.y0, b.y0), Math.max(a.x1, b.x1), Math.max(a.y1, b.y1));
const out = (r) => [px(r.x0), px(r.y0), Math.max(0, px(r.x1) - px(r.x0)), Math.max(0, px(r.y1) - px(r.y0))];
const viewport = () => {
  const root = documentElementOf(doc);
  return rect(0, 0, Math.max(window.innerWidth, 0), Math.max(root === null ? 0 : window.innerHeight, 0));
};

let pen = null;
const colours = new Map();
/// A computed colour as `[r, g, b, a]`, 0 to 255 and 0 to 1.
function colour(text) {
  const known = colours.get(text);
  if (known !== undefined) return known;
  let value;
  const plain = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
  if (plain !== null) value = [Number(plain[1]), Number(plain[2]), Number(plain[3]), plain[4] === undefined ? 1 : Number(plain[4])];
  else {
    pen ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = "rgba(0, 0, 0, 0)";
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    const data = pen.getImageData(0, 0, 1, 1).data;
    value = [data[0], data[1], data[2], data[3] / 255];
  }
  if (colours.size > 500) colours.clear();
  colours.set(text, value);
  return value;
}
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const apart = (a, b) => Math.round(Math.max(Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1]), Math.abs(a[2] - b[2])));

/// What an ancestor chain does to what is inside it: one walk for each element that holds text.
function chainOf(element) {
  const chain = { opacity: 1, effects: new Set(), clips: [], fixed: false };
  const root = documentElementOf(doc);
  const body = bodyOf(doc);
  const rootStyle = root === null ? null : computedStyle(root);
  const rootClips = rootStyle !== null && css(rootStyle, "overflow-x") !== "visible";
  let position = null;
  for (let at = element; at !== null; at = flatParent(at)) {
    const style = computedStyle(at);
    chain.opacity *= Number(css(style, "opacity"));
    const filter = css(style, "filter");
    if (filter !== "none") {
      chain.effects.add("filter");
      for (const part of filter.matchAll(/opacity\(([\d.]+)(%?)\)/g)) chain.opacity *= Math.min(1, Number(part[1]) / (part[2] === "%" ? 100 : 1));
    }
    if (css(style, "backdrop-filter") !== "none" && at !== element) chain.effects.add("filter");
    if (css(style, "mix-blend-mode") !== "normal") chain.effects.add("blend");
    if (css(style, "mask-image") !== "none" || css(style, "-webkit-mask-box-image-source") !== "none") chain.effects.add("mask");
    if (css(style, "backface-visibility") === "hidden" || css(style, "transform").startsWith("matrix3d") || css(style, "perspective") !== "none") chain.effects.add("transform3d");
    const path = css(style, "clip-path");
    if (path !== "none") {
      chain.effects.add("clip_path");
      const area = clipPathArea(path, at);
      if (area !== null) chain.clips.push({ cut: "clip", area });
    }
    const place = css(style, "position");
    if (place === "absolute" || place === "fixed") {
      const clip = /^rect\((.+)\)$/.exec(css(style, "clip"));
      if (clip !== null) {
        const box = fromDom(rectOf(at));
        const [top, right, bottom, left] = clip[1].split(/[,\s]+/).map((edge) => (edge === "auto" ? null : Number.parseFloat(edge)));
        chain.clips.push({ cut: "clip", area: rect(left === null ? -1e9 : box.x0 + left, top === null ? -1e9 : box.y0 + top, right === null ? 1e9 : box.x0 + right, bottom === null ? 1e9 : box.y0 + bottom) });
      }
    }
    // A box clips what it is a containing block of; `position` tells whom that is.
    const holdsFixed = css(style, "transform") !== "none" || filter !== "none" || css(style, "perspective") !== "none" || /paint|layout|strict|content/.test(css(style, "contain")) || /transform|filter|perspective/.test(css(style, "will-change")) || css(style, "backdrop-filter") !== "none" || css(style, "translate") !== "none" || css(style, "scale") !== "none" || css(style, "rotate") !== "none";
    const isBlock = position === null || position === "normal" || (position === "absolute" && (place !== "static" || holdsFixed)) || (position === "fixed" && holdsFixed);
    if (isBlock) {
      const toViewport = at === root || (at === body && !rootClips);
      if (at !== element || position === null) {
        const x = css(style, "overflow-x");
        const y = css(style, "overflow-y");
        const paints = /paint|strict|content/.test(css(style, "contain"));
        if (!toViewport && css(style, "display") !== "inline" && css(style, "display") !== "contents" && (x !== "visible" || y !== "visible" || paints)) {
          chain.clips.push({ cut: "overflow", area: paddingBox(at, x !== "visible" || paints, y !== "visible" || paints), scrolls: /auto|scroll/.test(x + y) });
        }
      }
      position = place === "fixed" ? "fixed" : place === "absolute" ? "absolute" : "normal";
      if (position === "fixed") chain.fixed = true;
    }
  }
  return chain;
}

function paddingBox(element, clipX, clipY) {
  const box = rectOf(element);
  const width = element instanceof HTMLElement ? offsetWidth(element) : 0;
  const height = element instanceof HTMLElement ? offsetHeight(element) : 0;
  const sx = width > 0 ? box.width / width : 1;
  const sy = height > 0 ? box.height / height : 1;
  const style = computedStyle(element);
  const edge = (side) => Number.parseFloat(css(style, `border-${side}-width`)) || 0;
  return rect(
    clipX ? box.left + edge("left") * sx : -1e9, clipY ? box.top + edge("top") * sy : -1e9,
    clipX ? box.right - edge("right") * sx : 1e9, clipY ? box.bottom - edge("bottom") * sy : 1e9,
  );
}

/// What a basic shape leaves at most; null when that cannot be told.
function clipPathArea(path, element) {
  const box = fromDom(rectOf(element));
  const inset = /^inset\(([^)]*)\)/.exec(path);
  if (inset !== null) {
    const edges = inset[1].split(" round ")[0].trim().split(/\s+/);
    if (edges.some((edge) => !/^-?[\d.]+(px|%)?$/.test(edge))) return null;
    const [top, right = top, bottom = top, left = right] = edges;
    const length = (edge, whole) => (edge.endsWith("%") ? (Number.parseFloat(edge) / 100) * whole : Number.parseFloat(edge));
    const width = box.x1 - box.x0;
    const height = box.y1 - box.y0;
    return rect(box.x0 + length(left, width), box.y0 + length(top, height), box.x1 - length(right, width), box.y1 - length(bottom, height));
  }
  if (/^(circle|ellipse)\(0(px|%)?( |\)|$)/.test(path)) return rect(0, 0, 0, 0);
  const polygon = /^polygon\((.*)\)$/.exec(path);
  if (polygon !== null) {
    const points = polygon[1].replace(/^(nonzero|evenodd),\s*/, "").split(",").map((point) => point.trim());
    if (new Set(points).size < 3) return rect(0, 0, 0, 0);
  }
  return null;
}

/// What is behind text: solid, or not known.
function behind(element, box) {
  const layers = [];
  let picture = false;
  for (let at = element; at !== null; at = flatParent(at)) {
    const style = computedStyle(at);
    const root = at === documentElementOf(doc) || at === bodyOf(doc);
    if (css(style, "background-image") !== "none") {
      if (css(style, "background-clip").includes("text")) return { solid: null, picture: true, textPaint: true };
      picture = true;
      break;
    }
    const paint = colour(css(style, "background-color"));
    if (paint[3] === 0) continue;
    if (!root && box !== null) {
      // An ancestor whose box is elsewhere is not behind it.
      const own = rectOf(at);
      const inside = own.left <= box.x0 + 1 && own.right >= box.x1 - 1 && own.top <= box.y0 + 1 && own.bottom >= box.y1 - 1;
      if (!inside) {
        if (css(style, "display") !== "inline" && !isEmpty(meet(fromDom(own), box))) picture = true;
        continue;
      }
    }
    layers.push(paint);
    if (paint[3] === 1) break;
  }
  if (picture) return { solid: null, picture: true, textPaint: false };
  const root = documentElementOf(doc);
  const dark = root !== null && css(computedStyle(root), "color-scheme").includes("dark") && window.matchMedia("(prefers-color-scheme: dark)").matches;
  let solid = dark ? [18, 18, 18, 1] : [255, 255, 255, 1];
  for (const layer of layers.reverse()) solid = over(layer, solid);
  return { solid, picture: false, textPaint: false };
}

/// The text nodes inside an element that have boxes, or would have some.
function textsIn(element) {
  const found = [];
  let visited = 0;
  const visit = (node, depth) => {
    if (found.length >= MAX_TEXTS || visited > 1500 || depth > 300) return;
    visited += 1;
    if (nodeType(node) === TEXT) {
      if (/[^\s\u200b\u00ad]/.test(dataOf(node))) found.push(node);
      return;
    }
    if (!isElement(node) || NO_TEXT.has(localName(node)) || CONTROLS.has(localName(node))) return;
    if (node !== element && !checkVisibility(node) && css(computedStyle(node), "display") !== "contents") return;
    for (const child of flatChildren(node)) visit(child, depth + 1);
  };
  visit(element, 0);
  return found;
}

function textRects(node) {
  const range = createRange(doc);
  const text = dataOf(node);
  const start = text.search(/[^\s]/);
  range.setStart(node, Math.max(0, start));
  range.setEnd(node, text.trimEnd().length || text.length);
  return [...range.getClientRects()].map(fromDom);
}


/// One text, or the element itself when it has none, as it is painted.
function pieceOf(element, rects, isText) {
  const style = computedStyle(element);
  const chain = chainOf(element);
  const effects = chain.effects;
  const piece = { rects, shown: [], cut: null, visibility: css(style, "visibility") === "visible", opacity: chain.opacity, font: null, contrast: null, effects };
  const window_ = viewport();
  for (const box of rects) {
    let left = box;
    let cut = isEmpty(box) ? "no_area" : null;
    for (const clip of chain.clips) {
      left = meet(left, clip.area);
      if (cut === null && isEmpty(left)) cut = clip.cut;
    }
    if (cut === null) {
      const visible = meet(left, window_);
      if (isEmpty(visible)) cut = reachable(left, chain.fixed) ? "below" : "unreachable";
      left = visible;
    }
    if (cut === null) piece.shown.push(left);
    else piece.cut ??= cut;
  }
  if (piece.shown.length > 0) piece.cut = null;
  const area = rects.find((box) => !isEmpty(box)) ?? null;
  if (isText) {
    piece.font = Math.round(Number.parseFloat(css(style, "font-size")) * 100);
    if (piece.font < 600 && piece.font > 0) effects.add("small_text");
    const back = behind(element, area);
    if (back.textPaint) effects.add("text_paint");
    const fill = colour(css(style, "-webkit-text-fill-color"));
    if (back.solid !== null) {
      piece.contrast = apart(over(fill, back.solid), back.solid);
      if (piece.contrast < 24 && css(style, "text-shadow") !== "none") effects.add("text_paint");
      if (piece.contrast * Math.min(1, chain.opacity) < 60) effects.add("low_contrast");
    } else {
      effects.add("background_image");
      if (fill[3] < 0.1) piece.contrast = 0;
    }
    if (Number.parseFloat(css(style, "-webkit-text-stroke-width")) > 0) effects.add("text_paint");
  } else {
    const tag = localName(element);
    if (CONTROLS.has(tag)) piece.contrast = 255;
    else if (REPLACED.has(tag) || namespaceOf(element) === "http://www.w3.org/2000/svg") {
      piece.contrast = 255;
      effects.add("replaced");
    } else piece.contrast = boxContrast(element, style);
  }
  if (chain.opacity < 0.5) effects.add("low_opacity");
  return piece;
}

/// How much an element's own box stands out; null when it paints none that can be told.
function boxContrast(element, style) {
  const parent = flatParent(element);
  const back = parent === null ? { solid: [255, 255, 255, 1] } : behind(parent, null);
  if (back.solid === null) return null;
  let most = apart(over(colour(css(style, "background-color")), back.solid), back.solid);
  for (const side of ["top", "right", "bottom", "left"]) {
    if (css(style, `border-${side}-style`) === "none" || Number.parseFloat(css(style, `border-${side}-width`)) < 1) continue;
    most = Math.max(most, apart(over(colour(css(style, `border-${side}-color`)), back.solid), back.solid));
  }
  return most >= 24 ? most : null;
}

/// Whether scrolling the document could bring a box into view.
function reachable(box, fixed) {
  if (fixed) return false;
  const scroller = scrollingElementOf(doc);
  if (scroller === null) return false;
  const x = scrollLeft(scroller);
  const y = scrollTop(scroller);
  const spareX = scrollWidth(scroller) - clientWidth(scroller);
  const spareY = scrollHeight(scroller) - clientHeight(scroller);
  const rtl = css(computedStyle(documentElementOf(doc)), "direction") === "rtl";
  const [minX, maxX] = rtl ? [-spareX, 0] : [0, spareX];
  const [stuckX, stuckY] = viewportScrollLock();
  const area = viewport();
  const left = stuckX ? box.x0 : box.x0 + x - maxX;
  const right = stuckX ? box.x1 : box.x1 + x - minX;
  const top = stuckY ? box.y0 : box.y0 + y - spareY;
  const bottom = stuckY ? box.y1 : box.y1 + y;
  return right > 0 && left < area.x1 && bottom > 0 && top < area.y1;
}

/// Whether a person cannot scroll the viewport along x and y.
function viewportScrollLock() {
  const root = documentElementOf(doc);
  const body = bodyOf(doc);
  if (root === null) return [true, true];
  let style = computedStyle(root);
  if (css(style, "overflow-x") === "visible" && css(style, "overflow-y") === "visible" && body !== null) style = computedStyle(body);
  return [/hidden|clip/.test(css(style, "overflow-x")), /hidden|clip/.test(css(style, "overflow-y"))];
}

/// Inside a closed `details` or `content-visibility: hidden`, where boxes are laid out and never painted.
function isSkipped(element) {
  for (let at = element; at !== null; at = flatParent(at)) {
    if (css(computedStyle(at), "display") !== "contents") return !checkVisibility(at) && rectsOf(element).length > 0;
  }
  return false;
}

/// The facts of an element. `strict`: all of its text counts, not the best of it.
function factsOf(element, strict, texts = null) {
  if (!isConnected(element) || isSkipped(element)) return { rendered: false, boxes: [], effects: [], opacity: 0, visibility: false, points: [] };
  const texts_ = texts ?? textsIn(element);
  const pieces = [];
  for (const text of texts_) {
    const holder = flatParent(text);
    if (holder === null) continue;
    const rects = textRects(text);
    if (rects.length === 0) continue;
    pieces.push(pieceOf(holder, rects, true));
  }
  const tag = localName(element);
  const hasBox = rectsOf(element).length > 0;
  if (pieces.length === 0) {
    // No text that is laid out: the box of the element, or of what it holds.
    let from = element;
    if (!hasBox && css(computedStyle(element), "display") === "contents") for (const child of flatChildren(element)) if (isElement(child) && rectsOf(child).length > 0) from = child;
    const holds = REPLACED.has(tag) || CONTROLS.has(tag) ? null : replacedIn(element);
    if (holds !== null && rectsOf(holds).length > 0) from = holds;
    const boxes = [...rectsOf(from)].map(fromDom);
    if (boxes.length === 0) return { rendered: false, boxes: [], effects: [], opacity: Math.round(1000 * chainOf(element).opacity), visibility: css(computedStyle(element), "visibility") === "visible", points: [] };
    pieces.push(pieceOf(from, boxes, false));
  }
  const score = (piece) => (piece.visibility ? 1e6 : 0) + (piece.shown.length > 0 ? 1e5 : 0) + (piece.contrast ?? 128) * Math.min(1, piece.opacity);
  pieces.sort((a, b) => score(b) - score(a));
  const chosen = strict && pieces.length <= 6 ? pieces[pieces.length - 1] : pieces[0];
  const boxes = pieces.flatMap((piece) => piece.rects).sort((a, b) => size(b) - size(a)).slice(0, MAX_BOXES);
  const shown = (strict && chosen.shown.length === 0 ? [] : pieces.filter((piece) => piece.visibility).flatMap((piece) => piece.shown)).sort((a, b) => size(b) - size(a));
  const effects = new Set(chosen.effects);
  return {
    rendered: true,
    boxes: boxes.map(out),
    shown: shown.length > 0 ? out(shown.reduce(union)) : null,
    pieces: shown.slice(0, 5),
    cut: shown.length > 0 ? null : chosen.cut,
    visibility: chosen.visibility,
    opacity: Math.round(Math.min(1, chosen.opacity) * 1000),
    font: chosen.font,
    contrast: chosen.contrast,
    effects: [...effects],
    points: pointsIn(shown.slice(0, 5)),
  };
}
const size = (box) => Math.max(0, box.x1 - box.x0) * Math.max(0, box.y1 - box.y0);

function replacedIn(element) {
  const root = rootOf(element);
  for (const from of root === null ? [element] : [root, element]) {
    const found = query(from, "img,canvas,video,svg,iframe,object,embed,input:not([type=hidden]),textarea,select,progress,meter");
    if (found.length > 0) return found[0];
  }
  return null;
}

const SPOTS = [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.3, 0.25], [0.7, 0.75]];
/// Points, whole pixels, inside what is shown: three on one line, five over several. Each costs a question to the browser, and one
/// that is covered is enough to ask for a proof.
function pointsIn(boxes) {
  if (boxes.length === 0) return [];
  return SPOTS.slice(0, boxes.length === 1 ? 3 : 5).map(([fx, fy], i) => {
    const box = boxes[i % boxes.length];
    const inside = (low, high, part) => {
      const at = Math.floor(low + (high - low) * part);
      return at < Math.ceil(low) && Math.ceil(low) < high ? Math.ceil(low) : at;
    };
    return [inside(box.x0, box.x1, fx), inside(box.y0, box.y1, fy)];
  });
}
