// Roles by HTML-AAM and names by accname, near enough to choose candidates. Where Chromium is asked, its answer counts.
const ROLES = new Set(
  ("alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary contentinfo " +
    "definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img image insertion link list listbox " +
    "listitem log main mark marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation " +
    "progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript " +
    "superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem").split(" "),
);
const SECTIONING = "article,aside,main,nav,section,[role=article],[role=complementary],[role=main],[role=navigation],[role=region]";
const FROM_CONTENT = new Set(
  ("button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab tooltip " +
    "treeitem").split(" "),
);
const PROHIBITED = new Set("caption code definition deletion emphasis generic insertion mark none paragraph presentation strong subscript superscript term time".split(" "));
const INPUT_ROLES = {
  button: "button", checkbox: "checkbox", image: "button", number: "spinbutton", radio: "radio", range: "slider", reset: "button", submit: "button",
  color: "", hidden: "", file: "button", search: "searchbox",
};
const PLAIN = {
  address: "group", area: "link", article: "article", aside: "complementary", blockquote: "blockquote", button: "button", caption: "caption", code: "code",
  datalist: "listbox", dd: "definition", del: "deletion", details: "group", dfn: "term", dialog: "dialog", dt: "term", em: "emphasis", fieldset: "group",
  figure: "figure", h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", hr: "separator", html: "document",
  ins: "insertion", li: "listitem", main: "main", mark: "mark", math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list",
  optgroup: "group", option: "option", output: "status", p: "paragraph", progress: "progressbar", search: "search", strong: "strong", sub: "subscript",
  summary: "button", sup: "superscript", table: "table", tbody: "rowgroup", textarea: "textbox", tfoot: "rowgroup", thead: "rowgroup", time: "time",
  tr: "row", ul: "list", svg: "img",
};

/// Which elements could have a role, as a selector; everything with a `role` is looked at too.
const SOURCES = new Map();
for (const [tag, role] of Object.entries(PLAIN)) SOURCES.set(role, [...(SOURCES.get(role) ?? []), tag]);
const addSource = (role, ...tags) => SOURCES.set(role, [...(SOURCES.get(role) ?? []), ...tags]);
addSource("link", "a");
const inputs = (...types) => types.map((type) => `input[type="${type}" i]`);
addSource("button", ...inputs("button", "submit", "reset", "image", "file"));
addSource("img", "img");
addSource("banner", "header");
addSource("contentinfo", "footer");
addSource("region", "section");
addSource("form", "form");
addSource("combobox", "select", "input");
addSource("listbox", "select");
addSource("cell", "td");
addSource("gridcell", "td");
addSource("columnheader", "th");
addSource("rowheader", "th");
addSource("textbox", "input", "[contenteditable]");
addSource("checkbox", ...inputs("checkbox"));
addSource("switch", ...inputs("checkbox"));
addSource("radio", ...inputs("radio"));
addSource("slider", ...inputs("range"));
addSource("spinbutton", ...inputs("number"));
addSource("searchbox", ...inputs("search"));

const sourcesOf = (role) => [...(SOURCES.get(role) ?? []), "[role]"].join(",");
const plainRole = (role) => (role === "image" ? "img" : role === "presentation" ? "none" : role);

function explicitRole(element) {
  const value = getAttribute(element, "role");
  if (value === null) return "";
  for (const token of value.toLowerCase().split(/\s+/)) if (ROLES.has(token)) return token;
  return "";
}

const named = (element) => hasAttribute(element, "aria-label") || hasAttribute(element, "aria-labelledby") || hasAttribute(element, "title");

function implicitRole(element) {
  const name = localName(element);
  switch (name) {
    case "a": return hasAttribute(element, "href") ? "link" : "";
    case "area": return hasAttribute(element, "href") ? "link" : "";
    case "img": return getAttribute(element, "alt") === "" && !named(element) ? "none" : "img";
    case "header": return closest(element, SECTIONING) === null ? "banner" : "";
    case "footer": return closest(element, SECTIONING) === null ? "contentinfo" : "";
    case "section": return named(element) ? "region" : "";
    case "form": return named(element) ? "form" : "";
    case "select": {
      const size = Number(getAttribute(element, "size") ?? 0);
      return hasAttribute(element, "multiple") || size > 1 ? "listbox" : "combobox";
    }
    case "td": return isElement(parentNode(element)) && closest(element, "[role=grid],[role=treegrid]") !== null ? "gridcell" : "cell";
    case "th": {
      const scope = (getAttribute(element, "scope") ?? "").toLowerCase();
      if (scope === "row" || scope === "rowgroup") return "rowheader";
      if (scope === "col" || scope === "colgroup") return "columnheader";
      return previousElement(element) === null && isElement(parentNode(element)) && closest(element, "thead") === null && queryList(parentNode(element), "td").length > 0 ? "rowheader" : "columnheader";
    }
    case "input": {
      const type = element instanceof HTMLInputElement ? inputType(element) : "text";
      if (type === "checkbox" && hasAttribute(element, "switch")) return "switch";
      const role = INPUT_ROLES[type];
      if (role !== undefined && type !== "search") return role;
      if (hasAttribute(element, "list")) return "combobox";
      return role ?? "textbox";
    }
    case "summary": return isElement(parentNode(element)) && localName(parentNode(element)) === "details" ? "button" : "";
    default: {
      const editable = getAttribute(element, "contenteditable");
      const role = Object.hasOwn(PLAIN, name) ? PLAIN[name] : "";
      if (role === "" && editable !== null && editable !== "false") return "";
      return role;
    }
  }
}

function roleOf(element) {
  const explicit = explicitRole(element);
  return plainRole(explicit === "none" && hasAttribute(element, "tabindex") ? implicitRole(element) : explicit || implicitRole(element));
}

/// Not in the accessibility tree: not rendered, invisible, `aria-hidden`.
function isHiddenFromAria(element) {
  let at = element;
  if (localName(element) === "option") at = closest(element, "select") ?? element;
  if (!checkVisibility(at, { visibilityProperty: true })) {
    const style = computedStyle(at);
    if (css(style, "display") !== "contents" || css(style, "visibility") !== "visible") return true;
    for (let up = flatParent(at); up !== null; up = flatParent(up)) {
      const display = css(computedStyle(up), "display");
      if (display === "none") return true;
      if (display !== "contents") break;
    }
  }
  for (let node = element; node !== null; ) {
    const root = getRootNode(node);
    if (hidesAny(root) && closest(node, '[aria-hidden="true" i]') !== null) return true;
    node = isShadowRoot(root) ? hostOf(root) : null;
  }
  return false;
}

/// Whether anything in a tree is `aria-hidden`, kept for one look.
function hidesAny(root) {
  let any = hiding.get(root);
  if (any === undefined) {
    any = listLength(queryList(root, "[aria-hidden]")) > 0;
    hiding.set(root, any);
  }
  return any;
}
let hiding = new Map();

/// The elements that an attribute of ids names.
function byIds(element, attribute) {
  const value = getAttribute(element, attribute);
  if (value === null) return null;
  const root = getRootNode(element);
  const found = [];
  for (const id of value.split(/\s+/)) {
    const one = id === "" ? null : nodeType(root) === 9 ? elementById(root, id) : isShadowRoot(root) ? fragmentById(root, id) : null;
    if (one !== null) found.push(one);
  }
  return found.length > 0 ? found : null;
}

const LABELLED = new Set(["button", "input", "meter", "output", "progress", "select", "textarea"]);
/// The labels of each control, by tree, kept for one look: `element.labels` walks the whole tree each time that something changed.
let labelled = new Map();
function forgetLabels() {
  labelled = new Map();
  hiding = new Map();
}

/// The controls of one tree that have labels, each with them.
function labelledIn(root) {
  let index = labelled.get(root);
  if (index === undefined) {
    index = new Map();
    for (const label of query(root, "label")) {
      const control = label instanceof HTMLLabelElement ? labelControl(label) : null;
      if (control === null || !LABELLED.has(localName(control))) continue;
      const others = index.get(control);
      if (others === undefined) index.set(control, [label]);
      else others.push(label);
    }
    labelled.set(root, index);
  }
  return index;
}

const labelsOf = (element) => (LABELLED.has(localName(element)) ? labelledIn(getRootNode(element)).get(element) ?? [] : []);

/// The texts of an element's labels, as Playwright's `getByLabel` takes them.
function labelTexts(element) {
  const by = byIds(element, "aria-labelledby");
  if (by !== null) return by.map((label) => fullText(label, Infinity));
  const own = getAttribute(element, "aria-label");
  if (own !== null && own.trim() !== "") return [fold(own)];
  return labelsOf(element).map((label) => fullText(label, Infinity));
}

/// The name from an element's content.
function contentName(element, depth, hidden) {
  if (depth > 60) return "";
  let out = "";
  for (const child of flatChildren(element)) {
    if (nodeType(child) === TEXT) {
      out += dataOf(child);
      continue;
    }
    if (!isElement(child) || NO_TEXT.has(localName(child))) continue;
    if (!hidden && getAttribute(child, "aria-hidden") === "true") continue;
    const style = computedStyle(child);
    const display = css(style, "display");
    if (!hidden && (display === "none" || css(style, "visibility") !== "visible")) continue;
    const text = nameOf(child, depth + 1, hidden);
    out += INLINE.has(display) && display !== "inline-block" ? text : ` ${text} `;
  }
  return out;
}

/// The accessible name; `depth` above 0 is within another's name.
function nameOf(element, depth = 0, hidden = false) {
  const role = roleOf(element);
  if (depth === 0) {
    const by = byIds(element, "aria-labelledby");
    if (by !== null) return fold(by.map((one) => nameOf(one, 1, true)).join(" "));
  }
  const label = getAttribute(element, "aria-label");
  if (label !== null && label.trim() !== "" && (depth > 0 || !PROHIBITED.has(role))) return fold(label);
  const tag = localName(element);
  if (tag === "input" && element instanceof HTMLInputElement) {
    const type = inputType(element);
    if (type === "submit" || type === "button" || type === "reset") {
      const value = inputValue(element);
      if (value.trim() !== "" || hasAttribute(element, "value")) return fold(value);
      if (type === "submit") return "Submit";
      if (type === "reset") return "Reset";
    }
    if (type === "image") return fold(getAttribute(element, "alt") ?? getAttribute(element, "title") ?? "Submit");
    if (depth > 0 && (type === "text" || type === "search" || type === "number" || type === "email")) return inputValue(element);
  }
  if (depth === 0) {
    const labels = labelsOf(element);
    if (labels.length > 0) return fold(labels.map((one) => (contains(one, element) ? contentNameWithout(one, element) : nameOf(one, 1))).join(" "));
  }
  if (tag === "img" || tag === "area") return fold(getAttribute(element, "alt") ?? getAttribute(element, "title") ?? "");
  const first = { fieldset: "legend", table: "caption", figure: "figcaption", svg: "title" }[tag];
  if (first !== undefined) {
    for (const child of query(element, first)) if (parentNode(child) === element) return fold(tag === "svg" ? textContent(child) : contentName(child, depth + 1, hidden));
  }
  if (FROM_CONTENT.has(role) || depth > 0) {
    if (depth === 0 && firstElement(element) === null && rootOf(element) === null && tag !== "slot") {
      const quick = fold(textContent(element));
      if (quick !== "") return quick;
    } else {
      const text = fold(contentName(element, depth, hidden));
      if (text !== "") return depth > 0 ? contentName(element, depth, hidden).replace(/\s+/g, " ") : text;
    }
  }
  const title = getAttribute(element, "title");
  if (title !== null && title.trim() !== "") return fold(title);
  if (depth === 0 && (tag === "input" || tag === "textarea")) return fold(getAttribute(element, "placeholder") ?? "");
  return "";
}

function contentNameWithout(label, control) {
  let out = "";
  for (const child of flatChildren(label)) {
    if (child === control) continue;
    if (nodeType(child) === TEXT) out += dataOf(child);
    else if (isElement(child)) out += contains(child, control) ? contentNameWithout(child, control) : ` ${nameOf(child, 1)} `;
  }
  return out;
}

const BARRED = new Set(["button", "fieldset", "input", "optgroup", "option", "select", "textarea"]);

function isEnabled(element) {
  if (BARRED.has(localName(element)) && matchesSelector(element, ":disabled")) return false;
  let open = true;
  let told = null;
  for (let at = element; at !== null; at = composedParent(at)) {
    if (open && hasAttribute(at, "inert")) return false;
    // A modal dialog is not inert with what is around it.
    if (localName(at) === "dialog" && matchesSelector(at, ":modal")) open = false;
    told ??= getAttribute(at, "aria-disabled");
  }
  return told === null || told.toLowerCase() !== "true";
}

function isEditable(element) {
  const tag = localName(element);
  if (tag === "textarea" || (tag === "input" && element instanceof HTMLInputElement)) {
    if (tag === "input" && ["button", "checkbox", "file", "hidden", "image", "radio", "reset", "submit"].includes(inputType(element))) return false;
    return !hasAttribute(element, "readonly") && getAttribute(element, "aria-readonly") !== "true";
  }
  return element instanceof HTMLElement && isContentEditable(element) && getAttribute(element, "aria-readonly") !== "true";
}

function valueOf(element) {
  if (element instanceof HTMLInputElement) return inputValue(element);
  if (element instanceof HTMLTextAreaElement) return areaValue(element);
  if (element instanceof HTMLSelectElement) return selectValue(element);
  return null;
}

/// `true`, `false`, `mixed`, or null when there is no such state.
function checkedOf(element) {
  if (element instanceof HTMLInputElement && ["checkbox", "radio"].includes(inputType(element))) {
    return inputIndeterminate(element) && inputType(element) === "checkbox" ? "mixed" : inputChecked(element) ? "true" : "false";
  }
  const role = roleOf(element);
  const name = role === "button" ? "aria-pressed" : "aria-checked";
  if (!["button", "checkbox", "menuitemcheckbox", "menuitemradio", "option", "radio", "switch", "treeitem"].includes(role)) return null;
  const value = getAttribute(element, name);
  return value === "true" || value === "false" || value === "mixed" ? value : role === "button" || role === "option" || role === "treeitem" ? null : "false";
}
