// @ts-check
// The next page of this site, put in the place of this one: scripts and workers live on. The theme
// can do it too, but asks for the addresses of all pages first, which grow with the records.

import { root } from "./site.js";

/** What a page has of its own, by the names that the theme gives to its parts. */
const PARTS = ["skip", "announce", "container", "header-topic"]
  .map((name) => `[data-md-component=${name}]`);
const OF_THE_HEAD = "link[rel=canonical], link[rel=prev], link[rel=next], meta[name=description], "
  + "meta[name=robots], meta[property^='og:'], meta[name^='twitter:']";

/** The page that is shown, without its anchor. */
let shown = "";
let asked = 0;

/** @param {URL} url */
const bare = (url) => url.href.split("#")[0];

/** Every address stays right when the page's own changes. @param {ParentNode} within */
const absolute = (within) => {
  for (const name of ["href", "src"]) {
    for (const place of within.querySelectorAll(`[${name}]`)) {
      const there = /** @type {any} */ (place)[name];
      if (typeof there === "string") place.setAttribute(name, there);
    }
  }
};

/** Scripts that came with a page don't run by themselves. @param {ParentNode} within */
const run = (within) => {
  for (const old of within.querySelectorAll("script")) {
    if (old.type && old.type !== "module" && !old.type.includes("javascript")) continue;
    const script = document.createElement("script");
    for (const { name, value } of old.attributes) script.setAttribute(name, value);
    script.textContent = old.textContent;
    old.replaceWith(script);
  }
};

/** @param {Document} page */
const put = (page) => {
  document.title = page.title;
  for (const old of document.head.querySelectorAll(OF_THE_HEAD)) old.remove();
  document.head.append(...page.head.querySelectorAll(OF_THE_HEAD));
  for (const part of PARTS) {
    const [here, there] = [document.querySelectorAll(part), page.querySelectorAll(part)];
    here.forEach((old, at) => there[at] && old.replaceWith(there[at]));
  }
  const container = document.querySelector("[data-md-component=container]");
  if (container) run(container);
};

/** The id that an anchor names; a damaged one is no reason to stop. @param {string} anchor */
const named = (anchor) => {
  try {
    return decodeURIComponent(anchor);
  } catch {
    return anchor;
  }
};

/** @param {URL} url @param {number} [y] where the reader had been on it */
const scroll = (url, y) => {
  const anchor = url.hash && document.getElementById(named(url.hash.slice(1)));
  if (y !== undefined || !anchor) scrollTo(0, y ?? 0);
  else anchor.scrollIntoView();
};

/**
 * Show a page of the site; what isn't one is left to the browser.
 * @param {URL} url @param {{y?: number, push?: boolean}} how
 */
const show = async (url, { y, push = true }) => {
  const mine = ++asked;
  try {
    const answer = await fetch(bare(url));
    const kind = answer.headers.get("content-type") || "";
    if (!answer.ok || !kind.includes("html")) throw new Error(`${answer.status} ${kind}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.querySelector(PARTS[2])) throw new Error("a page of another kind");
    if (mine !== asked) return; // the reader has gone on
    if (push) history.pushState({}, "", url);
    shown = bare(url);
    put(page);
  } catch {
    return mine === asked && location.assign(url);
  }
  scroll(url, y);
  // Those who hear a page, or go by keys, go on from its beginning.
  const title = document.querySelector("article h1");
  if (title instanceof HTMLElement) {
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  }
  const theme = /** @type {any} */ (window);
  theme.location$?.next(url);
  theme.document$?.next(document);
};

/** Where a click on a link leads within the site, else null. @param {MouseEvent} event */
const within = (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey) return null;
  if (event.shiftKey || event.altKey || !(event.target instanceof Element)) return null;
  const link = event.target.closest("a");
  if (!link || link.hasAttribute("download") || link.getAttribute("target")) return null;
  const href = link instanceof HTMLAnchorElement ? link.href
    : /** @type {any} */ (link).href?.baseVal;
  if (!href) return null;
  const url = new URL(href, location.href);
  const [site, path] = [root(), url.pathname];
  if (url.origin !== site.origin || !path.startsWith(site.pathname)) return null;
  return path.endsWith("/") || path.endsWith(".html") ? url : null;
};

/** Go to an address of the site. @param {URL} url */
export const go = (url) => show(url, {});

export const instant = () => {
  const theme = /** @type {any} */ (window);
  if (!theme.document$ || location.protocol === "file:") return;
  shown = bare(new URL(location.href));
  absolute(document);
  history.scrollRestoration = "manual";
  const { y } = history.state || {};
  if (y) scrollTo(0, y);
  addEventListener("pagehide", () => { history.scrollRestoration = "auto"; });
  document.addEventListener("click", (event) => {
    const url = within(event);
    if (!url || bare(url) === shown && (url.hash || event.target instanceof HTMLLabelElement)) return;
    event.preventDefault();
    show(url, {});
  });
  let pause = 0;
  addEventListener("scroll", () => {
    clearTimeout(pause);
    pause = window.setTimeout(() => history.replaceState({ ...history.state, y: scrollY }, ""), 100);
  }, { passive: true });
  addEventListener("popstate", (event) => {
    const url = new URL(location.href);
    if (bare(url) === shown) scroll(url, event.state?.y);
    else show(url, { y: event.state?.y ?? 0, push: false });
  });
};
