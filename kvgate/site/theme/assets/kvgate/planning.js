// @ts-check
// The planner: its form, its answer, and the address that holds both.

import { ask, hear, newest } from "./asking.js";
import { packed, unpacked } from "./packing.js";
import { nodesOf } from "./shown.js";
import { isNew, root } from "./site.js";

/** @typedef {Record<string, string>} Fields */
/** @typedef {{versions: Record<string, string[]>, dtypes: Record<string, string[]>}} Choices */

/** @param {HTMLSelectElement} select @param {string[]} values @param {string} first what "" says */
const offer = (select, values, first) => {
  const kept = select.value;
  select.replaceChildren(new Option(first, ""), ...values.map((value) => new Option(value)));
  select.value = values.includes(kept) ? kept : "";
};

/**
 * Put an answer in place of another; what the reader opened or closed stays so.
 * @param {Element} out @param {DocumentFragment} answer
 */
const replace = (out, answer) => {
  for (const one of answer.querySelectorAll("details")) {
    const before = one.className && out.querySelector(`details.${one.className}`);
    if (before instanceof HTMLDetailsElement) one.open = before.open;
  }
  out.replaceChildren(answer);
};

/** @param {HTMLElement} place */
export const planning = (place) => {
  const form = place.querySelector("form");
  const out = place.querySelector("[data-kv-answer]");
  const status = place.querySelector("[role=status]");
  if (!form || !out || !status || !isNew(place)) return;
  /** @type {Choices} */
  const choices = JSON.parse(place.dataset.kvChoices || "{}");
  let answered = false;
  /** @param {string} name */
  const field = (name) => /** @type {HTMLInputElement} */ (form.querySelector(`[name=${name}]`));
  /** @param {string} name */
  const select = (name) => /** @type {HTMLSelectElement} */ (form.querySelector(`[name=${name}]`));
  const way = () => String(new FormData(form).get("way"));
  /** @param {string} text @param {boolean} bad */
  const say = (text, bad = false) => {
    status.textContent = text;
    status.classList.toggle("kv-bad", bad);
    status.classList.remove("kv-unseen");
  };

  const count = () => {
    const [tp, pp] = ["tp", "pp"].map((name) => Number(field(name).value) || 1);
    const gpus = form.querySelector("[data-kv-gpus]");
    if (gpus) gpus.textContent = String(tp * pp);
  };

  /** Fit the form to the engine, and to the way the question is put. */
  const fit = () => {
    const engine = select("engine").value;
    const versions = choices.versions[engine] || [];
    offer(select("version"), versions, versions.length ? "newest" : "any");
    offer(select("kv"), choices.dtypes[engine] || [], "auto");
    select("version").disabled = !versions.length;
    field("util").disabled = engine === "llama.cpp";
    for (const part of form.querySelectorAll("[data-kv-way]")) {
      part.toggleAttribute("hidden", part.getAttribute("data-kv-way") !== way());
    }
    count();
  };

  /** What the form says, without what is empty or of the other way. */
  const said = () => {
    /** @type {Fields} */
    const fields = {};
    for (const [name, value] of new FormData(form)) {
      const hidden = form.querySelector(`[data-kv-way][hidden] [name="${name}"]`);
      if (name !== "way" && !hidden && typeof value === "string" && value.trim()) {
        fields[name] = value.trim();
      }
    }
    return fields;
  };

  /** @param {Fields} fields */
  const fill = (fields) => {
    for (const control of form.querySelectorAll("input:not([type=radio]), textarea, select")) {
      /** @type {HTMLInputElement} */ (control).value = "";
    }
    const pasted = fields.line ? "line" : "fields";
    const radio = form.querySelector(`[name=way][value=${pasted}]`);
    if (radio instanceof HTMLInputElement) radio.checked = true;
    select("engine").value = choices.dtypes[fields.engine] ? fields.engine : "vllm";
    fit();
    for (const [name, value] of Object.entries(fields)) {
      if (!/^[a-z]+$/.test(name) || ["way", "engine"].includes(name) || !field(name)) continue;
      field(name).value = value;
      // A link may say what no list has; kvgate knows more names, or says what is near.
      if (field(name).value !== value && field(name) instanceof HTMLSelectElement) {
        select(name).add(new Option(value));
        select(name).value = value;
      }
    }
    count();
    const own = field("config").closest("details");
    if (own) own.open = Boolean(fields.config);
  };

  const put = newest(/** @param {Fields} fields */ async (fields) => {
    const begun = performance.now();
    place.setAttribute("aria-busy", "true");
    const quiet = hear((what) => say(what));
    try {
      const { answer, refusal } = await ask("plan", { form: fields, root: root() });
      if (refusal) {
        say(`${refusal.message}${refusal.hint && ` (${refusal.hint})`}`, true);
      } else {
        replace(out, nodesOf(answer.html));
        answered = true;
        // The verdict is seen already, and this is for those who hear the page.
        say(out.querySelector(".kv-verdict strong")?.textContent || "");
        status.classList.add("kv-unseen");
        if (fields.line && choices.dtypes[answer.engine] && answer.engine !== select("engine").value) {
          select("engine").value = answer.engine;
          fit();
        }
      }
      out.classList.toggle("kv-stale", Boolean(refusal));
      place.dataset.kvTook = String(Math.round(performance.now() - begun));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      say(`kvgate could not be loaded into this tab: ${why}. In a terminal: kvgate check`, true);
    } finally {
      quiet();
      place.setAttribute("aria-busy", "false");
    }
  });

  const asked = async () => {
    const fields = said();
    put(fields);
    // Behind the #, so that neither a configuration nor a command line is sent to any server.
    history.replaceState(history.state, "", `#${await packed(fields)}`);
  };

  const arrived = async () => {
    const fields = await unpacked(location.hash);
    if (!fields) return fit();
    // The example that the page was built with is no answer to what a link asks.
    if (!answered) out.replaceChildren();
    fill(fields);
    put(said());
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    asked();
  });
  form.addEventListener("input", () => {
    fit();
    asked();
  });
  // Loading begins with the first touch of the form, and by the first change it is mostly done.
  form.addEventListener("focusin", () => put(said()), { once: true });

  /** A config.json stands for the model, any other file for the deployment. @param {File | undefined} file */
  const read = async (file) => {
    if (!file) return;
    const text = (await file.text()).slice(0, 2 ** 20);
    const config = /\.json$/i.test(file.name);
    if (!config) fill({ ...said(), line: text });
    else {
      field("config").value = text;
      const own = field("config").closest("details");
      if (own) own.open = true;
    }
    asked();
  };
  const picker = form.querySelector("input[type=file]");
  picker?.addEventListener("change", () => read(/** @type {HTMLInputElement} */ (picker).files?.[0]));
  place.addEventListener("dragover", (event) => event.preventDefault());
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    read(event.dataTransfer?.files[0]);
  });
  const again = () => (place.isConnected ? arrived() : removeEventListener("hashchange", again));
  addEventListener("hashchange", again);
  form.removeAttribute("hidden");
  arrived();
};
