// @ts-check
// The site that a page belongs to: its root, its JSON documents, and elements of its pages.

// Read once, when the first page is loaded: its base is relative to that page alone.
const config = document.getElementById("__config");
const base = config ? JSON.parse(config.textContent || "{}").base : ".";
const ROOT = new URL(base.endsWith("/") ? base : `${base}/`, location.href);

/** The root of the site. */
export const root = () => ROOT;

/**
 * An element with a class and children; texts become text nodes.
 * @param {string} tag @param {string} look @param {...(Node | string)} children
 */
export const element = (tag, look, ...children) => {
  const made = document.createElement(tag);
  if (look) made.className = look;
  made.append(...children);
  return made;
};

/** @type {Map<string, Promise<any>>} */
const fetched = new Map();

/** A JSON document of the site, asked for once. @param {string} path */
export const get = (path) => {
  const url = new URL(path, root()).href;
  let found = fetched.get(url);
  if (!found) {
    found = fetch(url).then((answer) => {
      if (!answer.ok) throw new Error(`${answer.status} ${url}`);
      return answer.json();
    });
    found.catch(() => fetched.delete(url));
    fetched.set(url, found);
  }
  return found;
};

export const LINK = "a[data-kv-id]";

/** The link to a record that an event happened on. @param {EventTarget | null} target */
export const linkAt = (target) => (target instanceof Element ? target.closest(LINK) : null);

/**
 * Whether an element is new here; the next page is shown without loading scripts anew.
 * @param {HTMLElement} place
 */
export const isNew = (place) => {
  if (place.dataset.kvReady) return false;
  place.dataset.kvReady = "yes";
  return true;
};
