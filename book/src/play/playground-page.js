// The playground: a crawl of a simulated site with the choices of the reader, run in the
// page, with its trace in the viewer. The program is loaded when the reader runs it.
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
    ["seed", "Seed", [0, 9999], 1],
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
  form.append(button);
  place.replaceChildren(form, message, rows, viewer);

  /** Runs a stage. Returns its rows, what it says of the whole, and its trace. */
  async function crawl(stage) {
    const words = [...inputs].map(([name, input]) => `${name}=${name === "stage" ? stage : input.value}`);
    const { code, stdout, stderr } = await Programs.run("playground", [...words, "trace=yes"]);
    if (code !== 0) throw new Error(stderr.trim());
    const lines = stdout.trim().split("\n").map((line) => JSON.parse(line));
    const trace = lines.pop();
    const whole = lines.pop();
    return { rows: lines, whole, trace, stage };
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

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    message.textContent = "Runs …";
    try {
      const [found, other] = [await crawl(inputs.get("stage").value), compare.value && (await crawl(compare.value))];
      await loadViewer();
      message.textContent = [found, other].filter(Boolean).map(told).join(" ");
      showRows(found);
      const box = make("div");
      viewer.replaceChildren(box);
      TraceViewer.mount(box, { trace: found.trace, other: other ? other.trace : undefined });
    } catch (error) {
      message.textContent = error.message;
    }
    button.disabled = false;
  });
})();
