// What the script needs of the platform, taken once. A page can shadow any member of its own form, document or window by
// a name or id (`<input name="childNodes">`), in every world; a getter of the prototype cannot be shadowed.
const bind = (f) => Function.prototype.call.bind(f);
const getter = (proto, name) => bind(Object.getOwnPropertyDescriptor(proto, name).get);
const method = (proto, name) => bind(proto[name]);

const nodeType = getter(Node.prototype, "nodeType");
const parentNode = getter(Node.prototype, "parentNode");
const firstChild = getter(Node.prototype, "firstChild");
const nextSibling = getter(Node.prototype, "nextSibling");
const textContent = getter(Node.prototype, "textContent");
const hasChildNodes = method(Node.prototype, "hasChildNodes");
const isConnected = getter(Node.prototype, "isConnected");
const contains = method(Node.prototype, "contains");
const getRootNode = method(Node.prototype, "getRootNode");
const comparePosition = method(Node.prototype, "compareDocumentPosition");
const dataOf = getter(CharacterData.prototype, "data");
const localName = getter(Element.prototype, "localName");
const namespaceOf = getter(Element.prototype, "namespaceURI");
const openRootOf = getter(Element.prototype, "shadowRoot");
const firstElement = getter(Element.prototype, "firstElementChild");
const nextElement = getter(Element.prototype, "nextElementSibling");
const firstElementIn = { 9: getter(Document.prototype, "firstElementChild"), 11: getter(DocumentFragment.prototype, "firstElementChild"), 1: firstElement };
const firstElementOf = (node) => firstElementIn[nodeType(node)](node);
const previousElement = getter(Element.prototype, "previousElementSibling");
const assignedSlotOf = getter(Element.prototype, "assignedSlot");
const textAssignedSlotOf = getter(Text.prototype, "assignedSlot");
const getAttribute = method(Element.prototype, "getAttribute");
const hasAttribute = method(Element.prototype, "hasAttribute");
const closest = method(Element.prototype, "closest");
const matchesSelector = method(Element.prototype, "matches");
const rectOf = method(Element.prototype, "getBoundingClientRect");
const rectsOf = method(Element.prototype, "getClientRects");
const checkVisibility = method(Element.prototype, "checkVisibility");
const animate = method(Element.prototype, "animate");
const queryElement = method(Element.prototype, "querySelectorAll");
const queryDocument = method(Document.prototype, "querySelectorAll");
const queryFragment = method(DocumentFragment.prototype, "querySelectorAll");
const clientLeft = getter(Element.prototype, "clientLeft");
const clientTop = getter(Element.prototype, "clientTop");
const clientWidth = getter(Element.prototype, "clientWidth");
const clientHeight = getter(Element.prototype, "clientHeight");
const scrollWidth = getter(Element.prototype, "scrollWidth");
const scrollHeight = getter(Element.prototype, "scrollHeight");
const scrollLeft = getter(Element.prototype, "scrollLeft");
const scrollTop = getter(Element.prototype, "scrollTop");
const scrollElementBy = method(Element.prototype, "scrollBy");
const offsetWidth = getter(HTMLElement.prototype, "offsetWidth");
const offsetHeight = getter(HTMLElement.prototype, "offsetHeight");
const hostOf = getter(ShadowRoot.prototype, "host");
/// The element that a pseudo-element belongs to, and its kind as CSS writes it (CSS Pseudo-Elements 4, `CSSPseudoElement`). Null of anything else.
const isPseudo = (node) => typeof CSSPseudoElement === "function" && node instanceof CSSPseudoElement;
const [elementOfPseudo, kindOfPseudo] = typeof CSSPseudoElement === "function" ? ["element", "type"].map((name) => getter(CSSPseudoElement.prototype, name)) : [];
const originOf = (node) => (isPseudo(node) ? elementOfPseudo(node) : null);
const pseudoOf = (node) => (isPseudo(node) ? kindOfPseudo(node) : "");
const rootFromPoint = method(ShadowRoot.prototype, "elementFromPoint");
const documentFromPoint = method(Document.prototype, "elementFromPoint");
const documentStack = method(Document.prototype, "elementsFromPoint");
const rootStack = method(ShadowRoot.prototype, "elementsFromPoint");
const animationsOf = method(Document.prototype, "getAnimations");
const documentElementOf = getter(Document.prototype, "documentElement");
const bodyOf = getter(Document.prototype, "body");
const scrollingElementOf = getter(Document.prototype, "scrollingElement");
const createWalker = method(Document.prototype, "createTreeWalker");
const createRange = method(Document.prototype, "createRange");
const elementById = method(Document.prototype, "getElementById");
const fragmentById = method(DocumentFragment.prototype, "getElementById");
const assignedNodes = method(HTMLSlotElement.prototype, "assignedNodes");
const inputType = getter(HTMLInputElement.prototype, "type");
const inputValue = getter(HTMLInputElement.prototype, "value");
const inputChecked = getter(HTMLInputElement.prototype, "checked");
const inputIndeterminate = getter(HTMLInputElement.prototype, "indeterminate");
const areaValue = getter(HTMLTextAreaElement.prototype, "value");
const selectValue = getter(HTMLSelectElement.prototype, "value");
const selectedOptions = getter(HTMLSelectElement.prototype, "selectedOptions");
const isContentEditable = getter(HTMLElement.prototype, "isContentEditable");
const labelControl = getter(HTMLLabelElement.prototype, "control");
const imageComplete = getter(HTMLImageElement.prototype, "complete");
const imageWidth = getter(HTMLImageElement.prototype, "naturalWidth");
const selectionOf = method(Document.prototype, "getSelection");
/// The product of `zoom` over an element and its ancestors (CSS Viewport 1).
const zoomOf = getter(Element.prototype, "currentCSSZoom");
const computedStyle = window.getComputedStyle.bind(window);
const nextFrame = window.requestAnimationFrame.bind(window);
const later = window.setTimeout.bind(window);
const now = performance.now.bind(performance);
// A window outlives its first, empty document when the next one has the same origin.
let doc = document;
const current = () => {
  const same = doc === document;
  doc = document;
  return same;
};
const ELEMENT = 1;
const TEXT = 3;

/// A computed property as text.
const css = (style, name) => style.getPropertyValue(name);
const queryList = (root, selector) => {
  switch (nodeType(root)) {
    case ELEMENT: return queryElement(root, selector);
    case 9: return queryDocument(root, selector);
    default: return queryFragment(root, selector);
  }
};
/// The elements that match, as an array: by index, which is several times faster than the list's own iterator.
const query = (root, selector) => arrayOf(queryList(root, selector));
const listLength = getter(NodeList.prototype, "length");
function arrayOf(list) {
  const length = listLength(list);
  const array = new Array(length);
  for (let i = 0; i < length; i += 1) array[i] = list[i];
  return array;
}
const documentElements = method(Document.prototype, "getElementsByTagName");
const collectionLength = getter(HTMLCollection.prototype, "length");
const elementCount = (root) => (nodeType(root) === 9 ? collectionLength(documentElements(root, "*")) : listLength(queryList(root, "*")));
const isElement = (node) => node !== null && nodeType(node) === ELEMENT;
const isShadowRoot = (node) => node instanceof ShadowRoot;
