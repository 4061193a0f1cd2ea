// @ts-check
// Questions to the web worker, which is started by the first of them and outlives pages.

/**
 * @typedef {{message: string, hint: string, code: string, line: number, column: number}} Refusal
 * @typedef {{answer?: any, refusal?: Refusal}} Answer
 */

/** @type {Worker | null} */
let worker = null;
let last = 0;
/** @type {Map<number, {done: (text: string) => void, failed: (why: Error) => void}>} */
const waiting = new Map();
/** @type {Set<(what: string) => void>} */
const listeners = new Set();

const begin = () => {
  const made = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  made.addEventListener("message", ({ data }) => {
    if ("say" in data) return listeners.forEach((listener) => listener(data.say));
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.failed === undefined) asked?.done(data.text);
    else asked?.failed(new Error(data.failed));
  });
  made.addEventListener("error", (event) => {
    for (const { failed } of waiting.values()) failed(new Error(event.message || "it did not start"));
    waiting.clear();
    made.terminate();
    worker = null;
  });
  return made;
};

/** Hear what the worker is doing while it starts. @param {(what: string) => void} listener */
export const hear = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** @param {string} question @param {object} given @returns {Promise<Answer>} */
export const ask = async (question, given) => {
  worker ??= begin();
  const id = ++last;
  /** @type {Promise<string>} */
  const text = new Promise((done, failed) => waiting.set(id, { done, failed }));
  worker.postMessage({ id, question, text: JSON.stringify(given) });
  return JSON.parse(await text);
};

/**
 * Asks one question at a time; of those that come meanwhile only the newest is asked.
 * @template T
 * @param {(given: T) => Promise<void>} put
 */
export const newest = (put) => {
  let busy = false;
  /** @type {{given: T} | null} */
  let next = null;
  return /** @param {T} given */ async (given) => {
    next = { given };
    if (busy) return;
    busy = true;
    try {
      while (next) {
        const now = /** @type {{given: T}} */ (next);
        next = null;
        await put(now.given);
      }
    } finally {
      busy = false;
    }
  };
};
