// Making an element's own paint transparent, for the pixel proof, and taking that back. A Web Animation needs no style of the page, and loses only to
// what the page declares `!important`; so each way is tried and its computed value asked whether it took effect.
let faded = [];
const CLEAR = "rgba(0, 0, 0, 0)";
const computedAlpha = (element, name) => colour(css(computedStyle(element), name))[3];

/// One way: keyframe, and whether it took effect on an element.
const WAYS = {
  text_colour: [
    { color: CLEAR, textShadow: "none", textDecorationColor: CLEAR, textEmphasisColor: CLEAR },
    (element) => computedAlpha(element, "-webkit-text-fill-color") === 0 && css(computedStyle(element), "text-shadow") === "none" && computedAlpha(element, "text-decoration-color") === 0,
  ],
  opacity: [{ opacity: "0" }, (element) => Number(css(computedStyle(element), "opacity")) === 0],
  filter: [{ filter: "opacity(0)" }, (element) => css(computedStyle(element), "filter") === "opacity(0)"],
  clip_path: [{ clipPath: "inset(100%)" }, (element) => css(computedStyle(element), "clip-path") === "inset(100%)"],
};

/// Colours that follow `color` where the page set none; they are no text.
const FOLLOWERS = ["borderTopColor", "borderRightColor", "borderBottomColor", "borderLeftColor", "outlineColor"];
const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function start(elements, [keyframe]) {
  for (const element of elements) {
    const frame = { ...keyframe };
    if (keyframe.color !== undefined) for (const name of FOLLOWERS) frame[name] = css(computedStyle(element), dashed(name));
    const animation = animate(element, [frame, frame], { duration: 1000, fill: "both", composite: "replace" });
    animation.pause();
    animation.currentTime = 500;
    faded.push(animation);
  }
}

/// Makes an element of a look transparent; gives the way that took effect, or `none`.
function fade(look, index) {
  restore();
  const element = held(look, index);
  const holders = [...new Set(textsIn(element).filter((text) => textRects(text).some((box) => !isEmpty(box))).map((text) => parentNode(text)).map((parent) => (isShadowRoot(parent) ? hostOf(parent) : parent)))].filter(isElement);
  const clipsText = holders.some((holder) => {
    for (let at = holder; at !== null; at = flatParent(at)) if (css(computedStyle(at), "background-clip").includes("text")) return true;
    return false;
  });
  const ways = [];
  if (holders.length > 0 && !clipsText) {
    ways.push(["text_colour", holders]);
    // Without a way to take the text alone, what is behind it in its own boxes would be taken along, and prove nothing.
    const painted = (at) => colour(css(computedStyle(at), "background-color"))[3] > 0 || css(computedStyle(at), "background-image") !== "none";
    if (![element, ...holders].some(painted)) for (const name of ["opacity", "filter", "clip_path"]) ways.push([name, [element]]);
  } else for (const name of ["opacity", "filter", "clip_path"]) ways.push([name, holders.length > 0 ? [element, ...holders] : [element]]);
  for (const [name, elements] of ways) {
    start(elements, WAYS[name]);
    const took = name === "text_colour" ? elements.every(WAYS[name][1]) : WAYS[name][1](elements[0]);
    if (took) return name;
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
