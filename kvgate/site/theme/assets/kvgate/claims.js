// @ts-check
// "Change the inputs" on a claim: its statements become editable where they stand, and are evaluated
// by the evaluator that the page was built with.

import { ask, hear } from "./asking.js";
import { element, isNew } from "./site.js";

/** @typedef {{line: number, source: string, value: string, refusal: string}} Line */

const NAME = /[ \t]*#\s*claims?\s*:.*$/gim;
const WORDS = /\b[A-Za-z_]\w*\b/g;
const BOUND = /^([A-Za-z_][\w, ]*?)\s*=(?!=)/;

/** The statements of fences, without prompts and outputs. @param {string[]} fences */
export const statementsOf = (fences) => {
  /** @type {string[]} */
  const found = [];
  for (const fence of fences) {
    for (const line of fence.split("\n")) {
      const prompt = /^\s*(>>>|\.\.\.) ?(.*)$/.exec(line);
      if (!prompt) continue;
      if (prompt[1] === ">>>") found.push(prompt[2]);
      else if (found.length) found[found.length - 1] += `\n${prompt[2]}`;
    }
  }
  return found;
};

/**
 * A statement with the assignments before it that it needs, as one text.
 * @param {string[]} statements @param {number} at
 */
export const closure = (statements, at) => {
  const needed = new Set(statements[at].match(WORDS));
  const kept = [statements[at]];
  for (let before = at - 1; before >= 0; before -= 1) {
    const bound = BOUND.exec(statements[before]);
    if (!bound || !(bound[1].match(WORDS) || []).some((name) => needed.has(name))) continue;
    kept.unshift(statements[before]);
    for (const word of statements[before].match(WORDS) || []) needed.add(word);
  }
  return kept.join("\n").replace(NAME, "");
};

/** An editor of statements. @param {string} source */
const editor = (source) => {
  const box = document.createElement("textarea");
  box.value = source;
  const rows = source.split("\n").reduce((sum, line) => sum + Math.ceil((line.length + 1) / 60), 1);
  box.rows = Math.min(Math.max(rows, 4), 14);
  box.spellcheck = false;
  box.setAttribute("aria-label", "The claim's statements");
  const run = element("button", "md-button md-button--primary", "Evaluate");
  run.setAttribute("type", "submit");
  const shut = element("button", "md-button", "Close");
  shut.setAttribute("type", "button");
  const out = element("output", "kv-values");
  out.setAttribute("aria-live", "polite");
  const form = element("form", "kv-change", box, element("p", "", run, " ", shut), out);
  const evaluate = async () => {
    const quiet = hear((what) => out.replaceChildren(what));
    try {
      const { answer, refusal } = await ask("claim", { source: box.value });
      if (refusal) {
        const where = refusal.line ? `Line ${refusal.line}: ` : "";
        const hint = refusal.hint ? ` (${refusal.hint})` : "";
        return out.replaceChildren(element("p", "kv-bad", `${where}${refusal.message}${hint}`));
      }
      const lines = /** @type {Line[]} */ (answer).filter((line) => line.value || line.refusal);
      out.replaceChildren(...lines.map((line) => element(
        "div", "", element("code", "", line.source),
        line.refusal ? element("p", "kv-bad", line.refusal) : element("pre", "", line.value),
      )));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      out.replaceChildren(`kvgate could not be loaded into this tab: ${why}`);
    } finally {
      quiet();
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    evaluate();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) evaluate();
  });
  return { form, box, shut };
};

/** @param {HTMLElement} article the part of a page that holds a record */
export const changing = (article) => {
  const fences = [...article.querySelectorAll(".kv-claims[data-kv-run]")];
  const texts = fences.map((fence) => fence.textContent || "");
  const statements = statementsOf(texts);
  let at = 0;
  fences.forEach((fence, number) => {
    if (!(fence instanceof HTMLElement) || !isNew(fence)) return;
    const own = statementsOf([texts[number]]);
    const first = at;
    at += own.length;
    const claims = own.map((text, i) => ({ text, index: first + i }))
      .filter(({ text }) => text.search(NAME) >= 0);
    const bar = element("div", "kv-rerun", "Change the inputs of ");
    for (const { text, index } of claims) {
      const name = /#\s*claims?\s*:\s*(\S+)/i.exec(text)?.[1] || "";
      const button = element("button", "", name);
      button.setAttribute("type", "button");
      button.setAttribute("aria-expanded", "false");
      /** @type {HTMLElement | null} */
      let shown = null;
      const toggle = () => {
        button.setAttribute("aria-expanded", String(!shown));
        if (shown) {
          shown.remove();
          shown = null;
          return button.focus();
        }
        const { form, box, shut } = editor(closure(statements, index));
        shut.addEventListener("click", toggle);
        bar.after(form);
        shown = form;
        box.focus();
      };
      button.addEventListener("click", toggle);
      bar.append(button, " ");
    }
    if (claims.length) fence.after(bar);
  });
};
