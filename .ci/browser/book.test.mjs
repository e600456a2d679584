// The built book in a browser: what a reader sees at two widths and in five themes, with
// and without JavaScript; the scenes that one steps through; the playground. BOOK is the
// folder of the built book. With BOOK_THEMES=all every page is looked at in every theme.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { BOOK, BOOK_THEMES } = process.env;
const PAGES = readdirSync(BOOK).filter((name) => name.endsWith(".html") && !["404.html", "index.html", "print.html", "toc.html"].includes(name));
const THEMES = ["light", "rust", "coal", "navy", "ayu"];
/** The pages that are looked at in every theme, unless all are. */
const SAMPLE = ["introduction.html", "callbacks.html", "queue.html", "measurements.html", "playground.html"];
/** The scenes that are not played anew, and are not in the program for a browser. */
const WITHOUT_CHOICES = ["one-read", "walk"];
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
});

after(() => browser?.close());

/** Makes a page that has to stay silent, and loads nothing but files of the book. */
async function reader(t, { width = 1280, theme, script = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, javaScriptEnabled: script });
  if (theme) await context.addInitScript((theme) => localStorage.setItem("mdbook-theme", theme), theme);
  const page = await context.newPage();
  const complaints = [];
  const loaded = new Map();
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.stack));
  // mdBook asks its playground for a list of crates, on the page that can be run there.
  await page.route("https://play.rust-lang.org/meta/crates", (route) => route.fulfill({ json: { crates: [] } }));
  page.on("request", (request) => {
    const url = request.url();
    if (url.startsWith("file:")) loaded.set(url, statSync(fileURLToPath(url.split(/[?#]/)[0])).size);
    else if (!/^(data|blob):|^https:\/\/play\.rust-lang\.org\/meta\/crates$/.test(url)) complaints.push(url);
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  });
  const open = (name) => page.goto(`file://${join(BOOK, name)}`);
  return { page, open, loaded };
}

/** Notes the arrow keys that come to the document, where the book turns its pages. */
const noteTurns = (page) => page.evaluate(() => {
  window.turns = [];
  document.addEventListener("keydown", ({ key, target }) => {
    if (/^Arrow(Left|Right)$/.test(key)) window.turns.push(target.outerHTML);
  });
});
const turns = (page) => page.evaluate(() => window.turns);

const widthOf = (page) => page.evaluate(() => document.documentElement.scrollWidth);

/** Finds figures that scroll sideways, and words in figures of less than 10 px. */
function figuresOf() {
  document.querySelectorAll("main details").forEach((details) => (details.open = true));
  const figures = [...document.querySelectorAll("main figure")];
  const size = (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
  const texts = figures.flatMap((figure) => [...figure.querySelectorAll("svg text")]);
  return {
    wide: figures.filter((figure) => figure.scrollWidth > figure.clientWidth).map(({ innerText }) => innerText),
    small: texts.filter((text) => size(text) < 9.99).map((text) => text.textContent),
    words: texts.length,
  };
}

for (const width of [390, 1280]) {
  test(`no page and no figure scrolls sideways at ${width} px, and each is silent`, async (t) => {
    const { page, open } = await reader(t, { width });
    let all = 0;
    for (const name of PAGES) {
      await open(name);
      assert.ok((await widthOf(page)) <= width, `${name} scrolls sideways: ${await widthOf(page)}`);
      const { wide, small, words } = await page.evaluate(figuresOf);
      assert.deepEqual([wide, small], [[], []], `${name}: figures that are wide, words that are small`);
      all += words;
    }
    assert.ok(all > 500, `${all} words in figures`);
  });
}

for (const theme of THEMES) {
  test(`contrast and names, ${theme}`, async (t) => {
    const { page, open } = await reader(t, { theme });
    const isOurs = ["light", "navy"].includes(theme);
    for (const name of BOOK_THEMES === "all" ? PAGES : isOurs ? SAMPLE : SAMPLE.slice(0, 2)) {
      await open(name);
      await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
      await page.evaluate(AXE);
      const found = await page.evaluate(() => axe.run("main", { runOnly: ["color-contrast", "button-name", "label", "select-name", "svg-img-alt", "link-name", "aria-valid-attr", "aria-allowed-role"] }));
      assert.ok(found.passes.some(({ id }) => id === "color-contrast"));
      const told = found.violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map(({ html, any }) => `${html.slice(0, 120)} ${any[0]?.message}`).join("\n  ")}`);
      assert.deepEqual(told, []);
    }
  });
}

test("what is printed has contrast in every theme", async (t) => {
  for (const theme of THEMES) {
    const { page, open } = await reader(t, { theme });
    await page.emulateMedia({ media: "print" });
    for (const name of theme === "navy" ? SAMPLE : SAMPLE.slice(0, 2)) {
      await open(name);
      await page.evaluate(AXE);
      const found = await page.evaluate(() => axe.run("main", { runOnly: ["color-contrast"] }));
      assert.ok(found.passes.length > 0);
      const nodes = found.violations.flatMap(({ nodes }) => nodes);
      const told = nodes.map(({ html, any }) => `${html.slice(0, 120)} ${any[0]?.message}`);
      assert.deepEqual(told, [], `${theme}, ${name}`);
      // What figures are drawn with.
      const colour = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement);
        return style.getPropertyValue("--figure-second");
      });
      assert.equal(colour, "#8f3800", theme);
    }
  }
});

test("without JavaScript every page has its text, and every scene all its steps", async (t) => {
  const { page, open } = await reader(t, { width: 390, script: false });
  let scenes = 0;
  for (const name of PAGES) {
    await open(name);
    assert.ok((await page.locator("main").innerText()).length > 300, name);
    assert.equal(await page.locator(".scene-bar").count(), 0, name);
    // In an answer that is folded, a list is not visible; elsewhere it is.
    const visible = page.locator(".scene-lanes li").filter({ visible: true });
    const folded = page.locator("details .scene-lanes li");
    assert.equal(await visible.count(), (await page.locator(".scene-lanes li").count()) - (await folded.count()), name);
    scenes += await page.locator("figure.scene").count();
  }
  assert.equal(scenes, 10);
});

test("the first page is small before anything is played", async (t) => {
  const { page, open, loaded } = await reader(t);
  await open("introduction.html");
  await page.waitForLoadState("networkidle");
  const sum = [...loaded.values()].reduce((a, b) => a + b, 0);
  t.diagnostic(`${loaded.size} files, ${sum} bytes`);
  assert.ok(sum < 500_000, `${sum} bytes: ${JSON.stringify([...loaded], null, 1)}`);
});

test("a crawl by four stages is shown up to a moment", async (t) => {
  const { page, open } = await reader(t, { width: 390 });
  await open("introduction.html");
  const seen = () => page.locator("figure.race clipPath rect").evaluate((node) => Number(node.getAttribute("width")));
  assert.equal(await seen(), 700);
  await page.getByRole("slider", { name: "Moment of the crawl" }).fill("500");
  assert.equal(await seen(), 350);
  await page.locator("figure.race").getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => Number(document.querySelector("figure.race clipPath rect").getAttribute("width")) === 700, null, { timeout: 10_000 });
});

/** Opens a page at its scene of a hang, of which all moments are shown. */
async function sceneOfAHang(t) {
  const { page, open } = await reader(t);
  await open("selector.html");
  await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
  const scene = page.locator("figure.scene[data-scene=hang]");
  const shown = () => scene.locator("li").filter({ visible: true }).count();
  const all = await shown();
  return { page, open, scene, shown, all };
}

test("a scene is stepped through with buttons and keys", async (t) => {
  const { page, scene, shown, all } = await sceneOfAHang(t);
  assert.ok(all > 5);
  await noteTurns(page);
  await scene.focus();
  await page.keyboard.press("Home");
  assert.equal(await shown(), 1);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await shown(), 3);
  await page.keyboard.press("ArrowLeft");
  assert.equal(await shown(), 2);
  assert.deepEqual(await turns(page), []);
  await scene.getByRole("button", { name: "Step" }).click();
  assert.equal(await shown(), 3);
  await scene.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction((all) => document.querySelectorAll("figure.scene[data-scene=hang] li:not(.is-later)").length === all, all, { timeout: 15_000 });
  await page.keyboard.press("Home");
});

test("an arrow key on a button of a scene steps, and turns no page", async (t) => {
  const { page, open, scene, shown, all } = await sceneOfAHang(t);
  await noteTurns(page);
  const back = scene.getByRole("button", { name: "Back" });
  await back.focus();
  for (const key of ["ArrowLeft", "Enter", " "]) await page.keyboard.press(key);
  assert.equal(await shown(), all - 3);
  // Back is switched off at the first moment, and Step at the last one.
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await shown(), 1);
  await scene.getByRole("button", { name: "Step" }).focus();
  for (let i = 0; i <= all; i += 1) await page.keyboard.press("ArrowRight");
  assert.equal(await shown(), all);
  assert.deepEqual(await turns(page), []);
  await open("introduction.html");
  await noteTurns(page);
  await page.locator("figure.race").getByRole("button", { name: "Play" }).focus();
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await turns(page), []);
});

test("other choices are played by the program itself", async (t) => {
  const { page, open, loaded } = await reader(t);
  await open("selector.html");
  await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
  const has = (name) => [...loaded.keys()].some((url) => url.endsWith(`/play/${name}.js`));
  assert.ok(!has("scenes"), "the program is loaded only when it is needed");
  const scene = page.locator("figure.scene[data-scene=hang]");
  const before = await scene.locator(".scene-lanes").innerText();
  await scene.getByLabel("trigger").selectOption("level");
  await scene.getByRole("button", { name: "Show all" }).click();
  await scene.locator(".scene-end", { hasText: "The program has all 16 KiB." }).waitFor();
  assert.ok(has("scenes"));
  await scene.getByLabel("trigger").selectOption("edge");
  await scene.getByRole("button", { name: "Show all" }).click();
  await scene.locator(".scene-end", { hasText: "and it hangs" }).waitFor();
  assert.equal(await scene.locator(".scene-lanes").innerText(), before, "in a browser the program says the same");
});

test("every scene is the same in a browser as on the page", async (t) => {
  const { page, open } = await reader(t);
  await open("introduction.html");
  const folder = new URL("../../book/src/out/", import.meta.url);
  for (const file of readdirSync(folder).filter((name) => name.startsWith("scene_"))) {
    const name = file.slice("scene_".length, -".html".length).replaceAll("_", "-");
    if (WITHOUT_CHOICES.includes(name)) continue;
    const { code, stdout } = await page.evaluate((name) => Programs.run("scenes", [name]), name);
    assert.equal(code, 0, name);
    assert.equal(stdout, readFileSync(new URL(file, folder), "utf8"), name);
  }
});

test("a generator is sent what the reader likes", async (t) => {
  const { page, open } = await reader(t);
  await open("coroutines-by-hand.html");
  await page.evaluate(() => document.querySelectorAll("main details").forEach((details) => (details.open = true)));
  const scene = page.locator("figure.scene[data-scene=conversation]");
  await scene.getByRole("button", { name: "again" }).click();
  await page.waitForFunction(() => document.querySelectorAll("figure.scene[data-scene=conversation] li").length === 2);
  await scene.getByRole("button", { name: "hello" }).click();
  const said = (text) => scene.locator(".scene-text", { hasText: text }).waitFor();
  await said("can only be sent nothing");
  await scene.getByRole("button", { name: "resume" }).click();
  await said("yields 1");
  await scene.getByRole("button", { name: "throw" }).click();
  await said("raises: malformed page");
});

for (const [width, theme] of [[390, "light"], [1280, "navy"]]) {
  test(`the playground runs three stages, ${width} px, ${theme}`, async (t) => {
    const { page, open, loaded } = await reader(t, { width, theme });
    await open("playground.html");
    const form = page.locator("#playground");
    assert.ok(![...loaded.keys()].some((url) => /play\/(playground|viewer|wasi)\.js$/.test(url) ));
    for (const stage of ["1", "2", "3"]) {
      await form.getByLabel("Stage").selectOption(stage);
      await form.getByLabel("Fault").selectOption(stage === "3" ? "missing" : "none");
      await form.getByRole("button", { name: "Run it" }).click();
      await form.getByText(new RegExp(`^Stage ${stage}: 1[0-9] URLs in \\d+ ms`)).waitFor({ timeout: 30_000 });
      await form.getByRole("application", { name: /^Timeline/ }).focus();
      await page.keyboard.press("]");
      await page.keyboard.press("ArrowRight");
      assert.match(await page.locator(".tv-live").textContent(), /^\d+: /);
      // An event with a line in the sources is shown with it.
      const line = page.locator(".tv-source [aria-current]");
      for (let i = 0; i < 100 && !(await line.count()); i += 1) await page.keyboard.press("ArrowRight");
      assert.match(await line.textContent(), stage === "1" ? /fn (writable|exchange|read_response)\(/ : /\S/);
      assert.match(await page.locator(".tv-source h3").textContent(), /^crates\/stage[123]-[a-z]+\/src\/.*\.rs:\d+$/);
    }
    await form.getByLabel("Beside it").selectOption("1");
    await form.getByRole("button", { name: "Run it" }).click();
    await form.getByText(/Stage 3: .* Stage 1: /).waitFor();
    await form.getByText("The rows").click();
    assert.equal(await form.locator("tbody tr").first().locator("td").first().innerText(), "http://10.0.0.1/");
    assert.ok((await widthOf(page)) <= width, `${await widthOf(page)} px`);
    await form.getByRole("spinbutton", { name: "Pages" }).fill("0");
    await form.getByRole("button", { name: "Run it" }).click();
    assert.equal(await form.getByRole("spinbutton", { name: "Pages" }).evaluate((input) => input.validity.valid), false);
  });
}

test("a second run takes the place of the first", async (t) => {
  const { page, open } = await reader(t);
  await open("playground.html");
  const form = page.locator("#playground");
  const run = async (button, told) => {
    await form.getByRole("button", { name: button }).click();
    await form.getByText(told).waitFor({ timeout: 30_000 });
  };
  await run("Run it", /^Stage 2: /);
  // The button has the focus still, and no key on it turns the page.
  await noteTurns(page);
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await turns(page), []);
  await page.locator(".tv-stage").evaluate((stage) => (stage.dataset.mark = "first"));
  const play = form.getByRole("button", { name: "Play or pause" });
  await play.click();
  await form.getByLabel("Stage").selectOption("3");
  await form.getByLabel("Beside it").selectOption("1");
  await run("Run it", /^Stage 3: .* Stage 1: /);
  await form.getByText("B: stage1").first().waitFor();
  assert.equal(await play.getAttribute("aria-pressed"), "false");
  await run("Show its run", /a run that was recorded/);
  assert.equal(await form.getByText("B: stage1").filter({ visible: true }).count(), 0);
  // One viewer, which listens to the page once, has shown them all.
  assert.equal(await page.locator(".tv-stage").count(), 1);
  assert.equal(await page.locator(".tv-stage").getAttribute("data-mark"), "first");
});

test("both runs of a comparison have the settings of the click", async (t) => {
  const { page, open } = await reader(t);
  await open("playground.html");
  const form = page.locator("#playground");
  await form.getByLabel("Beside it").selectOption("1");
  await form.evaluate((place) => {
    place.querySelector("form button").click();
    place.querySelector("[name=pages]").value = 5;
    place.querySelector("[name=compare]").value = "3";
  });
  await form.getByText(/^Stage 2: 12 URLs .* Stage 1: 12 URLs /).waitFor({ timeout: 30_000 });
});

test("the playground hangs under edge triggering with one read for an event", async (t) => {
  const { page, open } = await reader(t);
  await open("playground.html");
  const form = page.locator("#playground");
  for (const [trigger, read, told] of [["edge", "once", "1 URLs in 6"], ["level", "once", "12 URLs in 1"]]) {
    await form.getByLabel("Triggering").selectOption(trigger);
    await form.getByLabel("Reads for an event").selectOption(read);
    await form.getByRole("button", { name: "Run it" }).click();
    await form.getByText(`Stage 2: ${told}`).waitFor({ timeout: 30_000 });
  }
});

for (const [width, theme] of [[390, "navy"], [1280, "light"]]) {
  test(`the playground shows every lab, ${width} px, ${theme}`, async (t) => {
    const { page, open, loaded } = await reader(t, { width, theme });
    await open("playground.html");
    const form = page.locator("#playground");
    const bugs = readFileSync(new URL("../../crates/book-programs/bugs.toml", import.meta.url), "utf8");
    const labs = [...bugs.matchAll(/^\[([\w-]+)\]$/gm)].map(([, name]) => name).sort();
    const lab = form.getByLabel("A lab");
    assert.deepEqual((await lab.locator("option").evaluateAll((options) => options.map(({ value }) => value))).sort(), labs);
    assert.ok(![...loaded.keys()].some((url) => url.includes("/play/lab-")), "a run is loaded only when it is wanted");
    let withLine = 0;
    for (const name of labs) {
      await lab.selectOption(name);
      await form.getByRole("button", { name: "Show its run" }).click();
      const title = await lab.locator(`option[value=${name}]`).textContent();
      await form.getByText(`${title}: a run that was recorded`).waitFor({ timeout: 30_000 });
      assert.equal(await form.getByRole("link", { name: title }).getAttribute("href"), `lab-${name}.html`);
      assert.match(await form.getByLabel("The bug").innerText(), /^crates\/.*\.rs, .*\n(.*\n)*[-+]/);
      assert.ok((await form.getByLabel("What it says").innerText()).trim().length > 10);
      assert.ok((await widthOf(page)) <= width, `${await widthOf(page)} px`);
      // The runtime knows the line of a wait on most operations, and not of all.
      await form.getByRole("application", { name: /^Timeline/ }).focus();
      const line = page.locator(".tv-source [aria-current]");
      for (let i = 0; i < 40 && !(await line.count()); i += 1) await page.keyboard.press("ArrowLeft");
      withLine += await line.count();
    }
    assert.ok(withLine >= 8, `${withLine} labs with a line of the source`);
  });
}

test("words with signs are found", async (t) => {
  const { page, open } = await reader(t);
  for (const [words, found] of [["select!", /select/i], ["cancel safe", /cancel/i]]) {
    await open("introduction.html");
    await page.keyboard.press("s");
    await page.keyboard.type(words);
    const first = page.locator("#mdbook-searchresults li").first();
    await first.waitFor({ timeout: 10_000 });
    assert.match(await first.innerText(), found);
  }
});
