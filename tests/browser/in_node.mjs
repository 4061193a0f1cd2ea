// Answers questions as the web worker does, in Node: node in_node.mjs ASSETS < questions > answers
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const questions = JSON.parse(readFileSync(0, "utf-8")); // before Python takes hold of it
const assets = process.argv[2];
const { started } = await import(pathToFileURL(join(assets, "kvgate", "answering.js")).href);
const at = (address) => join(assets, "worker", address.split("?")[0]);
const ask = await started({
  manifest: JSON.parse(await readFile(at("worker.json"), "utf-8")),
  load: (address) => import(pathToFileURL(at(address)).href),
  bytes: async (address) => new Uint8Array(await readFile(at(address))),
  home: at,
  say: () => {},
});
process.stdout.write(JSON.stringify(questions.map(([name, text]) => ask(name, text))));
