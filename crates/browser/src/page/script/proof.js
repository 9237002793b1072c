// Making an element's own paint transparent, for the pixel proof, and taking that back. A Web Animation needs no style of the page, and loses only to
// what the page declares `!important`; so each way is tried and its computed value asked whether it took effect.
let faded = [];
const CLEAR = "rgba(0, 0, 0, 0)";
const computedAlpha = (element, name) => colour(css(computedStyle(element), name))[3];

/// The text of each element that was last looked at for a locator by text, as `[text node, from, to]`; null where all of its text counts.
const lastMeant = new WeakMap();
const meantTexts = (element) => lastMeant.get(element)?.map(([node]) => node) ?? textsIn(element);

/// The elements that a text is painted by: its parent in the flat tree and in the document.
const holdersOf = (text) => [flatParent(text), isShadowRoot(parentNode(text)) ? hostOf(parentNode(text)) : parentNode(text)].filter(isElement);

/// Whether something inside an element is what paints its text, or the element has no text. Anything else on top of it is a cover.
function holdsText(element, other) {
  const texts = meantTexts(element);
  return texts.length === 0 || texts.some((text) => holdersOf(text).includes(other));
}

/// Text is cleared by `color`, for no animation takes a fill colour. What else an element paints in `currentcolor` keeps its colour.
const CLEAR_TEXT = { color: CLEAR, textShadow: "none", textDecorationColor: CLEAR, textEmphasisColor: CLEAR };
const CLEAR_SVG = { fillOpacity: "0", strokeOpacity: "0" };
const FOLLOWERS = ["borderTopColor", "borderRightColor", "borderBottomColor", "borderLeftColor", "outlineColor", "backgroundColor", "boxShadow"];
const asIs = (style, names) => Object.fromEntries(names.map((name) => [name, css(style, dashed(name))]));
const isSvg = (element) => namespaceOf(element) === SVG;

/// One way: keyframe by element, and whether it took effect on an element.
const WAYS = {
  text_colour: [
    (element) => (isSvg(element) ? CLEAR_SVG : { ...CLEAR_TEXT, ...asIs(computedStyle(element), FOLLOWERS) }),
    (element) => {
      const style = computedStyle(element);
      if (isSvg(element)) return css(style, "fill-opacity") === "0" && css(style, "stroke-opacity") === "0";
      return computedAlpha(element, "-webkit-text-fill-color") === 0 && css(style, "text-shadow") === "none" && computedAlpha(element, "text-decoration-color") === 0
        && colour(css(computedStyle(element, "::first-line"), "-webkit-text-fill-color"))[3] === 0;
    },
  ],
  opacity: [() => ({ opacity: "0" }), (element) => Number(css(computedStyle(element), "opacity")) === 0],
  filter: [() => ({ filter: "opacity(0)" }), (element) => css(computedStyle(element), "filter") === "opacity(0)"],
  clip_path: [() => ({ clipPath: "inset(100%)" }), (element) => css(computedStyle(element), "clip-path") === "inset(100%)"],
};

function holdAt(element, keyframe, pseudoElement) {
  const animation = animate(element, [keyframe, keyframe], { duration: 1000, fill: "both", composite: "replace", ...(pseudoElement === undefined ? {} : { pseudoElement }) });
  animation.pause();
  animation.currentTime = 500;
  faded.push(animation);
}

/// Keeps an element, or what it generates, as it is while its parent's text is cleared, which it would inherit.
function keep(element, pseudo) {
  const style = computedStyle(element, pseudo);
  holdAt(element, asIs(style, Object.keys(isSvg(element) && pseudo === undefined ? { ...CLEAR_SVG, color: "" } : CLEAR_TEXT)), pseudo);
}
const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/// What would inherit a clear text colour without holding any of the text.
const bystanders = (holders) => [...new Set(holders.flatMap((holder) => [...flatChildren(holder)].filter(isElement).slice(0, 200)))].filter((element) => !holders.includes(element));

/// Whether nothing but text is painted in an element, so that it can be taken away as a whole.
function paintsOnlyText(element) {
  const all = [element, ...query(element, "*").slice(0, 200)];
  return all.every((at) => {
    const style = computedStyle(at);
    const [width, edge] = ["border-top-width", "border-top-style"].map((name) => css(style, name));
    return !REPLACED.has(localName(at)) && !CONTROLS.has(localName(at)) && rootOf(at) === null && colour(css(style, "background-color"))[3] === 0 && css(style, "background-image") === "none"
      && css(style, "box-shadow") === "none" && (edge === "none" || Number.parseFloat(width) === 0) && ["::before", "::after"].every((kind) => /^(none|normal)$/.test(css(computedStyle(at, kind), "content")));
  });
}

/// Makes an element of a look transparent; gives the way that took effect, or `none`.
function fade(look, index) {
  restore();
  const shown = shownFor(look, index);
  const byText = Boolean(lastMeant.get(shown));
  const instead = byText ? null : drawnInstead(shown, textPieces(textsIn(shown)));
  const element = instead?.at ?? shown;
  const texts = instead !== null ? [] : meantTexts(element).filter((text) => textRects(text).some((box) => !isEmpty(box)));
  const holders = [...new Set(texts.flatMap((text) => holdersOf(text).slice(0, 1)))];
  const clipsText = holders.some((holder) => {
    for (let at = holder; at !== null; at = flatParent(at)) if (css(computedStyle(at), "background-clip").includes("text")) return true;
    return false;
  });
  const whole = ["opacity", "filter", "clip_path"];
  const ways = [];
  if (holders.length > 0 && !clipsText) {
    // Highlights and selections have colours of their own, which nothing takes away.
    const ownColours = CSS.highlights.size > 0 || selectionOf(doc)?.type === "Range";
    if (!ownColours) ways.push(["text_colour", holders]);
    // Without a way to take the text alone, what is behind or upon it would be taken along, and prove nothing.
    if (holders.every(paintsOnlyText)) for (const name of whole) ways.push([name, holders]);
  } else for (const name of whole) ways.push([name, holders.length > 0 ? [element, ...holders] : [element]]);
  for (const [name, elements] of ways) {
    const [keyframe, took] = WAYS[name];
    if (name === "text_colour") {
      bystanders(holders).forEach((one) => keep(one));
      for (const holder of holders) for (const kind of ["::before", "::after"]) if (!/^(none|normal)$/.test(css(computedStyle(holder, kind), "content"))) keep(holder, kind);
    }
    for (const one of elements) holdAt(one, keyframe(one));
    if (name === "text_colour" || holders.length > 0 && !clipsText ? elements.every(took) : took(elements[0])) return name;
    restore();
  }
  return "none";
}

function restore() {
  for (const animation of faded) animation.cancel();
  faded = [];
}

/// Fades or restores; where the frame paints in another process than the tab, two frames are waited for.
function proof(look, index, on, wait) {
  const way = on ? fade(look, index) : (restore(), "none");
  return wait ? heldStill([], true).then(() => JSON.stringify(way)) : JSON.stringify(way);
}
