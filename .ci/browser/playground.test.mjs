// The programs of the book's pages print in a browser what they print natively.
// CRAWL_NATIVE is the folder of the native ones; `.ci/browser/playground` builds both.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const { CRAWL_NATIVE } = process.env;
/** The most bytes of each program, packed. */
const LIMITS = { playground: 560 * 1024, scenes: 90 * 1024 };

const ROOT = new URL("../../", import.meta.url);

/** What a script of the book holds, packed: a program, for example. */
function packed(name) {
  const script = readFileSync(new URL(`book/src/play/${name}.js`, ROOT), "utf8");
  return Buffer.from(/= "([^"]+)"/.exec(script)[1], "base64");
}

const inBook = (name) => gunzipSync(packed(name));

const sources = JSON.parse(inBook("sources"));

/** The lines of sources that a trace names, as `file:line`. */
const places = (trace) => trace.traceEvents.flatMap(({ args }) => (args?.at ? [`${args.at.file}:${args.at.line}`] : []));

let browser, page;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  page = await browser.newPage();
  await page.addScriptTag({ path: new URL("../../book/src/play/wasi.js", import.meta.url).pathname });
  await page.evaluate(() => (window.programs = {}));
  for (const name of Object.keys(LIMITS)) {
    await page.evaluate(async ([name, base64]) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      window.programs[name] = await WebAssembly.compile(bytes);
    }, [name, inBook(name).toString("base64")]);
  }
});

after(() => browser?.close());

const inBrowser = (name, args) => page.evaluate(([name, args]) => Wasi.run(window.programs[name], args), [name, args]);

/** Runs a program natively and in the browser. Returns what both print. */
async function same(name, args) {
  const native = spawnSync(`${CRAWL_NATIVE}/${name}`, args, { encoding: "utf8", maxBuffer: 1 << 28 });
  const told = { code: native.status, stdout: native.stdout, stderr: native.stderr };
  assert.deepEqual(await inBrowser(name, args), told);
  return told;
}

for (const stage of [1, 2, 3]) {
  for (const fault of ["none", "close", "silence", "slow", "missing"]) {
    for (const seed of [1, 2]) {
      const args = [`stage=${stage}`, `fault=${fault}`, `seed=${seed}`, "pages=40", "tasks=6", "latency=50", "trace=yes"];
      test(args.join(" "), async () => {
        const found = await same("playground", args);
        assert.equal(found.code, 0);
        const lines = found.stdout.trim().split("\n").map((line) => JSON.parse(line));
        const trace = lines.pop();
        const { rows, requests, simulated_ms: time } = lines.pop();
        assert.equal(rows, lines.length);
        assert.ok(requests >= rows && time > 0);
        const failed = lines.filter(({ outcome }) => outcome === "failed" || outcome === "http_error");
        assert.equal(failed.length > 0, fault !== "none" && fault !== "slow", "the fault is seen");
        if (failed.length === 0) assert.equal(rows, 40);
        assert.equal(trace.otherData.stage, `stage${stage}`);
        const begun = trace.traceEvents.filter(({ ph, name }) => ph === "B" && name === "fetch");
        assert.ok(begun.length >= rows, "each fetch is in the trace");
        const files = new Set(places(trace).map((place) => place.split(":")[0]));
        for (const file of files) assert.ok(file in sources, `${file} is among the sources of the book`);
        // Callbacks have names, and the page finds their lines.
        const callbacks = new Set(trace.traceEvents.filter(({ name }) => name === "callback").map(({ args }) => args.name).filter(Boolean));
        if (stage === 1) assert.ok(callbacks.has("read_response") && callbacks.has("writable"), [...callbacks].join());
        else assert.ok([...files].some((file) => file.startsWith(`crates/stage${stage}-`)), [...files].join());
      });
    }
  }
}

for (const stage of [1, 2, 3]) {
  test(`only one read for an event under edge triggering hangs, stage ${stage}`, async () => {
    const ends = {};
    for (const trigger of ["edge", "level"]) {
      for (const read of ["all", "once"]) {
        const { stdout } = await same("playground", [`stage=${stage}`, `trigger=${trigger}`, `read=${read}`, "trace=yes"]);
        const lines = stdout.trim().split("\n");
        const { traceEvents } = JSON.parse(lines.pop());
        const rows = lines.slice(0, -1).map((line) => JSON.parse(line));
        const reads = traceEvents.filter(({ name, args }) => name === "read" && args.bytes > 0).length;
        ends[`${trigger} ${read}`] = { rows: rows.map(({ url, outcome, error }) => `${url} ${outcome} ${error?.class ?? ""}`).sort(), reads };
      }
    }
    assert.deepEqual(ends["edge all"], ends["level all"]);
    assert.equal(ends["edge all"].rows.length, 12);
    assert.deepEqual(ends["level once"].rows, ends["edge all"].rows);
    assert.ok(ends["level once"].reads >= 2 * ends["level all"].reads);
    assert.deepEqual(ends["edge once"].rows, ["http://10.0.0.1/ failed timeout"]);
  });
}

test("the sources of the book are those of the programs", () => {
  for (const [file, text] of Object.entries(sources)) assert.equal(text, readFileSync(new URL(file, ROOT), "utf8"), file);
  assert.ok(Object.keys(sources).length > 10);
});

test("each scene is the same", async () => {
  // Natively there are also those that have no choices.
  const { stdout } = await inBrowser("scenes", []);
  const names = stdout.trim().split("\n");
  assert.ok(names.length >= 8);
  for (const name of names) assert.equal((await same("scenes", [name])).code, 0);
  for (let seed = 1; seed <= 10; seed += 1) await same("scenes", ["orders", `seed=${seed}`]);
});

test("a wrong word is refused in the same words", async () => {
  const { code, stderr } = await same("playground", ["fault=fire"]);
  assert.equal(code, 2);
  assert.match(stderr, /^fault=fire: expected none, close/);
});

test("a crawl of 1,000 pages is run in a moment", async (t) => {
  const begun = performance.now();
  const words = ["pages=1000", "tasks=100", "stage=3", "trace=yes"];
  const { stdout } = await inBrowser("playground", words);
  // The rows, the whole, and the trace.
  assert.equal(stdout.trim().split("\n").length, 1_002);
  const took = performance.now() - begun;
  t.diagnostic(`${Math.round(took)} ms`);
  assert.ok(took < 60_000, `${took} ms`);
});

test("the programs are small", (t) => {
  for (const [name, limit] of Object.entries(LIMITS)) {
    const { length } = packed(name);
    t.diagnostic(`${name}: packed ${length} bytes`);
    assert.ok(length <= limit, `${name}: ${length} bytes`);
  }
});
