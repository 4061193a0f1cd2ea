// @ts-check
// The planner's fields as the part of an address behind the #, which no browser sends anywhere.

/** @param {ReadableStream<Uint8Array>} stream */
const whole = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());

/** @param {string} text */
const squeezed = async (text) => {
  const bytes = await whole(new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  // Not all as arguments of one call: a stack has room for some hundred thousand.
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const letters = btoa(binary);
  return letters.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
};

/** @param {string} text */
const unsqueezed = async (text) => {
  const letters = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new TextDecoder().decode(await whole(stream));
};

/**
 * A pasted config.json is squeezed, and a pasted text of several lines; the rest can be read.
 * @param {Record<string, string>} fields
 */
export const packed = async (fields) => {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (name === "config") words.append(name, await squeezed(value));
    else if (name === "line" && value.includes("\n")) words.append("lines", await squeezed(value));
    else words.append(name, value);
  }
  return words.toString();
};

/** The fields of an address, null where it has none. @param {string} hash */
export const unpacked = async (hash) => {
  if (!hash.includes("=")) return null;
  /** @type {Record<string, string>} */
  const fields = {};
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const text = async () => unsqueezed(value).catch(() => value);
    if (name === "lines") fields.line = await text();
    else fields[name] = name === "config" ? await text() : value;
  }
  return fields;
};
