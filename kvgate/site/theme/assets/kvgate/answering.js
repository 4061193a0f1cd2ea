// @ts-check
// Starts kvgate in Pyodide. It knows neither of pages nor of workers, so that Node runs it too.

/**
 * @typedef {{pyodide: string, wheels: string[], records: string}} Manifest
 *   what a build put beside the worker; addresses are relative to it
 * @typedef {{
 *   manifest: Manifest,
 *   load: (address: string) => Promise<{loadPyodide: typeof import("pyodide").loadPyodide}>,
 *   bytes: (address: string) => Promise<Uint8Array>,
 *   home: (address: string) => string,
 *   say: (what: string) => void,
 * }} Surroundings
 *   `load` imports a module, `bytes` reads a file, `home` is where Pyodide looks for its own files
 */

const PARTS = ["pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];

/**
 * @param {Surroundings} around
 * @returns {Promise<(question: string, text: string) => string>} asks; JSON in, JSON out
 */
export const started = async ({ manifest, load, bytes, home, say }) => {
  say("Loading Python into this tab (14 MB, once) …");
  const wheels = manifest.wheels.map(bytes);
  const records = bytes(manifest.records);
  // Pyodide may leave a failed fetch of its own to nobody, and then never begins. So its parts are
  // fetched here before, where a failure is heard; it then has them from the cache.
  await Promise.all(PARTS.map((part) => bytes(manifest.pyodide + part)));
  const { loadPyodide } = await load(`${manifest.pyodide}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: home(manifest.pyodide) });
  say("Loading kvgate …");
  const path = python.pyimport("sys").path;
  for (const [at, wheel] of (await Promise.all(wheels)).entries()) {
    // Python imports from a zip file, and so does kvgate's catalogue read: nothing is unpacked.
    python.FS.writeFile(`/wheel-${at}.whl`, wheel);
    path.insert(0, `/wheel-${at}.whl`);
  }
  const { heads, paths } = JSON.parse(new TextDecoder().decode(await records));
  const read = python.pyimport("kvgate.manifests").read_pasted;
  const desk = python.pyimport("kvgate.answers.asking").Desk(heads, python.toPy(paths), read);
  return (question, text) => desk.answer(question, text);
};
