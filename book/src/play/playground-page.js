// The playground: a crawl of a simulated site with the choices of the reader, run in the
// page, with its trace in the viewer; and the recorded run of a lab. The program, the
// sources and the recorded runs are loaded when the reader wants them.
"use strict";

(() => {
  const place = document.getElementById("playground");
  if (!place || typeof Programs === "undefined") return;

  const CHOICES = [
    ["stage", "Stage", [["1", "1 callbacks"], ["2", "2 coroutines"], ["3", "3 queue"]], "2"],
    ["pages", "Pages", [1, 1000], 12],
    ["tasks", "Fetches at once", [1, 1000], 4],
    ["latency", "Latency in ms", [0, 10000], 30],
    ["fault", "Fault of some pages", [["none", "none"], ["close", "connection closed"], ["silence", "no answer"], ["slow", "ten times as slow"], ["missing", "404"]], "none"],
    ["trigger", "Triggering", [["edge", "edge"], ["level", "level"]], "edge"],
    ["read", "Reads for an event", [["all", "all there is"], ["once", "one of 64 bytes"]], "all"],
    ["seed", "Seed", [0, 9999], 1],
  ];

  /** The labs of crates/book-programs/bugs, by their names and titles. */
  const LABS = [
    ["one-read", "One read per event"],
    ["lost-wakeup", "The waker is stored after the check"],
    ["unqueued", "A wake-up that puts nothing into the run queue"],
    ["unregistered", "A closed socket stays registered"],
    ["stale-key", "Keys without a generation"],
    ["borrowed", "A borrow that lasts while wakers are called"],
    ["task-done-on-error", "task_done is not reached after an error"],
    ["promised-item", "A getter is cancelled, and its permit is lost"],
    ["unfair-loop", "A loop that looks at timers only when it has nothing else to do"],
    ["blocking-call", "A blocking call in a task"],
    ["early-task-done", "Old work is handed back before new work is put in"],
    ["early-acknowledgement", "A page is acknowledged before its links are put in"],
  ];

  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  const inputs = new Map();
  const form = make("form");
  for (const [name, text, values, value] of CHOICES) {
    const isList = Array.isArray(values[0]);
    const input = isList
      ? make("select", { name }, ...values.map(([value, text]) => new Option(text, value)))
      : make("input", { name, type: "number", min: values[0], max: values[1], required: true });
    input.value = value;
    inputs.set(name, input);
    form.append(make("label", {}, text, input));
  }
  const compare = make("select", { name: "compare" }, new Option("nothing", ""), ...CHOICES[0][2].map(([value, text]) => new Option(text, value)));
  form.append(make("label", {}, "Beside it", compare));
  const button = make("button", { type: "submit", textContent: "Run it" });
  const message = make("p", { className: "crawl-playground-message", role: "status" });
  const rows = make("details", { hidden: true }, make("summary", { textContent: "The rows" }));
  const viewer = make("div");
  let shown;
  form.append(button);
  const lab = make("select", { name: "lab" }, ...LABS.map(([name, title]) => new Option(title, name)));
  const labButton = make("button", { type: "submit", textContent: "Show its run" });
  const labForm = make("form", { className: "crawl-playground-lab" }, make("label", {}, "A lab", lab), labButton);
  const recorded = make("div", { hidden: true });
  place.replaceChildren(form, labForm, message, rows, recorded, viewer);

  /** Runs a stage. Returns its rows, what it says of the whole, and its trace. */
  async function crawl(words, stage) {
    const all = [...words, `stage=${stage}`, "trace=yes"];
    const { code, stdout, stderr } = await Programs.run("playground", all);
    if (code !== 0) throw new Error(stderr.trim());
    const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
    const trace = lines.pop();
    const whole = lines.pop();
    await addSources(trace);
    return { rows: lines, whole, trace, stage };
  }

  /** Adds to a trace the source files that its program was built from. */
  async function addSources(trace) {
    const sources = await (await Programs.unpack("sources")).json();
    trace.otherData.sources = sources;
    // The program knows the names of callbacks, and not their lines.
    const files = Object.keys(sources).filter((file) => file.startsWith("crates/stage1"));
    for (const { name, args } of trace.traceEvents) {
      if (name !== "callback" || !args.name) continue;
      for (const file of files) {
        const line = sources[file].split("\n").findIndex((text) => text.includes(`fn ${args.name}(`)) + 1;
        if (line) args.at = { file, line };
      }
    }
  }

  const told = ({ whole, stage }) =>
    `Stage ${stage}: ${whole.rows} URLs in ${whole.simulated_ms} ms of simulated time, ${whole.requests} requests, at most ${whole.at_once} fetches at once.`;

  function showRows({ rows: found }) {
    const fields = ["url", "status", "outcome", "depth", "tries", "elapsed_ms"];
    const head = make("tr", {}, ...fields.map((field) => make("th", { scope: "col", textContent: field })));
    const body = found.map((row) => make("tr", {}, ...fields.map((field) =>
      make("td", { textContent: field === "outcome" && row.error ? `${row.outcome}: ${row.error.message}` : String(row[field] ?? "–") }))));
    const table = make("div", { className: "table-wrapper", tabIndex: 0, role: "region", ariaLabel: "Rows" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
    rows.querySelector("div")?.remove();
    rows.append(table);
    rows.hidden = false;
  }

  /** Loads the viewer of traces, once. */
  async function loadViewer() {
    if (!document.getElementById("viewer-style")) {
      document.head.append(make("link", { id: "viewer-style", rel: "stylesheet", href: `${path_to_root}play/viewer.css` }));
    }
    await Programs.script("viewer");
  }

  /** Does what a form is for, with its button switched off meanwhile. */
  function onSubmit(form, button, doing, what) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const hasFocus = document.activeElement === button;
      button.disabled = true;
      message.textContent = doing;
      try {
        await what();
      } catch (error) {
        message.textContent = error.message;
      }
      button.disabled = false;
      if (hasFocus) button.focus();
    });
    // An arrow key on the button would turn the page of the book, and the run is gone.
    button.addEventListener("keydown", (event) => event.stopPropagation());
  }

  /** Shows traces, in the one viewer. */
  async function show({ trace, other, event }) {
    await loadViewer();
    if (shown) shown.load(trace, other, { event });
    else shown = TraceViewer.mount(viewer, { trace, other, event });
  }

  onSubmit(form, button, "Runs …", async () => {
    // Read before the first run: what is changed during it is for another click.
    const words = [...inputs].map(([name, input]) => `${name}=${input.value}`);
    const [stage, beside] = [inputs.get("stage").value, compare.value];
    const [found, other] = [await crawl(words, stage), beside && (await crawl(words, beside))];
    await show({ trace: found.trace, other: other ? other.trace : undefined });
    message.textContent = [found, other].filter(Boolean).map(told).join(" ");
    recorded.hidden = true;
    showRows(found);
  });

  onSubmit(labForm, labButton, "Loads …", async () => {
    const name = lab.value;
    const run = await (await Programs.unpack(`lab-${name}`)).json();
    await show({ trace: run.trace, event: run.trace.traceEvents.length });
    message.textContent = `${run.title}: a run that was recorded when the book was made, and is not run in this page.`;
    rows.hidden = true;
    recorded.hidden = false;
    recorded.replaceChildren(
      make("p", {}, "The bug, and what ", make("code", { textContent: `cargo xtask lab ${name}` }), " says of it. More of it: ", make("a", { href: `lab-${name}.html`, textContent: run.title }), "."),
      make("pre", { tabIndex: 0, ariaLabel: "The bug" }, make("code", { textContent: run.bug })),
      make("pre", { tabIndex: 0, ariaLabel: "What it says" }, make("code", { textContent: run.output })));
  });
})();
