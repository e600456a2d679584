// What a reader can do with the viewer, done by a browser: with keys, with the mouse,
// by the names that a screen reader has, in both themes, on a phone and on a desk. And
// the report of a crawl on paper.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { page as pageOf, report } from "./page.mjs";
import { makeTrace } from "./traces.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "viewer-"));
let browser;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Chromium's own sandbox does not work for root, nor in most containers. Where
    // there is no graphics card, drawing without one is faster than imitating one.
    args: ["--no-sandbox", "--disable-gpu"],
  });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Opens a page from a file. When the test ends, it must have been silent. */
async function open(t, trace, { width = 1280, scheme = "light", theme = "", script = true, motion = "reduce", hash = "" } = {}) {
  const context = await browser.newContext({
    viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: motion, javaScriptEnabled: script,
  });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.stack));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) complaints.push(request.url());
  });
  const file = join(folder, `${Math.random().toString(36).slice(2)}.html`);
  let html = pageOf(trace);
  if (theme) html = html.replace('<html lang="en">', `<html lang="en" class="${theme}">`);
  writeFileSync(file, html);
  await page.goto(`file://${file}${hash}`);
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  });
  return page;
}

const live = (page) => page.locator(".tv-live").textContent();
const details = (page) => page.getByRole("region", { name: "This event" });
const source = (page) => page.getByRole("region", { name: "Its line in the source" });
const timeline = (page) => page.getByRole("application", { name: /^Timeline/ });
const press = async (page, ...keys) => {
  await timeline(page).focus();
  for (const key of keys) await page.keyboard.press(key);
};
/** Waits until what was asked for has been drawn. */
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const ring = async (page) => {
  await drawn(page);
  return page.locator(".tv-ring").boundingBox();
};

/** A trace of two fetches, written by hand: phase, lane, microsecond, name, arguments. */
function byHand(...events) {
  const task = (number, name) => ({ tid: number + 3, kind: "task", name, number });
  const lanes = [{ tid: 1, kind: "os" }, { tid: 2, kind: "selector" }];
  lanes.push(task(1, "fetch http://h/a"), task(2, "fetch http://h/b"));
  const otherData = { format: "fourways-trace", version: 1, stage: "by hand", lanes };
  const traceEvents = events.map(([ph, tid, ts, name, args = {}]) => ({ ph, tid, ts, name, args }));
  return { otherData, traceEvents };
}

/** What each task does at this moment, in one line. */
const states = async (page) => {
  const text = await details(page).locator(".tv-states").innerText();
  return text.replaceAll("\n", " ");
};

/** The tasks that the end finds waiting. */
const stuck = async (page) => {
  const list = page.getByRole("list", { name: "Still waiting at the end" });
  const texts = await list.getByRole("listitem").allTextContents();
  return texts.map((text) => text.replace("Still waiting at the end: ", ""));
};

/** The spans and moments of a trace in their order, from nothing but its file. */
const items = (trace) => trace.traceEvents.filter(({ ph }) => ph === "B" || ph === "i");
const number = (value) => value.toLocaleString("en");

for (const width of [390, 1280]) {
  for (const [scheme, theme] of [["light", ""], ["dark", ""], ["light", "navy"], ["dark", "rust"]]) {
    test(`${width} px, ${scheme}, ${theme || "no theme of a book"}`, async (t) => {
      const page = await open(t, makeTrace({ events: 100, atOnce: 4, isStuck: true, dropped: 3 }), { width, scheme, theme });
      await press(page, "]", "]", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight");
      await page.locator(".tv-help-box summary").click();
      const { scrollWidth, ground } = await page.evaluate(() => ({
        scrollWidth: document.documentElement.scrollWidth,
        ground: getComputedStyle(document.querySelector(".trace-viewer")).backgroundColor,
      }));
      assert.ok(scrollWidth <= width, `the page scrolls sideways: ${scrollWidth}`);
      const isDark = theme ? theme === "navy" : scheme === "dark";
      assert.equal(ground, isDark ? "rgb(22, 26, 34)" : "rgb(251, 250, 247)");
      // axe-core: names, roles, contrast (AA) and the rest of WCAG that can be computed.
      await page.evaluate(AXE);
      const found = await page.evaluate(() => axe.run(".trace-viewer", {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      }));
      assert.ok(found.passes.some(({ id }) => id === "color-contrast"));
      assert.deepEqual(found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
      // What is drawn on the canvas cannot be seen by it.
      assert.deepEqual(await page.evaluate(faintColours), []);
    });
  }
}

/** The pairs of colours of the canvas that have too little contrast for text. */
function faintColours() {
  const style = getComputedStyle(document.querySelector(".trace-viewer"));
  const luminance = (name) => {
    const hex = style.getPropertyValue(`--tv-${name}`).trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const pairs = [
    ...["ink", "dim", "accent", "second", "third", "now"].flatMap((text) => ["ground", "stripe"].map((ground) => [text, ground])),
    ["dim", "accent-soft"], ["dim", "third-soft"], ["ink", "third-soft"],
    ["ground", "accent"], ["ground", "second"],
    ["ink", "here"], ["dim", "here"], ["second", "here"], ["third", "here"],
  ];
  return pairs.filter(([a, b]) => contrast(a, b) < 4.5).map(([a, b]) => `${a} on ${b}: ${contrast(a, b).toFixed(2)}`);
}

for (const events of [100, 5_000, 100_000]) {
  test(`a trace of ${number(events)} events is whole`, async (t) => {
    const trace = makeTrace({ events, atOnce: events > 10_000 ? 60 : 8, dropped: 12_345 });
    const all = items(trace);
    const page = await open(t, trace);
    await page.getByText(`${number(all.length)} events`, { exact: false }).first().waitFor();
    await page.getByText("12,345 events were not kept: the trace was full.").waitFor();
    await press(page, "End");
    assert.ok((await live(page)).startsWith(`${number(all.length)}: `));
    const grid = page.getByRole("grid");
    assert.equal(await grid.getAttribute("aria-rowcount"), String(all.length + 1));
    assert.ok((await grid.getByRole("row").count()) <= 101);
    // What is drawn and what is left out are together all there is in the rows in view.
    await press(page, "0");
    await page.locator(".tv-scroller").evaluate((node) => (node.scrollTop = 0));
    await drawn(page);
    const status = await page.locator(".tv-status").textContent();
    const [marks, left] = status.match(/\d[\d,]*|none/g).map((text) => Number(text.replaceAll(",", "")) || 0);
    const tasks = trace.otherData.lanes.filter(({ kind }) => kind === "task").slice(0, 13);
    const inView = all.filter(({ tid }) => tid <= 3 || tasks.some((lane) => lane.tid === tid)).length;
    assert.equal(marks + left, inView, status);
    assert.ok(marks > 0 && (events === 100 || left > 0), status);
    await page.getByRole("combobox", { name: "Axis" }).selectOption("order");
    await press(page, "t");
    await page.getByText("none left out").waitFor();
  });
}

test("keys go from event to event", async (t) => {
  const trace = makeTrace({ events: 300 });
  const all = items(trace);
  const page = await open(t, trace);
  const here = async () => {
    const [, place, text] = /^([\d,]+): (.*)$/.exec(await live(page));
    return { index: Number(place.replaceAll(",", "")) - 1, text };
  };
  assert.equal((await here()).index, 0);
  await press(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft");
  assert.equal((await here()).index, 2);
  const words = { waker_stored: "waker stored", wake: "woken", timer_set: "timer", timer_cancelled: "timer", close: "connection closed" };
  for (let i = 3; i < 120; i += 1) {
    await press(page, "ArrowRight");
    const { index, text } = await here();
    assert.equal(index, i);
    assert.ok(text.startsWith(words[all[i].name] ?? all[i].name), `${text} is no ${all[i].name}`);
    const { x, width } = await ring(page);
    assert.ok(x >= 0 && x + width <= 1280, "the event is in view");
  }
  await press(page, "End", "ArrowRight");
  assert.equal((await here()).index, all.length - 1);
  await press(page, "Home", "ArrowLeft");
  assert.equal((await here()).index, 0);
});

test("keys go from tick to tick, and back", async (t) => {
  const trace = makeTrace({ events: 300 });
  const ticks = trace.traceEvents.filter(({ ph, name }) => ph === "B" && name === "tick").length;
  const page = await open(t, trace);
  await press(page, "End", "Home");
  for (let tick = 2; tick <= ticks; tick += 1) {
    await press(page, tick % 2 ? "Shift+ArrowRight" : "]");
    assert.match(await live(page), new RegExp(`: tick ${tick},`));
  }
  await press(page, "]");
  assert.match(await live(page), new RegExp(`: tick ${ticks},`));
  // From the middle of a tick, its neighbours.
  await press(page, "Home", "]", "]", "ArrowRight", "ArrowRight", "[");
  assert.match(await live(page), /: tick 2,/);
  await page.getByRole("button", { name: "Next tick" }).click();
  assert.match(await live(page), /: tick 3,/);
});

test("arrow keys go to the next lane at the same moment", async (t) => {
  const page = await open(t, makeTrace({ events: 300 }));
  await press(page, "]", "]", "]");
  const lanes = [];
  for (let i = 0; i < 3; i += 1) {
    lanes.push(await details(page).locator("dd").nth(1).textContent());
    await press(page, "ArrowDown");
  }
  assert.deepEqual(lanes, ["selector", "fetch http://localhost:8000/", "fetch http://localhost:8000/page/2.html"]);
});

test("a click chooses what is under it", async (t) => {
  const page = await open(t, makeTrace({ events: 100, atOnce: 2 }));
  for (const key of ["waker stored", "step of", "woken", "tick", "read"]) {
    await press(page, "Home");
    let text = "";
    for (let i = 0; i < 60 && !text.includes(`: ${key}`); i += 1) {
      await press(page, "ArrowRight");
      text = await live(page);
    }
    const { x, y, width, height } = await ring(page);
    await press(page, "Home", "ArrowRight");
    assert.notEqual(await live(page), text);
    await page.mouse.click(x + Math.min(width / 2, 5), y + height / 2);
    assert.equal(await live(page), text);
  }
});

test("a step shows its line, its cause and what it waits for", async (t) => {
  const trace = makeTrace({ events: 100, atOnce: 2 });
  const page = await open(t, trace);
  await page.getByRole("searchbox").fill("woken by event");
  await page.keyboard.press("Enter");
  assert.match(await live(page), /: woken by event/);
  await page.getByRole("searchbox").fill("");
  await press(page, "w");
  assert.match(await live(page), /: step of fetch: pending, .*, goes on at fetch.rs:39$/);
  const [[file, text]] = Object.entries(trace.otherData.sources);
  const line = source(page).locator("[aria-current]");
  await source(page).getByText(`${file}:39`).waitFor();
  assert.equal((await line.textContent()).trim(), `39${text.split("\n")[38]}`);
  assert.equal(await source(page).locator("code > span").count(), 13);
  // Markup in a source is text.
  assert.match(await source(page).textContent(), /<b>no markup<\/b>/);
  await source(page).getByRole("button", { name: "Whole file" }).click();
  assert.equal(await source(page).locator("code > span").count(), text.split("\n").length);
  assert.ok(await line.isVisible());
  await details(page).getByRole("button", { name: /^woken by event/ }).click();
  assert.match(await live(page), /: woken by event/);
  await details(page).getByRole("button", { name: /^step of fetch/ }).click();
  await details(page).getByRole("button", { name: /^waker stored by read/ }).click();
  assert.match(await live(page), /: waker stored by read, key 1.101 at fetch.rs:39/);
});

test("what each task does at a moment, and what is unfinished", async (t) => {
  const page = await open(t, makeTrace({ events: 100, atOnce: 4 }));
  // At the end of tick 1, four tasks wait to be connected.
  await press(page, "]");
  const states = await details(page).locator(".tv-states, dl").last().innerText();
  assert.match(states.replaceAll("\n", " "), /running no task ready none waiting 4 for connect, 1 for all work to be done done 0 unfinished 4/);
  await press(page, "End");
  assert.match((await details(page).locator("dl").last().innerText()).replaceAll("\n", " "), /running \/page\/3.html ready none waiting 1 for all work to be done done 4 unfinished 1/);
});

test("a task that is never woken is named", async (t) => {
  const page = await open(t, makeTrace({ events: 300, isStuck: true }));
  const list = page.getByRole("list", { name: "Still waiting at the end" });
  assert.deepEqual(await list.getByRole("listitem").allTextContents(), [
    "Still waiting at the end: fetch /page/3.html for read at fetch.rs:40",
    "Still waiting at the end: main for all work to be done at fetch.rs:7",
  ]);
  await list.getByRole("button").first().click();
  assert.match(await live(page), /waker stored by read, key 3.103 at fetch.rs:40/);
  const well = await open(t, makeTrace({ events: 300 }));
  assert.equal(await well.getByText("Still waiting").count(), 0);
});

test("a fetch of callbacks waits before its first callback", async (t) => {
  const page = await open(t, byHand(
    ["B", 4, 0, "fetch", { url: "http://h/a" }],
    ["i", 4, 1, "waker_stored", { operation: "write", key: 1 }],
    ["B", 5, 2, "fetch", { url: "http://h/b" }],
    ["i", 5, 3, "waker_stored", { operation: "write", key: 2 }],
    ["B", 2, 4, "tick", { number: 1 }],
    ["B", 4, 5, "callback", { name: "writable", key: 1 }],
    ["i", 4, 6, "waker_stored", { operation: "read", key: 1 }],
    ["E", 4, 7, "callback"],
    ["E", 2, 8, "tick"],
    ["B", 2, 9, "tick", { number: 2 }],
    ["B", 4, 10, "callback", { name: "timed_out", key: 1 }],
    ["i", 4, 11, "close", { key: 1 }],
    ["E", 4, 12, "callback"],
    ["E", 2, 13, "tick"],
    ["B", 2, 14, "tick", { number: 3 }],
    ["i", 4, 15, "waker_stored", { operation: "write", key: 3 }],
    ["E", 2, 16, "tick"],
  ));
  const waiting = [];
  for (const key of ["]", "]", "]", "End"]) {
    await press(page, key);
    waiting.push(/waiting (.*) done 0/.exec(await states(page))[1]);
  }
  const paused = "1 for a wake-up, 1 for write";
  assert.deepEqual(waiting, ["2 for write", "1 for read, 1 for write", paused, "2 for write"]);
  assert.deepEqual(await stuck(page), ["fetch /a for write", "fetch /b for write"]);
});

test("a task that is over is not woken", async (t) => {
  const page = await open(t, byHand(
    ["B", 4, 0, "step"],
    ["i", 4, 1, "waker_stored", { operation: "read", key: 1 }],
    ["E", 4, 2, "step", { result: "pending" }],
    // The second task cancels the first.
    ["B", 5, 3, "step"],
    ["B", 4, 4, "step"],
    ["E", 4, 5, "step", { result: "cancelled" }],
    ["i", 5, 6, "waker_stored", { operation: "write", key: 2 }],
    ["E", 5, 7, "step", { result: "pending" }],
    ["C", 1, 8, "unfinished", { value: 1 }],
    ["i", 4, 9, "wake", { by: "event", from: 2 }],
  ));
  await press(page, "End");
  assert.match(await live(page), /: woken by event/);
  assert.match(await states(page), /^running no task ready none waiting 1 for write done 1/);
  assert.deepEqual(await stuck(page), ["fetch /b for write"]);
});

test("what a stop cancels was waiting at the end", async (t) => {
  const trace = byHand(
    ["B", 4, 0, "step"],
    ["i", 4, 1, "waker_stored", { operation: "read", key: 1 }],
    ["E", 4, 2, "step", { result: "pending" }],
    ["C", 1, 3, "unfinished", { value: 1 }],
    ["B", 5, 4, "step"],
    ["B", 4, 5, "step"],
    ["E", 4, 6, "step", { result: "cancelled" }],
    ["E", 5, 7, "step", { result: "done" }],
  );
  trace.otherData.lanes[3].name = "main";
  const page = await open(t, trace);
  assert.deepEqual(await stuck(page), ["fetch /a for read"]);
});

test("a timer says how long it has to run", async (t) => {
  const page = await open(t, byHand(
    ["i", 2, 0, "timer_set", { timer: 1, at_us: 10_000_000 }],
    ["i", 2, 4_000_000, "timer_moved", { timer: 2, from: 1, at_us: 15_000_000 }],
    ["i", 2, 15_000_002, "timer_fired", { timer: 2 }],
  ));
  const texts = await page.locator(".tv-rows td:nth-child(5)").allTextContents();
  assert.deepEqual(texts, ["timer 1 set, in 10 s", "timer 2 moved, in 11 s", "timer 2 fired"]);
});

test("a connection that is used again has no address", async (t) => {
  const page = await open(t, byHand(["i", 4, 0, "reuse", { key: 7 }]));
  assert.equal(await live(page), "1: connection used again, key 7");
});

test("the arrow of the chosen wake is drawn however many there are", async (t) => {
  const woken = (tid, at) => [
    ["i", tid, at, "wake", { by: "event", from: 2 }],
    ["B", tid, at + 1, "step"],
    ["E", tid, at + 2, "step", { result: "pending" }],
  ];
  const many = Array.from({ length: 70 }, (_, i) => woken(4, 3 * i)).flat();
  const page = await open(t, byHand(...many, ...woken(5, 300)));
  await drawn(page);
  // Nothing but arrows has bends.
  await page.evaluate(() => {
    const { prototype } = CanvasRenderingContext2D;
    const { bezierCurveTo } = prototype;
    window.widths = [];
    prototype.bezierCurveTo = function (...points) {
      window.widths.push(this.lineWidth);
      bezierCurveTo.apply(this, points);
    };
  });
  await press(page, "End");
  await page.getByText("arrows of this event only").waitFor();
  assert.match(await live(page), /: step of fetch http:\/\/h\/b/);
  assert.deepEqual(await page.evaluate(() => window.widths), [2]);
});

test("a stale event says so", async (t) => {
  const page = await open(t, makeTrace({ events: 300 }));
  await page.getByRole("searchbox").fill("stale");
  await page.keyboard.press("Enter");
  assert.match(await live(page), /event: readable, key 1, stale: its source is gone/);
});

test("a search leaves the lanes and events that have it", async (t) => {
  const trace = makeTrace({ events: 5_000 });
  const page = await open(t, trace);
  await page.getByRole("searchbox").fill("page/7.html");
  await page.getByText(/^1 lanes and \d+ events found/).waitFor();
  const rows = await page.locator(".tv-rows td:nth-child(4)").allTextContents();
  assert.ok(rows.length > 3 && rows.every((lane) => lane === "/page/7.html"), rows.join());
  await page.keyboard.press("Enter");
  const first = await live(page);
  assert.match(first, /fetch http:\/\/localhost:8000\/page\/7.html/);
  await page.keyboard.press("Enter");
  assert.notEqual(await live(page), first);
  await page.keyboard.press("Escape");
  assert.doesNotMatch(await page.locator(".tv-status").textContent(), /found/);
});

test("the table goes with the timeline, by keys and by clicks", async (t) => {
  const trace = makeTrace({ events: 1_000 });
  const all = items(trace);
  const page = await open(t, trace);
  const selected = page.getByRole("row", { selected: true });
  await press(page, "ArrowRight", "ArrowRight");
  assert.equal(await selected.getAttribute("aria-rowindex"), "4");
  await selected.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("PageDown");
  assert.match(await live(page), /^14: /);
  assert.ok(await selected.evaluate((row) => row === document.activeElement));
  await page.keyboard.press("End");
  assert.match(await live(page), new RegExp(`^${number(all.length)}: `));
  assert.ok(await selected.evaluate((row) => row === document.activeElement), "the focus goes to the next page");
  await page.keyboard.press("Home");
  await page.getByRole("button", { name: "Later events" }).click();
  await page.getByRole("row").nth(5).click();
  assert.match(await live(page), /^105: /);
  assert.equal((await selected.locator("td").first().textContent()).trim(), "105");
});

test("play goes on until it is told to pause, or the end", async (t) => {
  const page = await open(t, makeTrace({ events: 50, atOnce: 1 }));
  await page.getByRole("combobox", { name: "Speed of playing" }).selectOption("20");
  await press(page, " ");
  await page.waitForFunction(() => /^([5-9]|[1-3]\d): /.test(document.querySelector(".tv-live").textContent));
  await press(page, " ");
  const text = await live(page);
  await page.waitForTimeout(200);
  assert.equal(await live(page), text);
  const play = page.getByRole("button", { name: "Play or pause" });
  assert.equal(await play.getAttribute("aria-pressed"), "false");
  await play.click();
  assert.equal(await play.getAttribute("aria-pressed"), "true");
  await page.waitForFunction(() => document.querySelector(".tv-play").getAttribute("aria-pressed") === "false");
  await press(page, "ArrowRight");
  const end = await live(page);
  await press(page, "End");
  assert.equal(await live(page), end);
});

test("less motion means none", async (t) => {
  const trace = makeTrace({ events: 300 });
  // The most places in which a key has shown the view, until one has shown it in so many.
  const frames = async (motion, enough) => {
    const page = await open(t, trace, { motion });
    await press(page, "Home", "]", "]", "]", "]", "]", "]", "]", "]");
    await page.waitForTimeout(400);
    return page.evaluate(async (enough) => {
      let most = 0;
      const view = document.querySelector(".tv-window");
      for (let key = 0; key < 40 && most < enough; key += 1) {
        const found = new Set();
        const before = view.style.left;
        document.querySelector(".tv-stage").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
        for (let frame = 0; frame < 15; frame += 1) {
          await new Promise(requestAnimationFrame);
          if (view.style.left !== before) found.add(view.style.left);
        }
        most = Math.max(most, found.size);
      }
      return most;
    }, enough);
  };
  assert.equal(await frames("reduce", 1), 1);
  assert.ok((await frames("no-preference", 3)) >= 3);
});

test("two traces stand side by side, by URL", async (t) => {
  const trace = makeTrace({ events: 300, atOnce: 2, stage: "stage1" });
  const other = makeTrace({ events: 300, atOnce: 2, stage: "stage2", slower: 2 });
  const page = await open(t, trace);
  const file = join(folder, "other.html");
  writeFileSync(file, pageOf(other));
  await page.getByLabel("Compare…").setInputFiles(file);
  await page.getByText("A: stage1").first().waitFor();
  await page.locator(".tv-fetches-box summary").click();
  const rows = await page.locator(".tv-fetches tbody tr").allInnerTexts();
  const urls = (trace) => trace.traceEvents.filter(({ ph, name }) => ph === "B" && name === "fetch").map(({ args }) => args.url);
  assert.equal(rows.length, new Set([...urls(trace), ...urls(other)]).size);
  assert.match(rows[0], /^\/\t[\d.]+ ms\t[\d.]+ ms\t\+[\d.]+ ms$/);

  // The same fetch in the other trace, and back.
  await page.getByRole("button", { name: "/page/5.html", exact: true }).click();
  const here = await live(page);
  const top = async () => {
    await drawn(page);
    return page.locator(".tv-ring").evaluate((node) => parseFloat(node.style.top));
  };
  const before = await top();
  await press(page, "c");
  const there = await live(page);
  assert.match(there, /fetch http:\/\/localhost:8000\/page\/5.html/);
  assert.notEqual(here, there);
  assert.equal(await top(), before + 34, "the rows of one URL are neighbours");
  // Aligned, both begin at the same place.
  await press(page, "a");
  assert.match(await live(page), /^Aligned at http/);
  const aligned = await ring(page);
  await press(page, "c");
  const both = await ring(page);
  assert.ok(Math.abs(aligned.x - both.x) < 1, `${aligned.x} ${both.x}`);
  assert.ok(both.width > 3);
  await page.getByRole("button", { name: "Show the first trace alone" }).click();
  await page.locator(".tv-fetches-box").waitFor({ state: "hidden" });
});

test("a fetch that has not ended has no time in the comparison", async (t) => {
  const fetches = (...ends) => byHand(
    ["B", 4, 0, "fetch", { url: "http://h/a" }],
    ["B", 5, 20, "fetch", { url: "http://h/b" }],
    ...ends,
  );
  const page = await open(t, fetches(["E", 4, 100, "fetch"]));
  const file = join(folder, "ended.json");
  writeFileSync(file, JSON.stringify(fetches(["E", 5, 70, "fetch"], ["E", 4, 100, "fetch"])));
  await page.getByLabel("Compare…").setInputFiles(file);
  await page.locator(".tv-fetches-box summary").click();
  const cells = await page.locator(".tv-fetches tbody :is(th, td)").allTextContents();
  assert.deepEqual(cells, ["/a", "100 µs", "100 µs", "0 µs", "/b", "not ended", "50 µs", ""]);
});

test("what is no trace is refused, and the trace stays", async (t) => {
  const page = await open(t, makeTrace({ events: 100 }));
  const newer = makeTrace({ events: 50 });
  newer.otherData.version = 2;
  for (const [text, message] of [
    ["{", /^bad.json: /], ["<p>", /holds no trace/], ["[]", /not a trace of these programs/], ["null", /not a trace/],
    [JSON.stringify({ traceEvents: [] }), /not a trace of these programs/], [JSON.stringify(newer), /version of this trace is 2; this viewer reads 1/],
  ]) {
    const file = join(folder, "bad.json");
    writeFileSync(file, text);
    await page.getByLabel("Compare…").setInputFiles(file);
    await page.getByRole("alert").filter({ hasText: message }).waitFor();
    await press(page, "End");
    assert.match(await live(page), /^\d+: /);
  }
});

test("odd traces are shown as far as they go", async (t) => {
  const data = { format: "fourways-trace", version: 1, stage: "<img src=x onerror=alert(1)>", lanes: [{ tid: 4, kind: "task", name: "</script><!-- <script><b>" }] };
  const shown = async (traceEvents) => {
    const page = await open(t, { otherData: data, traceEvents });
    await page.locator(".tv-stage").waitFor();
    return page;
  };
  const empty = await shown([]);
  await empty.getByRole("searchbox").fill("nothing");
  await empty.getByRole("button", { name: "Later events" }).click();
  const page = await shown([
    { ph: "E", tid: 4, ts: 1, name: "step" },
    { ph: "B", tid: 4, ts: 5, name: "fetch", args: { url: "<b>" } },
    { ph: "i", tid: 77, ts: 3, name: "of_tomorrow", args: { deep: { er: 1 } } },
    { ph: "B", tid: 4, ts: 6, name: "step", args: { at: { file: "none.rs", line: 3 } } },
    { ph: "b", tid: 4, ts: 7, name: "foreign" },
  ]);
  await press(page, "ArrowRight");
  assert.match(await live(page), /^2: fetch <b>, not ended/);
  await press(page, "End");
  await source(page).getByText("The trace does not hold this file.").waitFor();
  assert.equal(await page.locator("b, .tv-about img").count(), 0);
});

test("an address leads to an event", async (t) => {
  const page = await open(t, makeTrace({ events: 300 }), { hash: "#event=42" });
  assert.match(await live(page), /^42: /);
  const first = await open(t, makeTrace({ events: 300 }), { hash: "#event=0" });
  assert.match(await live(first), /^1: /);
});

test("an arrow key on a button of the timeline steps, and turns no page", async (t) => {
  const page = await open(t, makeTrace({ events: 300 }));
  // As the book does.
  await page.evaluate(() => {
    window.turned = [];
    document.addEventListener("keydown", ({ key, target }) => {
      if (/^Arrow(Left|Right)$/.test(key)) window.turned.push(target.outerHTML);
    });
  });
  await page.getByRole("button", { name: "Next event" }).focus();
  const keys = ["ArrowRight", "Enter", " ", "ArrowRight", "ArrowLeft"];
  for (const key of keys) await page.keyboard.press(key);
  assert.match(await live(page), /^4: /);
  // A link to another event is gone with this one.
  await details(page).getByRole("button", { name: "tick 1" }).click();
  assert.match(await live(page), /: tick 1,/);
  const here = await live(page);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await live(page), here);
  const row = page.getByRole("row", { selected: true });
  for (const other of [row, page.getByRole("button", { name: "Later events" })]) {
    await other.focus();
    await page.keyboard.press("ArrowRight");
  }
  assert.deepEqual(await page.evaluate(() => window.turned), []);
});

test("without JavaScript the page says what it needs", async (t) => {
  const page = await open(t, makeTrace({ events: 100 }), { script: false });
  // `getByText` passes over what stands in a `noscript`.
  const sentence = page.locator("noscript p");
  await sentence.waitFor();
  assert.match(await sentence.textContent(), /needs JavaScript/);
});

test("a drag moves the view, and so does the strip above", async (t) => {
  const page = await open(t, makeTrace({ events: 5_000 }));
  const view = () => page.locator(".tv-window").boundingBox();
  await press(page, "+", "+", "+", "+");
  await drawn(page);
  const before = await view();
  const { x, y } = await page.locator(".tv-stage").boundingBox();
  await page.mouse.move(x + 900, y + 150);
  await page.mouse.down();
  await page.mouse.move(x + 700, y + 150, { steps: 5 });
  await page.mouse.up();
  await drawn(page);
  const moved = await view();
  assert.ok(moved.x > before.x + 5);
  assert.ok(Math.abs(moved.width - before.width) < 1);
  await page.locator(".tv-overview").click({ position: { x: 1000, y: 10 } });
  await drawn(page);
  const strip = await view();
  assert.ok(Math.abs(strip.x + strip.width / 2 - x - 1000) < 5);
  await page.mouse.move(x + 700, y + 150);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await page.waitForFunction((width) => document.querySelector(".tv-window").getBoundingClientRect().width < width * 0.8, strip.width);
});

test("a press that ends elsewhere drags nothing", async (t) => {
  const page = await open(t, makeTrace({ events: 5_000 }));
  const view = async () => {
    await drawn(page);
    return page.locator(".tv-window").boundingBox();
  };
  await press(page, "+", "+", "+", "+");
  const before = await view();
  const { x, y } = await page.locator(".tv-stage").boundingBox();
  const [clientX, clientY] = [x + 900, y + 150];
  await page.mouse.move(clientX, clientY);
  await page.mouse.down({ button: "right" });
  await page.mouse.move(x + 700, clientY, { steps: 5 });
  assert.deepEqual(await view(), before);
  await page.mouse.up({ button: "right" });
  // Of this press, the end is told to another window.
  const pressed = { clientX, clientY, pointerId: 1, button: 0, buttons: 1 };
  await page.locator(".tv-stage").dispatchEvent("pointerdown", pressed);
  await page.mouse.move(clientX, clientY, { steps: 5 });
  assert.deepEqual(await view(), before);
});

test("100,000 events stay above 30 frames a second while dragged", async (t) => {
  const trace = makeTrace({ events: 100_000, atOnce: 60 });
  assert.ok(trace.traceEvents.length > 100_000);
  const page = await open(t, trace);
  // The processor time of the page, in seconds. On a machine that is busy with other
  // things, it says how fast the page could be; where a processor has little to do
  // meanwhile, it has to be that fast.
  const idle = () => cpus().reduce((sum, { times }) => sum + times.idle / 1000, 0);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const work = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value;
  };
  const { x, y } = await page.locator(".tv-stage").boundingBox();
  for (const [zoomed, keys] of [["half of it", ["+"]], ["a tenth", ["+", "+"]], ["some ticks", ["+", "+", "+", "+", "+", "+", "+"]]]) {
    await press(page, "0", ...keys);
    await page.mouse.move(x + 700, y + 300);
    await page.mouse.down();
    const before = await work();
    const idleBefore = idle();
    const found = await page.evaluate(async ([x, y]) => {
      const stage = document.querySelector(".tv-stage");
      let paints = 0;
      const observer = new MutationObserver(() => (paints += 1));
      observer.observe(document.querySelector(".tv-window"), { attributes: true });
      const begun = performance.now();
      for (let frame = 0; frame < 90; frame += 1) {
        await new Promise(requestAnimationFrame);
        const drag = { clientX: x + 700 - 200 * Math.sin(frame / 5), clientY: y + 300, pointerId: 1, pointerType: "mouse", bubbles: true, buttons: 1 };
        stage.dispatchEvent(new PointerEvent("pointermove", drag));
      }
      observer.disconnect();
      const seconds = (performance.now() - begun) / 1000;
      return { paints, seconds, status: document.querySelector(".tv-status").textContent };
    }, [x, y]);
    const spare = (idle() - idleBefore) / found.seconds;
    const worked = (await work()) - before;
    await page.mouse.up();
    assert.ok(found.paints > 70, `${zoomed}: only ${found.paints} of 90 moves were painted`);
    const rate = found.paints / found.seconds;
    const possible = found.paints / worked;
    t.diagnostic(`${zoomed}: ${rate.toFixed(1)} frames a second, ${((worked * 1000) / found.paints).toFixed(1)} ms of work each, ${spare.toFixed(2)} processors idle; ${found.status}`);
    assert.ok(possible > 30, `${zoomed}: work for ${possible.toFixed(1)} frames a second`);
    if (spare > 0.5) assert.ok(rate > 30, `${zoomed}: ${rate.toFixed(1)} frames a second`);
  }
});

test("a report that is printed has its rows, and says how many", async (t) => {
  const row = (_, n) => [`http://h/${n}`, 200, "fine", null, "text/html", 1, 1, 1];
  const prints = (page) => page.pdf();
  const isAsked = (page) => page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  for (const [count, printed, print] of [[450, 450, prints], [6_000, 5_000, isAsked]]) {
    const page = await browser.newPage();
    t.after(() => page.close());
    await page.setContent(report(Array.from({ length: count }, row)));
    assert.equal(await page.locator("tbody tr").count(), 200);
    await print(page);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("tbody tr").count(), printed);
    await page.getByText(`${printed} of ${count} shown, ${count} in all`).waitFor();
    assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
  }
});
