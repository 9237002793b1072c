// Layout and paint of one element, as facts. Lengths leave this file in hundredths of a CSS pixel, in the frame's viewport.
const px = (length) => Math.round(length * 100);
const MAX_BOXES = 16;
const MAX_TEXTS = 24;
const REPLACED = new Set(["img", "canvas", "video", "picture", "object", "embed", "iframe", "frame", "svg"]);
const SVG = "http://www.w3.org/2000/svg";
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
  const chain = { opacity: 1, effects: new Set(), clips: [], fixed: false, scale: 1 };
  let shape = [1, 0, 0, 1];
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
    shape = shapeIn(css(style, "transform"), css(style, "scale"), shape);
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
  chain.scale = leastScale(shape) * zoomOf(element);
  return chain;
}

/// The linear part `[a, b, c, d]` of a shape inside a box with this computed `transform` and `scale`.
function shapeIn(transform, scale, shape) {
  const times = ([a, b, c, d], [e, f, g, h]) => [a * e + c * f, b * e + d * f, a * g + c * h, b * g + d * h];
  const numbers = transform === "none" ? [] : (/^matrix(?:3d)?\((.*)\)$/.exec(transform)?.[1] ?? "").split(",").map(Number);
  let next = shape;
  if (numbers.length === 6) next = times(numbers.slice(0, 4), next);
  else if (numbers.length === 16) next = times([numbers[0], numbers[1], numbers[4], numbers[5]], next);
  if (scale !== "none") {
    const [x, y = x] = scale.split(" ").map(Number);
    next = times([x, 0, 0, y], next);
  }
  return next;
}

/// How much a linear map shrinks at most in any direction: its least singular value.
function leastScale([a, b, c, d]) {
  const all = a * a + b * b + c * c + d * d;
  const area = a * d - b * c;
  return Math.sqrt(Math.max(0, (all - Math.sqrt(Math.max(0, all * all - 4 * area * area))) / 2));
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
    if (paintsBeside(at, style, box)) {
      picture = true;
      break;
    }
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

/// Whether a box paints more where a text is than the colour of its ground: a generated box, a shadow to the inside, its border, its outline.
function paintsBeside(element, style, box) {
  if (css(style, "box-shadow").includes("inset")) return true;
  if (css(style, "outline-style") !== "none" && Number.parseFloat(css(style, "outline-offset")) < 0) return true;
  for (const name of ["::before", "::after"]) {
    const pseudo = computedStyle(element, name);
    if (/^(none|normal)$/.test(css(pseudo, "content")) || css(pseudo, "display") === "none") continue;
    if (css(pseudo, "background-image") !== "none" || colour(css(pseudo, "background-color"))[3] > 0 || css(pseudo, "box-shadow") !== "none" || css(pseudo, "content").includes("url(")) return true;
    if (/absolute|fixed/.test(css(pseudo, "position")) && ["top", "left"].some((side) => css(pseudo, `border-${side}-style`) !== "none" && Number.parseFloat(css(pseudo, `border-${side}-width`)) > 3)) return true;
  }
  if (box === null || /^(inline|contents)$/.test(css(style, "display"))) return false;
  const edge = (side) => (css(style, `border-${side}-style`) === "none" ? 0 : Number.parseFloat(css(style, `border-${side}-width`)) || 0);
  const [top, right, bottom, left] = ["top", "right", "bottom", "left"].map(edge);
  if (top + right + bottom + left === 0) return false;
  const own = fromDom(rectOf(element));
  // Lines stand 2 px over the edge of a tight box; more is text upon the border.
  const onBorder = (top > 0 && box.y0 < own.y0 + top - 2) || (bottom > 0 && box.y1 > own.y1 - bottom + 2) || (left > 0 && box.x0 < own.x0 + left - 2) || (right > 0 && box.x1 > own.x1 - right + 2);
  return onBorder && !isEmpty(meet(own, box));
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
    for (const child of flatChildren(node)) if (!leavesOut(node, child)) visit(child, depth + 1);
  };
  visit(element, 0);
  return found;
}

/// Boxes of a text node, or of `from..to` of it, white space at its ends left out.
function textRects(node, from = 0, to = Infinity) {
  const range = createRange(doc);
  const text = dataOf(node).slice(0, to);
  const start = from + Math.max(0, text.slice(from).search(/\S/));
  range.setStart(node, start);
  range.setEnd(node, Math.max(start, text.trimEnd().length || text.length));
  return [...range.getClientRects()].map(fromDom);
}

/// Whether what a clip leaves of a box still tells what it is. Of text: half the height of its line, below which letters cannot be told
/// apart, and 3 px of its length, about the narrowest letter of a small font. Of other things: as many pixels as a pixel proof needs.
function isEnough(left, box, style, isText) {
  if (!isText) return size(left) >= Math.min(12, size(box));
  const upright = css(style, "writing-mode") === "horizontal-tb";
  const sides = ({ x0, y0, x1, y1 }) => (upright ? [y1 - y0, x1 - x0] : [x1 - x0, y1 - y0]);
  const [line, along] = sides(left);
  const [whole, length] = sides(box);
  return line >= whole / 2 && along >= Math.min(length, 3);
}


/// One text, or the element itself when it has none, as it is painted.
function pieceOf(element, rects, isText) {
  const style = computedStyle(element);
  const chain = chainOf(element);
  const effects = chain.effects;
  const svg = namespaceOf(element) === SVG;
  const piece = { rects, shown: [], cut: null, visibility: css(style, "visibility") === "visible", opacity: chain.opacity, font: null, contrast: null, effects };
  const window_ = viewport();
  for (const box of rects) {
    let left = box;
    let cut = isEmpty(box) ? "no_area" : null;
    for (const clip of chain.clips) {
      left = meet(left, clip.area);
      if (cut === null && (isEmpty(left) || !isEnough(left, box, style, isText))) cut = clip.cut;
    }
    if (cut === null) {
      const visible = meet(left, window_);
      if (isEmpty(visible) || !isEnough(visible, box, style, isText)) cut = reachable(left, chain.fixed) ? "below" : "unreachable";
      left = visible;
    }
    if (cut === null) piece.shown.push(left);
    else piece.cut ??= cut;
  }
  if (piece.shown.length > 0) piece.cut = null;
  const area = rects.find((box) => !isEmpty(box)) ?? null;
  if (isText) {
    const font = Number.parseFloat(css(style, "font-size"));
    // Text of SVG is scaled by its view box as well, which its boxes tell.
    piece.font = Math.round(100 * (svg && area !== null ? Math.min(font, area.y1 - area.y0) : font * chain.scale));
    if (piece.font < 600 && piece.font > 0) effects.add("small_text");
    const back = behind(element, area);
    if (back.textPaint) effects.add("text_paint");
    if (css(style, "-webkit-text-security") !== "none") effects.add("masked");
    if (isOverpainted(element)) effects.add("text_paint");
    // What SVG paints behind its text is no box of CSS.
    if (svg) back.solid = null;
    const fill = svg ? svgFill(style) : colour(css(style, "-webkit-text-fill-color"));
    if (back.solid !== null) {
      piece.contrast = apart(over(fill, back.solid), back.solid);
      if (piece.contrast < 24 && css(style, "text-shadow") !== "none") effects.add("text_paint");
      if (piece.contrast * Math.min(1, chain.opacity) < 60) effects.add("low_contrast");
    } else {
      effects.add("background_image");
      if (fill[3] < 0.1) piece.contrast = 0;
    }
    if (Number.parseFloat(css(style, "-webkit-text-stroke-width")) > 0 || (svg && css(style, "stroke") !== "none")) effects.add("text_paint");
  } else {
    const tag = localName(element);
    if (CONTROLS.has(tag)) piece.contrast = 255;
    else if (REPLACED.has(tag) || svg) {
      piece.contrast = 255;
      effects.add("replaced");
      if (isBroken(element)) effects.add("broken");
    } else piece.contrast = boxContrast(element, style);
  }
  if (chain.opacity < 0.5) effects.add("low_opacity");
  return piece;
}

/// Fill of SVG text, `[r, g, b, a]`; a paint server counts as opaque.
function svgFill(style) {
  const fill = css(style, "fill");
  if (fill === "none") return [0, 0, 0, 0];
  const [r, g, b, a] = fill.startsWith("url(") ? [0, 0, 0, 1] : colour(fill);
  return [r, g, b, a * Number(css(style, "fill-opacity"))];
}

/// Whether a picture has come to nothing: what stands in its place is its alternative text.
const isBroken = (element) => element instanceof HTMLImageElement && imageComplete(element) && imageWidth(element) === 0;

/// Whether text can have colours that the style of its element does not tell: custom highlights, a selection, a first line of its own.
function isOverpainted(element) {
  if (CSS.highlights.size > 0 || selectionOf(doc)?.type === "Range") return true;
  for (let at = element; at !== null; at = flatParent(at)) {
    const style = computedStyle(at);
    if (/^(inline|contents|ruby)/.test(css(style, "display")) && css(style, "display") !== "inline-block") continue;
    const line = computedStyle(at, "::first-line");
    return ["color", "-webkit-text-fill-color", "font-size"].some((name) => css(line, name) !== css(style, name));
  }
  return false;
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

/// Elements whose own content stands in for what they are, and is mostly not rendered.
const FALLBACK = new Set(["audio", "canvas", "datalist", "embed", "iframe", "meter", "object", "progress", "select", "textarea", "video"]);

/// Whether a child in the flat tree is not painted although its parent is.
function leavesOut(parent, child) {
  if (!isElement(parent)) return false;
  const name = localName(parent);
  if (name === "details" && !hasAttribute(parent, "open")) return child !== firstSummary(parent);
  if (FALLBACK.has(name) && nodeType(child) === TEXT) return textRects(child).length === 0;
  return css(computedStyle(parent), "content-visibility") === "hidden";
}

function firstSummary(details) {
  for (let child = firstElement(details); child !== null; child = nextElement(child)) if (localName(child) === "summary") return child;
  return null;
}

/// The pieces of one occurrence of a text; null when a part of it is not rendered.
function piecesOf(parts) {
  const pieces = [];
  for (const [node, from, to] of parts) {
    const holder = flatParent(node);
    const rects = holder === null || leavesOut(holder, node) || isSkipped(holder) ? [] : textRects(node, from, to);
    if (rects.length === 0) return null;
    pieces.push(pieceOf(holder, rects, true));
  }
  return pieces;
}

const MIN_FONT = 300;
const score = (piece) =>
  (piece.visibility ? 1e6 : 0) + (piece.font === null || piece.font >= MIN_FONT ? 4e5 : 0) + (piece.shown.length > 0 ? 1e5 : 0) + (piece.contrast ?? 128) * Math.min(1, piece.opacity);

/// The facts of an element. `meant`: what of its text is meant, as the occurrences of a text; one of them is enough, and of that every part
/// counts. Without it, the best of its text.
function factsOf(element, meant) {
  const nothing = { rendered: false, boxes: [], effects: [], opacity: 0, visibility: false, points: [] };
  if (!isConnected(element) || isSkipped(element)) return nothing;
  const strict = Array.isArray(meant);
  let pieces = strict ? [] : textPieces(textsIn(element));
  let texts = null;
  if (strict) {
    let best = -1;
    for (const parts of meant) {
      const all = piecesOf(parts);
      const worst = all === null ? -1 : Math.min(...all.map(score));
      if (worst > best) [best, pieces, texts] = [worst, all, parts];
    }
    if (texts === null) return nothing;
  }
  const instead = strict ? null : drawnInstead(element, pieces);
  if (instead !== null) pieces.splice(0, pieces.length, instead.piece);
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
  pieces.sort((a, b) => score(b) - score(a));
  const chosen = strict ? pieces[pieces.length - 1] : pieces[0];
  const boxes = pieces.flatMap((piece) => piece.rects).sort((a, b) => size(b) - size(a)).slice(0, MAX_BOXES);
  const shown = (strict && chosen.shown.length === 0 ? [] : pieces.filter((piece) => piece.visibility).flatMap((piece) => piece.shown)).sort((a, b) => size(b) - size(a));
  const effects = new Set(strict ? pieces.flatMap((piece) => [...piece.effects]) : chosen.effects);
  return {
    rendered: true,
    boxes: boxes.map(out),
    shown: shown.length > 0 ? out(shown.reduce(union)) : null,
    pieces: shown.slice(0, 5),
    texts,
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

/// What is drawn in place of an element's text, when all of that is clipped away (text for screen readers only beside a picture): `{ at, piece }`,
/// the element that draws it and its paint; null where text is shown, or nothing is drawn.
function drawnInstead(element, pieces) {
  if (pieces.length === 0 || pieces.some((piece) => piece.shown.length > 0 || piece.cut === "below")) return null;
  const draws = (at) => REPLACED.has(localName(at)) || css(computedStyle(at), "background-image") !== "none" || ["::before", "::after"].some((kind) => !/^(none|normal|"\s*")$/.test(css(computedStyle(at, kind), "content")));
  const replaced = replacedIn(element);
  for (const at of [...(replaced === null ? [] : [replaced]), element, ...query(element, "*").slice(0, 30)]) {
    const boxes = [...rectsOf(at)].map(fromDom).filter((box) => !isEmpty(box));
    if (boxes.length === 0 || !draws(at)) continue;
    const piece = pieceOf(at, boxes, false);
    if (piece.visibility && (piece.cut === "below" || piece.shown.some((box) => box.x1 - box.x0 > 2 && box.y1 - box.y0 > 2))) return { at, piece };
  }
  return null;
}

/// The paint of each text in an element that is laid out.
function textPieces(texts) {
  const pieces = [];
  for (const text of texts) {
    const holder = flatParent(text);
    const rects = holder === null ? [] : textRects(text);
    if (rects.length > 0) pieces.push(pieceOf(holder, rects, true));
  }
  return pieces;
}

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
