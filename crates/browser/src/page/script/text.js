// Text as a reader, and as Playwright's locators, see it.
const NO_TEXT = new Set(["script", "style", "noscript", "template", "title", "head", "meta", "link"]);
const UNREAD = [...NO_TEXT].join();
const MAX_TEXT = 4096;
const BUTTONS = 'input[type="button" i],input[type="submit" i],input[type="reset" i]';

/// White space folded, what has no width dropped, not trimmed.
const LOOSE = /[^\S ]|  |[\u200b\u00ad]/;
const squeeze = (text) => (LOOSE.test(text) ? text.replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ") : text);
const fold = (text) => squeeze(text).trim();

/// Text for all text nodes of one root in order, folded across nodes, with where each begins.
function textOf(root, lower) {
  const walker = createWalker(doc, root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  const starts = [];
  const parts = [];
  let length = 0;
  let gap = true;
  let lastParent = null;
  let skip = false;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = parentNode(node);
    if (parent !== lastParent) {
      lastParent = parent;
      skip = isElement(parent) && NO_TEXT.has(localName(parent));
    }
    if (skip) continue;
    let text = squeeze(dataOf(node));
    if (gap && text.charCodeAt(0) === 32) text = text.slice(1);
    if (text === "") continue;
    gap = text.charCodeAt(text.length - 1) === 32;
    if (lower) text = text.toLowerCase();
    nodes.push(node);
    starts.push(length);
    parts.push(text);
    length += text.length;
  }
  return { text: parts.join(""), nodes, starts };
}

/// Whole text of one element, light tree and shadow roots, folded; at most `limit` characters or null.
function fullText(element, limit) {
  if (localName(element) === "input") return matchesSelector(element, BUTTONS) ? fold(inputValue(element)) : "";
  const root = rootOf(element);
  // Most elements hold nothing but text that is read: the platform joins it much faster than a walk.
  const plain = listLength(queryList(element, UNREAD)) === 0;
  let text = plain ? textContent(element) ?? "" : textOf(element, false).text;
  if (root !== null) text += textOf(root, false).text;
  text = fold(text);
  return text.length > limit ? null : text;
}

/// The smallest elements of one root whose text is what is asked for.
function findText(root, test) {
  const found = new Set();
  if (!test.regex) {
    if (test.text !== "") descend(root, test, found);
  } else {
    const { text, nodes, starts } = textOf(root, false);
    const spans = new Map();
    for (let i = 0; i < nodes.length; i += 1) {
      const end = starts[i + 1] ?? text.length;
      for (let at = parentNode(nodes[i]); at !== null && isElement(at); at = parentNode(at)) {
        const span = spans.get(at);
        if (span === undefined) spans.set(at, [starts[i], end]);
        else span[1] = end;
      }
    }
    for (const [element, [start, end]] of spans) if (test.regex.test(text.slice(start, end).trim())) found.add(element);
  }
  for (const button of query(root, BUTTONS)) if (test.of(inputValue(button))) found.add(button);
  if (found.size > 1 && (test.regex || found.size < 5000)) {
    for (const element of [...found]) for (let at = parentNode(element); at !== null && isElement(at); at = parentNode(at)) found.delete(at);
  }
  // What is shown comes before what is hidden: the text around a hidden match can say the same.
  for (const element of [...found].slice(0, 50)) {
    if (checkVisibility(element) || css(computedStyle(element), "display") === "contents") continue;
    let at = parentNode(element);
    while (isElement(at) && !checkVisibility(at)) at = parentNode(at);
    if (!isElement(at) || NO_TEXT.has(localName(at)) || [...found].some((other) => other !== element && contains(at, other) && checkVisibility(other)) || !test.of(renderedText(at))) continue;
    found.delete(element);
    found.add(at);
  }
  return found;
}

/// Goes down to where the text is by the native text of each subtree, which is cheap, and looks closer only there.
function descend(root, test, found) {
  const has = test.exact ? (text) => squeeze(text).includes(test.text) : (text) => squeeze(text).toLowerCase().includes(test.text);
  let unread = null;
  // Text of scripts, styles and the like is in `textContent` and is not text.
  const noText = () => (unread ??= query(root, "script,style,noscript,template,title").reduce((sum, element) => sum + textContent(element).length, 0));
  const holds = (element, text) => {
    if (!test.exact) return noText() === 0 || queryList(element, "script,style,noscript,template,title").length === 0 ? has(text) : squeeze(textOf(element, true).text).includes(test.text);
    if (text.length > 65536 && text.length > 64 * (test.text.length + noText())) return false;
    const folded = fold(text);
    if (folded === test.text) return true;
    return folded.length <= test.text.length + noText() && noText() > 0 && fold(textOf(element, false).text) === test.text;
  };
  const visit = (node, text, depth) => {
    let inside = false;
    for (let child = depth > 1000 ? null : firstElementOf(node); child !== null; child = nextElement(child)) {
      if (NO_TEXT.has(localName(child)) && localName(child) !== "body") continue;
      const part = textContent(child);
      if (part.length < test.text.length) continue;
      // What holds most of its parent's text is gone into unasked: asking costs as much.
      if ((part.length * 2 > text.length || has(part)) && visit(child, part, depth + 1)) inside = true;
    }
    if (inside) return true;
    if (!isElement(node) || !holds(node, text)) return false;
    found.add(node);
    return true;
  };
  const all = textContent(nodeType(root) === 9 ? documentElementOf(root) ?? root : root) ?? "";
  if (has(all)) visit(root, all, 0);
}

/// A test for a locator's text.
function textTest(value, exact, regex) {
  if (regex) {
    let pattern;
    try {
      pattern = new RegExp(value, "u");
    } catch {
      pattern = new RegExp(value);
    }
    return { regex: pattern, exact: false, text: "", of: (text) => pattern.test(fold(text)) };
  }
  const text = exact ? fold(value) : fold(value).toLowerCase();
  return { regex: null, exact, text, of: exact ? (seen) => fold(seen) === text : (seen) => fold(seen).toLowerCase().includes(text) };
}

const MOST_MAPPED = 100000;
const MOST_OCCURRENCES = 12;

/// Where in an element the text of a locator stands: its occurrences, each as parts `[text node, from, to]` that are not white space. Null
/// when that is not text of its own: the label of a button, an option, a control's value.
function meantBy(element, spec) {
  const tag = localName(element);
  if (tag === "input" || tag === "option" || tag === "optgroup" || tag === "textarea") return null;
  const test = textTest(spec.value, spec.exact, spec.regex);
  const nodes = textOf(element, false).nodes;
  let text = "";
  const places = [];
  for (const node of nodes) {
    const data = dataOf(node);
    if (text.length + data.length > MOST_MAPPED) return null;
    for (let i = 0; i < data.length; i += 1) {
      const unit = data[i];
      if (unit === "\u200b" || unit === "\u00ad") continue;
      const gap = /\s/.test(unit);
      if (gap && (text === "" || text.endsWith(" "))) continue;
      text += gap ? " " : unit;
      places.push([node, i]);
    }
  }
  text = text.trimEnd();
  const spans = [];
  if (test.regex !== null) {
    for (const match of text.matchAll(new RegExp(test.regex.source, `${test.regex.flags}g`))) {
      if (match[0].trim() !== "") spans.push([match.index, match.index + match[0].length]);
      if (spans.length >= MOST_OCCURRENCES) break;
    }
  } else if (test.text !== "") {
    const lower = test.exact ? text : text.toLowerCase();
    // A letter whose lower case is longer: places do not fit any more, and all of the text is meant.
    if (lower.length !== text.length) spans.push([0, text.length]);
    else for (let at = lower.indexOf(test.text); at !== -1 && spans.length < MOST_OCCURRENCES; at = lower.indexOf(test.text, at + 1)) spans.push([at, at + test.text.length]);
  }
  const found = spans.map(([from, to]) => {
    const parts = [];
    for (let i = from; i < to; i += 1) {
      if (text[i] === " ") continue;
      const [node, at] = places[i];
      const last = parts[parts.length - 1];
      if (last !== undefined && last[0] === node) last[2] = at + 1;
      else parts.push([node, at, at + 1]);
    }
    return parts;
  });
  return found.filter((parts) => parts.length > 0).length > 0 ? found.filter((parts) => parts.length > 0) : null;
}

const INLINE = new Set(["inline", "inline-block", "inline-flex", "inline-grid", "contents", "ruby", "ruby-text"]);

/// Text that is rendered: no `display: none`, no `visibility: hidden`, blocks apart.
function renderedText(element) {
  const out = [];
  let length = 0;
  let visited = 0;
  const add = (text) => {
    out.push(text);
    length += text.length;
  };
  const visit = (node, depth) => {
    if (length > MAX_TEXT * 2 || visited > 6000 || depth > 400) return;
    visited += 1;
    if (nodeType(node) === TEXT) return add(dataOf(node));
    if (!isElement(node)) return;
    const name = localName(node);
    if (NO_TEXT.has(name)) return;
    if (name === "br") return add(" ");
    if (name === "input") {
      if (matchesSelector(node, BUTTONS)) add(inputValue(node));
      return;
    }
    if (name === "textarea") return;
    if (name === "select" && node instanceof HTMLSelectElement) {
      for (const option of selectedOptions(node)) add(` ${textContent(option)} `);
      return;
    }
    const style = computedStyle(node);
    const display = css(style, "display");
    if (display === "none") return;
    const apart = !INLINE.has(display);
    // What is in a closed `details`, in skipped content or only stands in for something else has no box, or one that is never painted.
    if (display !== "contents" && !checkVisibility(node)) return;
    if (apart) add(" ");
    const shown = css(style, "visibility") === "visible";
    for (const child of flatChildren(node)) if ((shown || isElement(child)) && !leavesOut(node, child)) visit(child, depth + 1);
    if (apart) add(" ");
  };
  visit(element, 0);
  return fold(out.join(""));
}

/// At most `MAX_TEXT` bytes of UTF-8, roughly: three bytes a unit is the worst case.
function bounded(text) {
  if (text.length * 3 <= MAX_TEXT) return [text, false];
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
    if (bytes > MAX_TEXT) return [text.slice(0, i), true];
  }
  return [text, false];
}
