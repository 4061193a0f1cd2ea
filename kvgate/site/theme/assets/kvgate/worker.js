// @ts-check
// The web worker: loads kvgate when the first question comes, answers them in turn.

import { started } from "./answering.js";

/** @typedef {{id: number, question: string, text: string}} Question */
/** @typedef {{id: number, text?: string, failed?: string} | {say: string}} Reply */

const base = new URL("../worker/", import.meta.url);
/** @param {Reply} reply */
const send = (reply) => self.postMessage(reply);

/** @param {string} address */
const got = async (address) => {
  const answer = await fetch(new URL(address, base));
  if (!answer.ok) throw new Error(`${address} gave ${answer.status}`);
  return answer;
};

const start = async () => started({
  // It is small, and says which files are of this build: never from a cache without asking.
  manifest: await (await fetch(new URL("worker.json", base), { cache: "no-cache" })).json(),
  load: (address) => import(new URL(address, base).href),
  bytes: async (address) => new Uint8Array(await (await got(address)).arrayBuffer()),
  home: (address) => new URL(address, base).href,
  say: (what) => send({ say: what }),
});

/** @type {ReturnType<typeof start> | null} */
let desk = null;

// Pyodide leaves a failed fetch of its own to nobody, and then never begins. As an error it reaches
// the page, which says so and starts a worker anew at the next question.
self.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  self.reportError(event.reason);
});

self.addEventListener("message", async ({ data }) => {
  const { id, question, text } = /** @type {Question} */ (data);
  try {
    desk ??= start();
    send({ id, text: (await desk)(question, text) });
  } catch (error) {
    desk = null; // the network may be back at the next question
    send({ id, failed: error instanceof Error ? error.message : String(error) });
  }
});
