// The playground in a browser prints what it prints natively. CRAWL_NATIVE and
// CRAWL_WASM are the two programs; `.ci/browser/playground` builds them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const { CRAWL_NATIVE, CRAWL_WASM } = process.env;
const bytes = readFileSync(CRAWL_WASM);
let browser, page;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  page = await browser.newPage();
  await page.addScriptTag({ path: new URL("../../crates/playground/web/wasi.js", import.meta.url).pathname });
  // The module is compiled once, as a page of the book would.
  await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    window.program = await WebAssembly.compile(bytes);
  }, bytes.toString("base64"));
});

after(() => browser?.close());

const inBrowser = (args) => page.evaluate((args) => Wasi.run(window.program, args), args);

for (const stage of [2, 3]) {
  for (const fault of ["none", "close", "silence", "slow", "missing"]) {
    for (const seed of [1, 2]) {
      const args = [`stage=${stage}`, `fault=${fault}`, `seed=${seed}`, "pages=40", "tasks=6", "latency=50"];
      test(args.join(" "), async () => {
        const native = spawnSync(CRAWL_NATIVE, args, { encoding: "utf8" });
        const found = await inBrowser(args);
        assert.deepEqual(found, { code: native.status, stdout: native.stdout, stderr: native.stderr });
        assert.equal(found.code, 0);
        const lines = found.stdout.trim().split("\n").map((line) => JSON.parse(line));
        const { rows, requests, simulated_ms: time } = lines.pop();
        assert.equal(rows, lines.length);
        assert.ok(requests >= rows && time > 0);
        const failed = lines.filter(({ outcome }) => outcome === "failed" || outcome === "http_error");
        assert.equal(failed.length > 0, fault !== "none" && fault !== "slow", "the fault is seen");
        if (failed.length === 0) assert.equal(rows, 40);
      });
    }
  }
}

test("a wrong word is refused in the same words", async () => {
  const native = spawnSync(CRAWL_NATIVE, ["fault=fire"], { encoding: "utf8" });
  assert.deepEqual(await inBrowser(["fault=fire"]), { code: 2, stdout: "", stderr: native.stderr });
  assert.match(native.stderr, /^fault=fire: expected none, close/);
});

test("a crawl of 1,000 pages is run in a moment", async (t) => {
  const begun = performance.now();
  const { stdout } = await inBrowser(["pages=1000", "tasks=100", "stage=3"]);
  assert.equal(stdout.trim().split("\n").length, 1_001);
  t.diagnostic(`${Math.round(performance.now() - begun)} ms`);
  t.diagnostic(`${bytes.length} bytes, gzipped ${gzipSync(bytes, { level: 9 }).length}`);
});
