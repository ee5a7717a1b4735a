// SPDX-License-Identifier: Apache-2.0
// Builds python/leowarp/view/built/ from src/: one script with its libraries, one style sheet. With --check it reports
// whether the existing files equal those that the sources give.
import { readFileSync, writeFileSync, mkdirSync, existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "python", "leowarp", "view", "built");
const LIBRARIES = ["d3-geo", "d3-array", "internmap", "topojson-client", "uplot", "world-atlas"];

const json = (path) => JSON.parse(readFileSync(path, "utf8"));
const text = (name) => {
  const folder = join(here, "node_modules", name);
  const file = ["LICENSE", "LICENSE.txt", "LICENSE.md"].map((each) => join(folder, each)).find(existsSync);
  return readFileSync(file, "utf8").trim();
};
const result = await build({
  entryPoints: [join(here, "src", "main.ts")],
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  absWorkingDir: here,
});
const bundled = new Set(
  Object.keys(result.metafile.inputs).flatMap((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []),
);
const strangers = [...bundled].filter((name) => !LIBRARIES.includes(name));
if (strangers.length > 0) throw new Error(`bundled, and not named with a licence: ${strangers.join(", ")}`);
const notes = LIBRARIES.filter((name) => bundled.has(name)).map((name) => {
  const { version, license } = json(join(here, "node_modules", name, "package.json"));
  return `${name} ${version} (${license})\n\n${text(name)}`;
});
const banner = [
  "/*! leowarp, Apache-2.0. Built from web/ by `make page`. Map: Natural Earth, public domain. It contains:",
  ...notes,
].join("\n\n---\n\n").replaceAll("*/", "* /");
const style = readFileSync(join(here, "node_modules/uplot/dist/uPlot.min.css"), "utf8").trim();
const files = {
  // "</script" would end the script on the page, even inside a string or comment.
  "page.js": `${banner}\n*/\n${result.outputFiles[0].text}`.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--"),
  "page.css": `${style}\n${readFileSync(join(here, "src", "page.css"), "utf8")}`,
};
mkdirSync(target, { recursive: true });
let old = 0;
for (const [name, content] of Object.entries(files)) {
  const path = join(target, name);
  if (existsSync(path) && readFileSync(path, "utf8") === content) continue;
  if (process.argv.includes("--check")) {
    console.error(`${name} is not what web/ gives: make page`);
    old = 1;
  } else {
    writeFileSync(path, content);
    console.log(`${name}: ${content.length} characters`);
  }
}
process.exit(old);
