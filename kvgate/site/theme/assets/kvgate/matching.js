// @ts-check
// Which records a pasted text points to. Pure: nothing here knows of a page.

/**
 * @typedef {{text: string, segments: string[], weight: number}} Signature
 * @typedef {{id: string, title: string, path: string, severity: string, signatures: Signature[]}} Signed
 * @typedef {{record: Signed, score: number, text: string}} Find
 */

/** Letters that are looked through. Of a longer log its end, where the error stands. */
export const LONGEST = 200_000;

/** @param {string} text */
const folded = (text) =>
  text.slice(-LONGEST).replace(/\x1b\[[0-?]*[ -/]*[@-~]/g, "").replace(/\s+/g, " ");

/** @param {string} text */
const wordsOf = (text) => new Set(text.toLowerCase().match(/[a-z_][a-z0-9_.-]{3,}/g) || []);

/**
 * Whether a signature stands in a text as a whole: each part after the one before it.
 * @param {Signature} signature @param {string} text whose blanks are folded
 */
export const stands = (signature, text) => {
  let at = 0;
  return signature.segments.every((segment) => {
    const expression = new RegExp(segment, "g");
    expression.lastIndex = at;
    if (!expression.test(text)) return false;
    at = expression.lastIndex;
    return true;
  });
};

/**
 * The records whose signature stands whole in a text, the longest first; then, if none does, those
 * that share its rarest words.
 * @param {Signed[]} records @param {string} pasted
 * @returns {{whole: Find[], similar: Find[]}}
 */
export const find = (records, pasted) => {
  const text = folded(pasted);
  /** @type {Find[]} */
  const whole = [];
  for (const record of records) {
    const met = record.signatures.filter((s) => stands(s, text));
    if (met.length) {
      const best = met.reduce((a, b) => (a.weight >= b.weight ? a : b));
      whole.push({ record, score: best.weight, text: best.text });
    }
  }
  whole.sort((a, b) => b.score - a.score);
  if (whole.length) return { whole, similar: [] };
  /** @type {Map<string, number>} */
  const seen = new Map();
  const signed = records.flatMap((record) =>
    record.signatures.map((s) => ({ record, text: s.text, words: wordsOf(s.text) })));
  for (const s of signed) for (const word of s.words) seen.set(word, (seen.get(word) || 0) + 1);
  const asked = wordsOf(text);
  /** @type {Map<string, Find>} */
  const best = new Map();
  for (const s of signed) {
    let score = 0;
    let all = 0;
    for (const word of s.words) {
      const rare = Math.log(1 + signed.length / (seen.get(word) || 1));
      all += rare;
      if (asked.has(word)) score += rare;
    }
    const share = all ? score / all : 0;
    const known = best.get(s.record.id);
    if (share >= 0.4 && (!known || known.score < share)) {
      best.set(s.record.id, { record: s.record, score: share, text: s.text });
    }
  }
  const similar = [...best.values()].sort((a, b) => b.score - a.score).slice(0, 5);
  return { whole: [], similar };
};
