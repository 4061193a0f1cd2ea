// @ts-check
// The page that a log is pasted into: the whole of `kvgate diagnose`, in this tab.

import { ask, hear, newest } from "./asking.js";
import { nodesOf } from "./shown.js";
import { isNew, root } from "./site.js";

const LONGEST = 64 * 2 ** 20;
const CUT = "Only the first 64 MiB of the file were read; kvgate diagnose FILE reads all of it. ";

/** @param {HTMLElement} place */
export const looking = (place) => {
  const box = place.querySelector("textarea");
  const out = place.querySelector("[data-kv-answer]");
  const status = place.querySelector("[role=status]");
  const picker = place.querySelector("input[type=file]");
  if (!box || !out || !status || !isNew(place)) return;
  place.removeAttribute("hidden");
  let file = "";
  let cut = false;
  /** @param {string} text @param {boolean} seen whether the page shows it elsewhere */
  const say = (text, seen = false) => {
    status.textContent = text;
    status.classList.toggle("kv-unseen", seen);
  };

  const put = newest(/** @param {string} log */ async (log) => {
    place.setAttribute("aria-busy", "true");
    const quiet = hear((what) => say(what));
    try {
      const { answer, refusal } = await ask("log", { log, root: root() });
      if (refusal) return say(`${refusal.message} ${refusal.hint}`);
      place.querySelector("output")?.replaceChildren(); // the answer to the same, from fewer means
      out.replaceChildren(nodesOf(answer.html));
      say((cut ? CUT : "") + (out.querySelector("p")?.textContent || ""), !cut);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      say(`kvgate could not be loaded into this tab: ${why}. In a terminal: kvgate diagnose FILE`);
    } finally {
      quiet();
      place.setAttribute("aria-busy", "false");
    }
  });
  const look = () => {
    const log = file || box.value;
    if (log.trim()) put(log);
  };
  /** @param {File | undefined} given */
  const read = async (given) => {
    if (!given) return;
    file = await given.slice(0, LONGEST).text();
    cut = given.size > LONGEST;
    box.value = "";
    box.placeholder = `${given.name}, ${given.size.toLocaleString()} bytes`;
    look();
  };
  place.querySelector("button")?.addEventListener("click", look);
  box.addEventListener("input", () => {
    file = "";
    cut = false;
  });
  picker?.addEventListener("change", () => read(/** @type {HTMLInputElement} */ (picker).files?.[0]));
  place.addEventListener("dragover", (event) => event.preventDefault());
  place.addEventListener("drop", (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
};
