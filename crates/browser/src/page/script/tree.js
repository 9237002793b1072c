// The tree as it is rendered: open shadow roots as the platform gives them, closed ones as they were handed in.
const closedRoots = new WeakMap();
const adopted = [];
/// When a suspected host was last asked about, so that it is not asked about in every look.
const asked = new WeakMap();
const ASK_AGAIN_MS = 200;
const HOSTS = "article,aside,blockquote,body,div,footer,h1,h2,h3,h4,h5,h6,header,main,nav,p,section,span";
/// Frequent elements that can never have a shadow root (DOM, attachShadow), left to the browser to pass over.
const NO_HOST = "*:not(a,b,br,button,em,i,img,input,label,li,ol,option,path,select,strong,svg,table,tbody,td,textarea,th,thead,tr,ul)";
const HTML = "http://www.w3.org/1999/xhtml";
const HOST_NAMES = new Set(HOSTS.split(","));

const rootOf = (element) => openRootOf(element) ?? closedRoots.get(element) ?? null;

/// Parent in the flat tree; null above the document element.
function flatParent(node) {
  const slot = nodeType(node) === TEXT ? textAssignedSlotOf(node) : isElement(node) ? assignedSlotOf(node) : null;
  if (slot) return slot;
  const parent = parentNode(node);
  if (parent === null) return null;
  if (isShadowRoot(parent)) return hostOf(parent);
  if (isElement(parent)) {
    const closed = closedRoots.get(parent);
    if (closed !== undefined) return closedSlot(closed, node) ?? parent;
    return parent;
  }
  return null;
}

/// `assignedSlot` is null for slots of a closed root.
function closedSlot(root, node) {
  const name = isElement(node) ? getAttribute(node, "slot") ?? "" : "";
  for (const slot of query(root, "slot")) if ((getAttribute(slot, "name") ?? "") === name) return slot;
  return null;
}

/// Parent in the composed tree: shadow roots are stepped over, slots are not entered.
function composedParent(node) {
  const parent = parentNode(node);
  if (parent === null) return null;
  if (isShadowRoot(parent)) return hostOf(parent);
  return isElement(parent) ? parent : null;
}

function composedContains(ancestor, node) {
  for (let at = node; at !== null; at = composedParent(at)) if (at === ancestor) return true;
  return false;
}

/// Whether `node` is painted inside `ancestor`.
function flatContains(ancestor, node) {
  for (let at = node; at !== null; at = flatParent(at)) if (at === ancestor) return true;
  return composedContains(ancestor, node);
}

/// Children as they are rendered.
function* flatChildren(node) {
  let from = node;
  if (isElement(node)) {
    const root = rootOf(node);
    if (root !== null) from = root;
    else if (localName(node) === "slot" && node instanceof HTMLSlotElement) {
      const given = assignedNodes(node);
      if (given.length > 0) {
        yield* given;
        return;
      }
    }
  }
  for (let child = firstChild(from); child !== null; child = nextSibling(child)) yield child;
}

/// The document and every shadow root known in it, each host's root after the tree that holds the host; and who could hold a
/// closed root that is not known.
function roots(wantSuspects) {
  const found = [doc];
  const suspects = [];
  let elements = 0;
  const time = now();
  for (let i = 0; i < found.length; i += 1) {
    const all = queryList(found[i], NO_HOST);
    const length = listLength(all);
    elements += elementCount(found[i]);
    for (let k = 0; k < length; k += 1) {
      const element = all[k];
      const root = openRootOf(element);
      if (root !== null) found.push(root);
      else if (adopted.length > 0 && closedRoots.has(element)) found.push(closedRoots.get(element));
      else if (wantSuspects && suspects.length < 400 && isSuspect(element, time)) suspects.push(element);
    }
  }
  elementsSeen = elements;
  return { roots: found, suspects, elements };
}

/// Elements that the last walk met.
let elementsSeen = 0;

function isSuspect(element, time) {
  const name = localName(element);
  const custom = name.includes("-");
  if (!custom && (!HOST_NAMES.has(name) || namespaceOf(element) !== HTML)) return false;
  if (time - (asked.get(element) ?? -Infinity) < ASK_AGAIN_MS) return false;
  if (custom) return true;
  if (!hasChildNodes(element)) return true;
  // Light children that are not rendered in a host that is: only a shadow root does that. Looking at styles of every
  // element would be slow, so an only child is asked.
  const child = firstElement(element);
  if (child !== null && nextSibling(child) === null && !checkVisibility(child)) {
    const display = css(computedStyle(child), "display");
    return display !== "none" && display !== "contents" && checkVisibility(element);
  }
  return false;
}

function adopt(root) {
  if (!isShadowRoot(root)) return false;
  const host = hostOf(root);
  if (closedRoots.has(host) || openRootOf(host) !== null) return false;
  closedRoots.set(host, root);
  adopted.push(new WeakRef(root));
  for (const told of onAdopt) told(root);
  return true;
}
const onAdopt = [];

/// A short selector path for people.
function pathOf(element) {
  const steps = [];
  for (let at = element; at !== null && steps.length < 5; at = composedParent(at)) {
    const name = localName(at).slice(0, 40);
    const id = getAttribute(at, "id");
    if (id) {
      steps.unshift(`${name}#${id.slice(0, 40)}`);
      break;
    }
    let index = 1;
    let twins = false;
    for (let before = previousElement(at); before !== null && index < 500; before = previousElement(before)) {
      if (localName(before) === localName(at)) {
        index += 1;
        twins = true;
      }
    }
    steps.unshift(twins ? `${name}:nth-of-type(${index})` : name);
  }
  return steps.join(" > ");
}
