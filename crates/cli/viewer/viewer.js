// The viewer of traces. It needs no other file and no network: it works in a page
// that was opened from a folder, in the book, and in the playground.
//
//   TraceViewer.mount(element, { trace, other, axis, event })
//
// shows a trace (an object in Chrome's trace event format, with `otherData.format`
// "fourways-trace"), beside another one if there is one. A page that holds traces in
// <script type="application/json" id="trace"> (and "other-trace") has them shown in
// the element with the id "viewer".
//
// The parts, in this order: the model (Trace), words, the drawing, the viewer.
"use strict";

const TraceViewer = (() => {
  // ---------------------------------------------------------------- the model

  const FORMAT = "fourways-trace";
  const VERSION = 1;
  /** Spans that lie behind others in their lane. */
  const BEHIND = new Set(["tick", "fetch"]);
  /** Spans during which a task or a fetch runs. */
  const RUNS = new Set(["step", "callback"]);

  /**
   * One trace, read. Each span and each moment is an item:
   *
   * `index` its position in `items`, `kind`, `args`, `lane`; `start` and `end` in
   * microseconds; `from` and `to` the same as positions in the order of events, for
   * the axis that gives each event equal room; `tick` the tick around it, or null.
   */
  class Trace {
    constructor(json) {
      const data = json?.otherData;
      if (!Array.isArray(json?.traceEvents) || data?.format !== FORMAT) {
        throw new Error("This is not a trace of these programs.");
      }
      if (data.version !== VERSION) {
        throw new Error(`The version of this trace is ${data.version}; this viewer reads ${VERSION}.`);
      }
      /** What is taken from the places of this trace, to align it with another. */
      this.offset = 0;
      this.stage = String(data.stage ?? "a program");
      this.program = String(data.program ?? "");
      this.dropped = Number(data.dropped) || 0;
      this.sources = data.sources ?? {};
      this.lanes = [];
      this.items = [];
      this.ticks = [];
      this.fetches = [];
      this.unfinished = [];
      this.byTid = new Map();
      for (const lane of data.lanes ?? []) this.lane(lane.tid, lane);
      this.read(json.traceEvents);
      this.connectWakes();
      for (const lane of this.lanes) lane.life = life(lane, this);
      this.lanes = this.lanes.filter((lane) => lane.items.length || lane.kind === "task");
    }

    lane(tid, { kind = "task", name, number } = {}) {
      let lane = this.byTid.get(tid);
      if (!lane) {
        lane = { tid, kind, number, name: name ?? (kind === "task" ? `task ${number ?? tid}` : kind) };
        Object.assign(lane, { items: [], behind: [], spans: [], moments: [], life: [], trace: this });
        this.byTid.set(tid, lane);
        this.lanes.push(lane);
      }
      return lane;
    }

    /** Pairs beginnings with ends. A span that does not end lasts until the trace ends. */
    read(events) {
      const known = events.filter((event) => "BEiC".includes(event.ph));
      if (known.some((event, i) => i > 0 && event.ts < known[i - 1].ts)) {
        known.sort((a, b) => a.ts - b.ts);
      }
      const open = new Map();
      let order = 0;
      let tick = null;
      for (const { ph, name: kind, tid, ts, args = {} } of known) {
        if (ph === "C") {
          if (kind === "unfinished") this.unfinished.push({ start: ts, from: order, value: args.value });
          continue;
        }
        const lane = this.lane(tid);
        const spans = open.get(tid) ?? open.set(tid, []).get(tid);
        if (ph === "E") {
          const at = spans.findLastIndex((item) => item.kind === kind);
          if (at < 0) continue;
          const [item] = spans.splice(at, 1);
          Object.assign(item.args, args);
          item.end = ts;
          item.to = order++;
          item.isOpen = false;
          if (item === tick) tick = null;
          continue;
        }
        const item = { index: this.items.length, kind, args: { ...args }, lane, start: ts, end: ts };
        Object.assign(item, { from: order, to: order, tick, isSpan: ph === "B", isOpen: ph === "B" });
        order += 1;
        this.items.push(item);
        lane.items.push(item);
        (!item.isSpan ? lane.moments : BEHIND.has(kind) ? lane.behind : lane.spans).push(item);
        if (item.isSpan) spans.push(item);
        if (kind === "tick") {
          item.position = this.ticks.push(item) - 1;
          tick = item;
        }
        if (kind === "fetch") this.fetches.push(item);
      }
      this.begin = known.length ? known[0].ts : 0;
      this.end = known.length ? known[known.length - 1].ts : 0;
      this.length = order;
      for (const item of this.items) {
        if (item.isOpen) Object.assign(item, { end: this.end, to: order });
      }
    }

    /** Finds the step that each wake leads to, and the lane that it comes from. */
    connectWakes() {
      const selector = this.lanes.find((lane) => lane.kind === "selector");
      const numbered = new Map(this.lanes.map((lane) => [`task ${lane.number}`, lane]));
      for (const lane of this.lanes) {
        for (const item of lane.moments) {
          if (item.kind !== "wake") continue;
          const { by, from } = item.args;
          const isTold = from !== null && from !== undefined;
          item.source = isTold ? this.byTid.get(from) : (numbered.get(by) ?? selector);
          const next = lane.spans[after(lane.spans, "from", item.from)];
          if (next && RUNS.has(next.kind)) {
            item.wakes = next;
            next.wokenBy ??= item;
          }
        }
        for (const item of lane.moments) {
          if (item.kind !== "waker_stored") continue;
          const step = lane.spans[after(lane.spans, "from", item.from) - 1];
          if (step && step.to >= item.from) step.waits = item;
        }
      }
    }

    /** The last item that began at or before a position in the order of events. */
    at(from) {
      return this.items[Math.max(0, after(this.items, "from", from) - 1)];
    }

    /** The state of each task at a position: { running, ready, waiting: {operation: n}, done }. */
    states(from) {
      const found = { running: [], ready: [], waiting: new Map(), done: 0 };
      for (const lane of this.lanes) {
        const state = lane.life[after(lane.life, "from", from) - 1];
        if (!state) continue;
        if (state.is === "waiting") {
          found.waiting.set(state.what, (found.waiting.get(state.what) ?? 0) + 1);
        } else if (state.is === "done") {
          found.done += 1;
        } else {
          found[state.is].push(lane);
        }
      }
      return found;
    }

    /**
     * The tasks that the end of the trace finds waiting, each with its last waker. None
     * if all work was done: what still waits then is dropped with its loop. The end is that
     * of the main coroutine, if there is one: a crawl that is stopped cancels its workers.
     */
    stuck() {
      const hasWork = this.fetches.length || this.unfinished.length;
      const isOver = !this.fetches.some((fetch) => fetch.isOpen) && !this.unfinished.at(-1)?.value;
      if (hasWork && isOver) return [];
      const isEnd = ({ kind, lane, args }) => kind === "step" && lane.name === "main" && args.result === "done";
      const end = this.items.findLast(isEnd)?.from ?? Infinity;
      const states = this.lanes.map((lane) => lane.life[after(lane.life, "from", end) - 1]);
      return states.filter((state) => state?.is === "waiting");
    }
  }

  /** The states of a task: running in a step, ready after a wake, waiting, done. */
  function life(lane, trace) {
    const states = [];
    const enter = (from, start, is, more) => states.push({ from, start, is, lane, ...more });
    let running = null;
    let isWoken = false;
    let stored = null;
    /** True once the task has ended: a wake that comes later changes nothing. */
    const isOver = () => states.at(-1)?.is === "done";
    const end = () => {
      const { result } = running.args;
      if (running.isOpen) enter(running.to, running.end, "running");
      else if (result && result !== "pending") enter(running.to, running.end, "done");
      else if (isWoken) enter(running.to, running.end, "ready");
      else enter(running.to, running.end, "waiting", wait(running));
      running = null;
    };
    for (const item of lane.items) {
      if (running && item.from > running.to) end();
      if (RUNS.has(item.kind)) {
        enter(item.from, item.start, "running");
        running = item;
        isWoken = false;
      } else if (item.kind === "wake") {
        if (running) isWoken = true;
        else if (!isOver()) enter(item.from, item.start, "ready");
      } else if (item.kind === "waker_stored") {
        stored = item;
        // What callbacks do outside of one: the first wait of a fetch, and a retry.
        if (!running && !isOver()) enter(item.from, item.start, "waiting", wait(item));
      } else if (item.kind === "close" && item.args.key === stored?.args.key) {
        // Nothing waits for a socket that is gone: a pause before a retry, for example.
        stored = null;
      }
    }
    if (running) end();
    // A fetch of callbacks is over with its fetch, not with a step.
    const last = lane.behind.at(-1);
    if (last && states.at(-1)?.is === "waiting" && !last.isOpen && !lane.spans.some((item) => item.kind === "step")) {
      enter(last.to, last.end, "done");
    }
    if (lane.kind !== "task") return [];
    return states.sort((a, b) => a.from - b.from);

    /** A step that stores no waker waits for what the one before has stored. */
    function wait(step) {
      const operation = stored?.args.operation ?? "a wake-up";
      return { what: operation.replace(/^waiting for /, ""), stored, step };
    }
  }

  /**
   * The number of elements whose `field` is at most `value`, in a sorted array: a
   * binary search, that begins near `low` if that is given.
   */
  function after(sorted, field, value, low = 0) {
    let high = sorted.length;
    for (let reach = 4; low && low + reach < high; reach *= 4) {
      if (sorted[low + reach][field] > value) high = low + reach;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sorted[middle][field] <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // -------------------------------------------------------------------- words

  const number = new Intl.NumberFormat("en");

  /** A span of time, given in microseconds. */
  function duration(us) {
    const size = Math.abs(us);
    if (size >= 1e6) return `${trim(us / 1e6)} s`;
    if (size >= 1e3) return `${trim(us / 1e3)} ms`;
    if (size >= 1 || size === 0) return `${trim(us)} µs`;
    return `${Math.round(us * 1e3)} ns`;
  }

  const trim = (value) => String(Number(value.toPrecision(4)));

  const place = (at) => `${at.file.split("/").pop()}:${at.line}`;

  /** A URL without what all URLs of a trace have in common. */
  const short = (text) => text.replace(/https?:\/\/[^/\s]+(?=\/)/, "");

  /** A key: its slot, and after the point its generation. */
  const keyText = (bits) => {
    const generation = Math.floor(bits / 2 ** 32);
    return generation ? `${bits % 2 ** 32}.${generation}` : String(bits);
  };

  const laneName = (lane) => short(lane.name).replace(/^fetch /, "");

  /** One sentence about an item: for the live region, the table and the tip. */
  function describe({ kind, args, lane, start, end, isSpan, isOpen }) {
    const key = args.key === undefined || args.key === null ? "" : `, key ${keyText(args.key)}`;
    const address = args.address ? ` ${args.address}` : "";
    const url = args.url ? ` ${args.url}` : "";
    const took = isOpen ? ", not ended" : isSpan ? `, ${duration(end - start)}` : "";
    switch (kind) {
      case "tick":
        return `tick ${args.number}${took}`;
      case "select": {
        const timeout = args.timeout_us ?? null;
        const limit = timeout === null ? "no timeout" : `at most ${duration(timeout)}`;
        return `select, ${limit}: ${isOpen ? "not ended" : `${args.ready ?? 0} ready after ${duration(end - start)}`}`;
      }
      case "event": {
        const bits = ["readable", "writable"].filter((bit) => args[bit]).join(" and ");
        return `event: ${bits || "no bit"}${key}${args.stale ? ", stale: its source is gone" : ""}`;
      }
      case "callback":
        return `callback ${args.name ?? ""}${key}${took}`;
      case "step": {
        const waits = args.result === "pending" && args.at ? `, goes on at ${place(args.at)}` : "";
        return `step of ${args.name ?? lane.name}: ${isOpen ? "not ended" : `${args.result ?? "ended"}${took}`}${waits}`;
      }
      case "waker_stored":
        return `waker stored by ${String(args.operation).replace(/^waiting/, "a wait")}${key}${args.at ? ` at ${place(args.at)}` : ""}`;
      case "wake":
        return `woken by ${args.by ?? "an unknown cause"}`;
      case "timer_set":
      case "timer_moved":
      case "timer_fired":
      case "timer_cancelled": {
        const left = Math.max(0, args.at_us - start);
        const moment = args.at_us === undefined ? "" : `, in ${duration(left)}`;
        return `timer ${args.timer} ${kind.slice("timer_".length)}${moment}`;
      }
      case "connect":
        return `connect to${address}${key}`;
      case "reuse":
        return `connection${address && ` to${address}`} used again${key}`;
      case "close":
        return `connection closed${address ? `:${address}` : ""}${key}`;
      case "read":
      case "write": {
        const result = String(args.result ?? "ok").replace("_", " ");
        const bytes = result === "ok" ? ` ${number.format(args.bytes ?? 0)} bytes` : `: ${result}`;
        return `${kind}${bytes}${key}${args.task ? `, task ${args.task}` : ""}`;
      }
      case "fetch": {
        const row = [args.status, args.outcome].filter((part) => part !== undefined && part !== null);
        return `fetch${url}${row.length ? `: ${row.join(", ")}` : ""}${took}`;
      }
      default:
        return `${kind.replaceAll("_", " ")}${url}${args.queue ? ` (${args.queue})` : ""}${key}`;
    }
  }

  /** The few words that fit beside or inside an item. */
  function label({ kind, args, lane, isOpen }) {
    switch (kind) {
      case "tick":
        return `tick ${args.number}`;
      case "select":
        return isOpen ? "select" : `select: ${args.ready ?? 0} ready`;
      case "event":
        return `${args.stale ? "stale " : ""}${args.readable ? "r" : ""}${args.writable ? "w" : ""} key ${keyText(args.key)}`;
      case "step":
        return args.result && args.result !== "pending" ? args.result : (args.name ?? "step");
      case "callback":
        return args.name ?? "callback";
      case "waker_stored":
        return (args.operation ?? "waker").replace(/^waiting for /, "");
      case "wake":
        return `by ${args.by}`;
      case "read":
      case "write":
        return `${kind} ${args.result === "ok" ? number.format(args.bytes ?? 0) : String(args.result).replace("_", " ")}`;
      case "fetch":
        return `${short(args.url ?? lane.name)}${args.status ? ` ${args.status}` : ""}`;
      default:
        return kind.replaceAll("_", " ").replace(/^timer /, "timer: ");
    }
  }

  // -------------------------------------------------------------- the drawing

  const ROW = 34;
  const AXIS = 22;
  const CHART = 40;
  /** The share of spans, and of moments, in a row: from its upper edge, in pixels. */
  const SPAN = { top: 5, height: 15 };
  const MOMENT = 27;

  /** The signs of moments: a shape and a colour. No two have both in common. */
  const SIGNS = {
    event: ["triangle", "second"],
    stale: ["hollow-triangle", "second"],
    wake: ["diamond", "second"],
    waker_stored: ["ring", "accent"],
    timer_set: ["hollow-square", "third"],
    timer_moved: ["half-square", "third"],
    timer_fired: ["square", "third"],
    timer_cancelled: ["cross", "third"],
    connect: ["plus", "accent"],
    reuse: ["double-bar", "accent"],
    close: ["cross", "accent"],
    read: ["down", "ink"],
    write: ["up", "ink"],
    blocked: ["hollow-down", "ink"],
    put: ["right", "third"],
    get: ["left", "third"],
    task_done: ["disc", "third"],
    join: ["bar", "third"],
  };

  const UNKNOWN = ["disc", "ink"];

  function sign(item) {
    if (item.kind === "event" && item.args.stale) return SIGNS.stale;
    if (item.kind === "read" && item.args.result === "would_block") return SIGNS.blocked;
    return SIGNS[item.kind] ?? UNKNOWN;
  }

  /** Draws a sign around a point. */
  function drawSign(context, [shape, colour], colours, x, y, size = 4) {
    context.fillStyle = context.strokeStyle = colours[colour];
    context.lineWidth = 1.5;
    context.beginPath();
    const polygon = (...points) => {
      points.forEach(([dx, dy], i) => context[i ? "lineTo" : "moveTo"](x + dx * size, y + dy * size));
      context.closePath();
    };
    const points = {
      triangle: [[-1, 0.9], [1, 0.9], [0, -1]],
      up: [[-0.8, 0.9], [0.8, 0.9], [0, -1]],
      down: [[-0.8, -0.9], [0.8, -0.9], [0, 1]],
      right: [[-0.9, -0.9], [-0.9, 0.9], [1, 0]],
      left: [[0.9, -0.9], [0.9, 0.9], [-1, 0]],
      diamond: [[-1, 0], [0, -1.1], [1, 0], [0, 1.1]],
      square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    };
    const isHollow = shape.startsWith("hollow-");
    const outline = points[shape.replace(/^(hollow|half)-/, "")];
    if (outline) {
      polygon(...outline);
      if (isHollow || shape === "half-square") context.stroke();
      else context.fill();
      if (shape === "half-square") context.fillRect(x, y - size * 0.9, size * 0.9, size * 1.8);
      return;
    }
    switch (shape) {
      case "ring":
      case "disc":
        context.arc(x, y, size * 0.85, 0, 7);
        context[shape === "ring" ? "stroke" : "fill"]();
        return;
      case "plus":
      case "cross": {
        const [a, b] = shape === "plus" ? [1, 0] : [0.8, 0.8];
        context.moveTo(x - a * size, y - b * size);
        context.lineTo(x + a * size, y + b * size);
        context.moveTo(x + b * size, y - a * size);
        context.lineTo(x - b * size, y + a * size);
        context.stroke();
        return;
      }
      default:
        for (const dx of shape === "double-bar" ? [-0.5, 0.5] : [0]) {
          context.moveTo(x + dx * size, y - size);
          context.lineTo(x + dx * size, y + size);
        }
        context.stroke();
    }
  }

  /** A step of the axis that is a round number, about as wide as asked. */
  function roundStep(about) {
    const power = 10 ** Math.floor(Math.log10(about));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= about);
  }

  // --------------------------------------------------------------- the viewer

  const PAGE = 100;
  const SOURCE_CONTEXT = 6;
  const MANY_ARROWS = 60;
  /** The room of a sign, in pixels: others in it cannot be told from it. */
  const SIGN_GRAIN = 4;

  class Viewer {
    constructor(element, { trace, other, axis, event } = {}) {
      this.element = element;
      this.build();
      this.listen();
      if (trace) this.load(trace, other, { axis, event });
      else this.complain("Open a trace: a file that --trace has written, .json or .html.");
    }

    /** Shows a trace, and beside it another one, or null. */
    load(json, other = null, { axis, event = 0 } = {}) {
      try {
        this.traces = [new Trace(json), ...(other ? [new Trace(other)] : [])];
        this.json = json;
      } catch (error) {
        this.complain(error.message);
        return;
      }
      const [first] = this.traces;
      this.pause();
      this.parts.complaint.hidden = true;
      this.axis = axis ?? (this.traces.length > 1 || first.length > 2000 ? "time" : "order");
      this.parts.axis.value = this.axis;
      this.query = this.parts.search.value = "";
      this.current = first.items[Math.max(0, Math.min(event, first.items.length - 1))] ?? null;
      this.tablePage = -1;
      this.alignedAt = null;
      this.element.classList.toggle("tv-compares", this.traces.length > 1);
      this.describeTraces();
      this.layOutRows();
      this.resize();
      this.fit();
      this.select(this.current);
    }

    complain(text) {
      this.parts.complaint.textContent = text;
      this.parts.complaint.hidden = false;
    }

    // ------------------------------------------------ the parts of the page

    build() {
      const parts = (this.parts = {});
      const make = (tag, name, attributes = {}, ...children) => {
        const node = document.createElement(tag);
        if (name) {
          node.className = `tv-${name}`;
          parts[name] = node;
        }
        for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
        node.append(...children);
        return node;
      };
      this.make = make;
      const button = (name, text, title, action) => {
        const node = make("button", name, { type: "button", title, "aria-label": title }, text);
        node.addEventListener("click", () => action());
        return node;
      };
      const option = (value, text) => make("option", "", { value }, text);
      const group = (text, ...children) => make("div", "", { role: "group", "aria-label": text }, ...children);

      const controls = make(
        "div",
        "controls",
        { role: "toolbar", "aria-label": "Steps and view" },
        group(
          "Steps",
          button("first", "|◀", "First event (Home)", () => this.selectIndex(0)),
          button("tick-back", "◀ tick", "Tick before (Shift and left arrow)", () => this.stepTick(-1)),
          button("back", "◀", "Event before (left arrow)", () => this.step(-1)),
          button("play", "Play", "Play or pause (space)", () => this.playOrPause()),
          button("forward", "▶", "Next event (right arrow)", () => this.step(1)),
          button("tick-forward", "tick ▶", "Next tick (Shift and right arrow)", () => this.stepTick(1)),
          button("last", "▶|", "Last event (End)", () => this.selectIndex(Infinity)),
        ),
        make(
          "select",
          "speed",
          { "aria-label": "Speed of playing" },
          option("1", "1 event a second"),
          option("4", "4 events a second"),
          option("20", "20 events a second"),
          option("tick", "2 ticks a second"),
        ),
        group(
          "View",
          button("zoom-out", "−", "Zoom out (minus)", () => this.zoom(1 / 2)),
          button("zoom-in", "+", "Zoom in (plus)", () => this.zoom(2)),
          button("fit", "All", "All: the whole trace (0)", () => this.fit()),
          button("fit-tick", "This tick", "This tick, as wide as the view (t)", () => this.fitTick()),
        ),
        make(
          "select",
          "axis",
          { "aria-label": "Axis" },
          option("order", "each event equally wide"),
          option("time", "to the scale of time"),
        ),
        make("input", "search", {
          type: "search",
          placeholder: "URL, task or event",
          "aria-label": "Search: only lanes and events that contain this; Enter goes to the next event",
        }),
        make("label", "open", { title: "Show another trace of the same crawl beside this one" }, "Compare…",
          make("input", "file", { type: "file", accept: ".json,.html" })),
        button("align", "Align here", "Begin the fetch of this event at the same place in both traces (a)", () => this.align()),
        button("alone", "End comparison", "Show the first trace alone", () => this.load(this.json)),
      );
      parts.speed.value = "4";

      this.element.replaceChildren(
        make("p", "complaint", { role: "alert", hidden: "" }),
        make("div", "about"),
        controls,
        make(
          "div",
          "overview",
          { "aria-hidden": "true" },
          make("canvas", "overview-canvas"),
          make("div", "window"),
        ),
        make(
          "div",
          "stage",
          {
            tabindex: "0",
            role: "application",
            "aria-roledescription": "timeline",
            "aria-label": "Timeline. Arrow keys go from event to event; the table below has the same events.",
          },
          make("canvas", "canvas", { "aria-hidden": "true" }),
          make("div", "scroller", { tabindex: "-1" }, make("div", "spacer")),
          make("div", "ring", { "aria-hidden": "true" }),
          make("div", "tip", { "aria-hidden": "true", hidden: "" }),
        ),
        make("p", "status"),
        make("p", "live", { "aria-live": "polite", role: "status" }),
        make(
          "div",
          "panels",
          {},
          make("section", "details", { "aria-label": "This event" }),
          make("section", "source", { "aria-label": "Its line in the source" }),
        ),
        make("details", "fetches-box", {}, make("summary", "", {}, "Fetches side by side"), make("div", "fetches")),
        make(
          "details",
          "table-box",
          {},
          make("summary", "", {}, "Table of events"),
          make(
            "div",
            "pager",
            { role: "group", "aria-label": "Pages of the table" },
            button("page-back", "◀ earlier", "Earlier events", () => this.turnPage(-1)),
            make("span", "page-text"),
            button("page-forward", "later ▶", "Later events", () => this.turnPage(1)),
          ),
          make("div", "table-scroll", { tabindex: "0", role: "region", "aria-label": "Table of events" },
            make("table", "table", { role: "grid" })),
        ),
        make("details", "help-box", {}, make("summary", "", {}, "Keys and signs"), make("div", "help")),
      );
      parts.help.append(...this.help());
      parts["table-box"].open = true;
      parts.table.append(
        make("thead", "", {}, make("tr", "", { "aria-rowindex": "1" },
          ...["No.", "time", "tick", "lane", "event"].map((text) => make("th", "", { scope: "col" }, text)))),
        make("tbody", "rows"),
      );
      this.context = parts.canvas.getContext("2d");
      this.reduced = matchMedia("(prefers-reduced-motion: reduce)");
    }

    help() {
      const { make } = this;
      const keys = [
        ["← →", "event before, next event"],
        ["Shift ← →, or [ ]", "tick before, next tick"],
        ["↑ ↓", "the event of the lane above, below"],
        ["Home, End", "first, last event"],
        ["space", "play, pause"],
        ["+ − 0 t", "zoom in, out, the whole trace, this tick"],
        ["w", "along the arrow: from a wake to its step, from a step to its wake"],
        ["s", "the line in the source"],
        ["c a", "the same fetch in the other trace; align both there"],
        ["/", "search"],
      ];
      const list = make("dl", "keys");
      for (const [key, text] of keys) {
        list.append(make("div", "", {}, make("dt", "", {}, key), make("dd", "", {}, text)));
      }
      const signs = make("ul", "signs");
      const names = {
        stale: "stale event", blocked: "read: would block", waker_stored: "waker stored", put: "put in a queue",
        get: "taken from a queue", task_done: "task done", join: "join", reuse: "connection used again",
        connect: "connect", close: "connection closed",
      };
      this.legend = [];
      for (const kind of Object.keys(SIGNS)) {
        const canvas = make("canvas", "", { width: 32, height: 32, "aria-hidden": "true" });
        this.legend.push([canvas, SIGNS[kind]]);
        signs.append(make("li", "", {}, canvas, names[kind] ?? kind.replaceAll("_", " ")));
      }
      const text = make("p", "", {},
        "Dashes in a lane: the task waits, for what stands there. A line under a row: more events than there is room for. Key 7.3: slot 7, and its generation 3. ",
        "Drag to move, Ctrl and the wheel to zoom, two fingers on a phone.");
      return [list, signs, text];
    }

    /** The lines above the timeline: what was run, what was dropped, what is stuck. */
    describeTraces() {
      const { make } = this;
      const about = this.traces.map((trace, i) => {
        const numbers = [
          `${number.format(trace.items.length)} events`,
          ...(trace.ticks.length ? [`${number.format(trace.ticks.length)} ticks`] : []),
          `${number.format(trace.fetches.length)} fetches`,
          duration(trace.end - trace.begin),
        ];
        const name = this.traces.length > 1 ? `${"AB"[i]}: ${trace.stage}` : trace.stage;
        const line = make("div", "", {},
          make("strong", "", {}, name), " ", make("span", "", {}, [trace.program, ...numbers].filter(Boolean).join(" · ")));
        if (trace.dropped) {
          line.append(make("p", "dropped", {}, `${number.format(trace.dropped)} events were not kept: the trace was full.`));
        }
        const stuck = trace.stuck();
        if (stuck.length) {
          const list = make("ul", "stuck", { "aria-label": "Still waiting at the end" });
          for (const state of stuck.slice(0, 5)) {
            const where = state.stored?.args.at ? ` at ${place(state.stored.args.at)}` : "";
            list.append(make("li", "", {}, "Still waiting at the end: ",
              this.link(`${short(state.lane.name)} for ${state.what}${where}`, state.stored ?? state.step)));
          }
          if (stuck.length > 5) list.append(make("li", "", {}, `and ${number.format(stuck.length - 5)} more`));
          line.append(list);
        }
        return line;
      });
      this.parts.about.replaceChildren(...about);
      this.parts["fetches-box"].hidden = this.traces.length < 2;
      if (this.traces.length > 1) this.parts.fetches.replaceChildren(this.fetchTable());
    }

    /** The table of a comparison: one row per URL. */
    fetchTable() {
      const { make } = this;
      const cell = (text, attributes = {}) => make("td", "", attributes, text);
      const body = make("tbody");
      const told = (time) =>
        time === undefined ? "not fetched" : time === false ? "not ended" : duration(time);
      for (const { url, fetches } of this.pairs()) {
        const times = fetches.map((fetch) => fetch && !fetch.isOpen && fetch.end - fetch.start);
        const isKnown = times.every((time) => typeof time === "number");
        // To the nanosecond: what is less comes from the computing.
        const difference = Math.round((times[1] - times[0]) * 1e3) / 1e3;
        const mark = difference > 0 ? "+" : difference < 0 ? "−" : "";
        body.append(make("tr", "", {},
          make("th", "", { scope: "row" }, this.link(short(url), fetches[0] ?? fetches[1])),
          ...times.map((time) => cell(told(time))),
          cell(isKnown ? mark + duration(Math.abs(difference)) : "")));
      }
      const [a, b] = this.traces.map((trace) => trace.stage);
      return make("table", "", {},
        make("thead", "", {}, make("tr", "", {},
          ...["URL", `A: ${a}`, `B: ${b}`, "B less A"].map((text) => make("th", "", { scope: "col" }, text)))),
        body);
    }

    /** A button that looks like a link and goes to an item. */
    link(text, item) {
      const node = this.make("button", "", { type: "button" }, text);
      node.className = "tv-link";
      node.addEventListener("click", () => {
        this.select(item);
        // The keys go on there if the button is gone, with the event that it belonged to.
        if (!node.isConnected) this.parts.stage.focus({ preventScroll: true });
      });
      return node;
    }

    // ------------------------------------------------------------- the rows

    /** The fetches of both traces, by URL, in the order of their first beginning. */
    pairs() {
      const pairs = new Map();
      this.traces.forEach((trace, i) => {
        for (const fetch of trace.fetches) {
          const { url } = fetch.args;
          if (!pairs.has(url)) pairs.set(url, { url, fetches: [undefined, undefined] });
          pairs.get(url).fetches[i] ??= fetch;
        }
      });
      return [...pairs.values()];
    }

    /** Decides which rows there are: fixed ones above, those of tasks below them. */
    layOutRows() {
      const isAlone = this.traces.length === 1;
      const mark = (trace) => (isAlone ? "" : `${"AB"[this.traces.indexOf(trace)]} `);
      const row = (lane, text) => ({ ...lane, lane, text: mark(lane.trace) + (text ? short(text) : laneName(lane)) });
      this.head = [];
      this.body = [];
      for (const trace of this.traces) {
        if (trace.unfinished.length) {
          this.head.push({ chart: trace.unfinished, trace, text: `${mark(trace)}unfinished`, height: CHART });
        }
        for (const kind of ["os", "selector", "run queue"]) {
          for (const lane of trace.lanes.filter((lane) => lane.kind === kind)) {
            this.head.push(row(lane, kind === "os" ? "OS" : kind));
          }
        }
      }
      if (isAlone) {
        this.body = this.traces[0].lanes.filter((lane) => lane.kind === "task").map((lane) => row(lane));
      } else {
        for (const { url, fetches } of this.pairs()) {
          for (const fetch of fetches) if (fetch) this.body.push(row(cut(fetch), url));
        }
        for (const trace of this.traces) {
          const rest = trace.lanes.filter((lane) => lane.kind === "task" && !lane.behind.length);
          this.body.push(...rest.map((lane) => row(lane)));
        }
      }
      if (this.query) {
        this.body = this.body.filter((row) => this.matches(row.text) || row.items.some((item) => this.finds(item)));
      }
      let y = AXIS;
      for (const row of this.head) {
        row.y = y;
        y += row.height ??= ROW;
      }
      this.headHeight = y;
      this.body.forEach((row, i) => Object.assign(row, { y: this.headHeight + i * ROW, height: ROW }));
      this.rowOfItem = new Map();
      for (const row of [...this.head, ...this.body]) {
        if (row.lane && !row.fetch) this.rowOfItem.set(row.lane, row);
      }
      this.parts.scroller.style.top = `${this.headHeight}px`;
      this.parts.spacer.style.height = `${this.body.length * ROW}px`;

      /** The part of a lane that belongs to one fetch. */
      function cut(fetch) {
        const { lane } = fetch;
        const within = (items) => items.slice(
          after(items, "to", fetch.from - 1), after(items, "from", fetch.to));
        return {
          ...lane, lane, fetch, items: within(lane.items), spans: within(lane.spans), moments: within(lane.moments),
          behind: [fetch], life: lane.life.filter((state) => state.from >= fetch.from && state.from <= fetch.to),
        };
      }
    }

    rowOf(item) {
      const row = this.rowOfItem.get(item.lane);
      return row ?? this.body.find((row) => row.fetch?.lane === item.lane && row.fetch.from <= item.to && item.from <= row.fetch.to);
    }

    matches(text) {
      return String(text ?? "").toLowerCase().includes(this.query);
    }

    finds(item) {
      item.text ??= `${item.lane.name} ${describe(item)}`.toLowerCase();
      return item.text.includes(this.query);
    }

    // ------------------------------------------------------------- the view

    /** The fields of an item that the axis shows. */
    get fields() {
      return this.axis === "time" ? ["start", "end"] : ["from", "to"];
    }

    x(value, trace) {
      return this.gutter + (value - trace.offset - this.left) * this.scale;
    }

    bounds() {
      const ends = this.traces.map((trace) => {
        const [low, high] = this.axis === "time" ? [trace.begin, trace.end] : [0, trace.length];
        return [low - trace.offset, high - trace.offset];
      });
      const low = Math.min(...ends.map(([low]) => low));
      return [low, Math.max(low + 1e-3, ...ends.map(([, high]) => high))];
    }

    get plotWidth() {
      return Math.max(50, this.width - this.gutter - 8);
    }

    fit() {
      if (!this.traces) return;
      const [low, high] = this.bounds();
      this.show(low, high);
    }

    /** Shows a part of the axis, at once. */
    show(low, high) {
      this.motion = null;
      this.left = low;
      this.scale = this.plotWidth / Math.max(1e-6, high - low);
      this.clamp();
      this.draw();
    }

    clamp() {
      const [low, high] = this.bounds();
      const least = this.plotWidth / (high - low);
      this.scale = Math.min(Math.max(this.scale, least), Math.max(least, this.axis === "time" ? 2000 : 90));
      this.left = Math.min(Math.max(this.left, low), Math.max(low, high - this.plotWidth / this.scale));
    }

    /** Zooms around a pixel of the timeline: around the current event, if none is given. */
    zoom(factor, x) {
      if (!this.traces) return;
      if (x === undefined) {
        const at = this.current ? this.x(this.current[this.fields[0]], this.current.lane.trace) : -1;
        x = at >= this.gutter && at <= this.width ? at : this.gutter + this.plotWidth / 2;
      }
      const value = this.left + (x - this.gutter) / this.scale;
      this.motion = null;
      this.scale *= factor;
      this.clamp();
      this.left = value - (x - this.gutter) / this.scale;
      this.clamp();
      this.draw();
    }

    fitTick() {
      const tick = this.current?.kind === "tick" ? this.current : this.current?.tick;
      const item = tick ?? this.current;
      if (!item) return;
      const [start, end] = this.fields.map((field) => item[field] - item.lane.trace.offset);
      const margin = Math.max((end - start) * 0.15, this.axis === "time" ? 0.5 : 2);
      this.show(start - margin, end + margin);
    }

    /** Moves the view so that an item is in it. */
    reveal(item) {
      const { trace } = item.lane;
      const [start, end] = this.fields.map((field) => this.x(item[field], trace));
      const [low, high] = [this.gutter + this.plotWidth * 0.06, this.gutter + this.plotWidth * 0.94];
      const isSeen = start >= low && (end <= high || end - start > high - low) && start <= high;
      if (!isSeen) this.moveTo(this.left + (start - this.gutter - this.plotWidth * 0.25) / this.scale);
      const row = this.rowOf(item);
      const { scroller } = this.parts;
      if (row && this.body.includes(row)) {
        const top = row.y - this.headHeight;
        if (top < scroller.scrollTop) scroller.scrollTop = top;
        else if (top + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + ROW - scroller.clientHeight;
      }
    }

    /** Moves the left edge: in a few frames, or at once where less motion is preferred. */
    moveTo(left) {
      const distance = Math.abs(left - this.left) * this.scale;
      if (this.reduced.matches || distance > 3 * this.plotWidth) {
        this.left = left;
        this.clamp();
      } else {
        this.motion = { from: this.left, to: left, begun: performance.now() };
      }
      this.draw();
    }

    // ------------------------------------------------------------ the steps

    select(item) {
      if (!item) return;
      this.current = item;
      this.reveal(item);
      this.showDetails();
      this.showTable();
      this.draw();
      const text = `${number.format(item.index + 1)}: ${describe(item)}`;
      this.say(text);
      this.element.dispatchEvent(new CustomEvent("trace-select", { detail: { index: item.index, text } }));
    }

    get trace() {
      return this.current?.lane.trace ?? this.traces?.[0];
    }

    selectIndex(index) {
      const items = this.trace?.items ?? [];
      this.select(items[Math.min(Math.max(index, 0), items.length - 1)]);
    }

    /** Goes to the next event that the search has left. Returns false at the end. */
    step(by) {
      if (!this.current) return false;
      const { items } = this.trace;
      let index = this.current.index + by;
      while (this.query && items[index] && !this.finds(items[index])) index += by;
      if (!items[index]) return false;
      this.select(items[index]);
      return true;
    }

    stepTick(by) {
      if (!this.current) return false;
      const { ticks } = this.trace;
      const now = this.current.kind === "tick" ? this.current : this.current.tick;
      // Between two ticks, the one before is not left yet.
      const before = after(ticks, "from", this.current.from) - 1;
      const position = now ? now.position + by : by > 0 ? before + 1 : before;
      const tick = ticks[position];
      if (!tick) return false;
      const width = (tick[this.fields[1]] - tick[this.fields[0]]) * this.scale;
      this.current = tick;
      if (width < 24 || width > this.plotWidth) this.fitTick();
      this.select(tick);
      return true;
    }

    /** Goes to the nearest event of the next lane that is shown. */
    stepLane(by) {
      const rows = [...this.head, ...this.body].filter((row) => row.items?.length && row.trace === this.trace);
      const now = rows.indexOf(rows.find((row) => row === this.rowOf(this.current)));
      const row = rows[now + by];
      if (!row) return;
      const near = Math.max(0, after(row.items, "from", this.current.from) - 1);
      this.select(row.items[near]);
    }

    /** Goes along an arrow. */
    follow() {
      const item = this.current;
      this.select(item?.wakes ?? item?.wokenBy ?? item?.waits);
    }

    /** The fetch around an item, by lane and time. */
    fetchOf(item) {
      if (item.kind === "fetch") return item;
      const around = item.lane.behind.filter((fetch) => fetch.kind === "fetch" && fetch.from <= item.to && item.from <= fetch.to);
      return around.at(-1);
    }

    /** The same fetch in the other trace. */
    counterpart(item) {
      const fetch = this.traces.length > 1 && item && this.fetchOf(item);
      if (!fetch) return undefined;
      const other = this.traces.find((trace) => trace !== item.lane.trace);
      return other.fetches.find((there) => there.args.url === fetch.args.url);
    }

    cross() {
      if (this.traces.length < 2) return;
      const there = this.traces.find((trace) => trace !== this.trace);
      this.select(this.counterpart(this.current) ?? there.items[0]);
    }

    /** Begins the current fetch at the same place in both traces; once more: no longer. */
    align() {
      const there = this.counterpart(this.current);
      if (!there) {
        this.say("Choose an event of a fetch that both traces have.");
        return;
      }
      const here = this.fetchOf(this.current);
      const [field] = this.fields;
      const difference = there[field] - here[field];
      const [first, second] = this.traces;
      const { url } = here.args;
      const isNew = this.alignedAt !== url;
      this.alignedAt = isNew ? url : null;
      first.offset = 0;
      second.offset = !isNew ? 0 : here.lane.trace === first ? difference : -difference;
      this.overview = null;
      this.fit();
      this.say(isNew ? `Aligned at ${url}.` : "Aligned at the beginning.");
    }

    say(text) {
      this.parts.live.textContent = text;
    }

    playOrPause() {
      if (this.player) this.pause();
      else this.play();
    }

    play() {
      if (!this.current) return;
      const { speed, play } = this.parts;
      const isByTick = speed.value === "tick" && this.trace.ticks.length > 0;
      const pause = isByTick ? 500 : 1000 / (Number(speed.value) || 4);
      play.textContent = "Pause";
      play.setAttribute("aria-pressed", "true");
      this.player = setInterval(() => {
        if (!(isByTick ? this.stepTick(1) : this.step(1))) this.pause();
      }, pause);
    }

    pause() {
      clearInterval(this.player);
      this.player = null;
      this.parts.play.textContent = "Play";
      this.parts.play.setAttribute("aria-pressed", "false");
    }

    // -------------------------------------------------------------- details

    showDetails() {
      const { make, current: item } = this;
      const { trace } = item.lane;
      const row = (list, key, ...values) => list.append(make("div", "", {}, make("dt", "", {}, key), make("dd", "", {}, ...values)));
      const list = make("dl");
      const tick = item.kind === "tick" ? item : item.tick;
      const time = `${duration(item.start - trace.begin)}${item.isSpan ? ` to ${duration(item.end - trace.begin)}` : ""}`;
      row(list, "time", time, ...(tick && tick !== item ? [" in ", this.link(`tick ${tick.args.number}`, tick)] : []));
      row(list, "lane", item.lane.name);
      for (const [key, value] of Object.entries(item.args)) {
        if (key === "at" || value === null || value === undefined) continue;
        const isTime = key.endsWith("_us");
        const text = isTime ? duration(value) : key === "key" ? keyText(value) : String(value);
        row(list, isTime ? key.slice(0, -3) : key.replaceAll("_", " "), text);
      }
      if (item.wokenBy) row(list, "woken", this.link(describe(item.wokenBy), item.wokenBy));
      if (item.wakes) row(list, "leads to", this.link(describe(item.wakes), item.wakes));
      if (item.waits) row(list, "then waits", this.link(describe(item.waits), item.waits));
      const there = this.counterpart(item);
      if (there) row(list, "other trace", this.link(describe(there), there));

      const states = make("dl", "states");
      const { running, ready, waiting, done } = trace.states(item.from);
      const names = (lanes) => lanes.slice(0, 4).map(laneName).join(", ") + (lanes.length > 4 ? ", …" : "");
      if (trace.ticks.length || running.length || ready.length || waiting.size) {
        row(states, "running", running.length ? names(running) : "no task");
        row(states, "ready", ready.length ? `${ready.length}: ${names(ready)}` : "none");
        const waits = [...waiting].map(([what, count]) => `${count} for ${what}`).join(", ");
        row(states, "waiting", waits || "none");
        row(states, "done", String(done));
      }
      const unfinished = trace.unfinished[after(trace.unfinished, "from", item.from) - 1];
      if (unfinished) row(states, "unfinished", number.format(unfinished.value));
      this.parts.details.replaceChildren(
        list,
        ...(states.children.length ? [make("h3", "", {}, "At this moment"), states] : []));
      this.showSource(item.args.at ?? item.waits?.args.at ?? item.wakes?.args.at);
    }

    /** Shows a line of the source with what stands around it. */
    showSource(at) {
      const { make } = this;
      if (!at) {
        this.parts.source.replaceChildren(make("p", "none", {}, "This event has no line in the source."));
        return;
      }
      const text = this.trace.sources[at.file];
      const name = make("h3", "", {}, `${at.file}:${at.line}`);
      if (text === undefined) {
        this.parts.source.replaceChildren(name, make("p", "none", {}, "The trace does not hold this file."));
        return;
      }
      const lines = text.split("\n");
      const wanted = { low: Math.max(1, at.line - SOURCE_CONTEXT), high: Math.min(lines.length, at.line + SOURCE_CONTEXT) };
      const part = (low, high) => {
        const code = make("code");
        for (let line = low; line <= high; line += 1) {
          const here = line === at.line;
          const node = make("span", "", here ? { "aria-current": "true" } : {},
            make("i", "", {}, String(line).padStart(4)), ...colour(lines[line - 1]), "\n");
          code.append(node);
        }
        return make("pre", "", { tabindex: "0", "aria-label": `Source, lines ${low} to ${high}; line ${at.line} is the one` }, code);
      };
      const whole = make("button", "whole", { type: "button" }, "Whole file");
      whole.addEventListener("click", () => {
        const pre = part(1, lines.length);
        this.parts.source.querySelector("pre").replaceWith(pre);
        whole.remove();
        pre.scrollTop = pre.querySelector("[aria-current]").offsetTop - pre.clientHeight / 2;
        pre.focus();
      });
      this.parts.source.replaceChildren(name, part(wanted.low, wanted.high), whole);

      /** Rust, in three kinds of words. */
      function colour(line) {
        const words = /(\/\/.*)|("(?:[^"\\]|\\.)*")|\b(as|async|await|break|const|continue|dyn|else|enum|fn|for|if|impl|in|let|loop|match|mod|move|mut|pub|ref|return|self|Self|static|struct|trait|type|use|where|while)\b/g;
        const nodes = [];
        let end = 0;
        for (const found of line.matchAll(words)) {
          const kind = found[1] ? "comment" : found[2] ? "string" : "keyword";
          const node = document.createElement("span");
          node.className = `tv-${kind}`;
          node.textContent = found[0];
          nodes.push(line.slice(end, found.index), node);
          end = found.index + found[0].length;
        }
        return [...nodes, line.slice(end)];
      }
    }

    // ---------------------------------------------------------------- table

    /** The events of the table: of the current trace, those that the search has left. */
    listed() {
      const { items } = this.trace;
      if (!this.query) return items;
      if (this.found?.query !== this.query || this.found.items !== items) {
        this.found = { query: this.query, items, left: items.filter((item) => this.finds(item)) };
      }
      return this.found.left;
    }

    showTable(page) {
      if (!this.current) return;
      const listed = this.listed();
      if (page === undefined) {
        const at = after(listed, "index", this.current.index) - 1;
        page = Math.floor(Math.max(0, at) / PAGE);
      }
      const { rows, table } = this.parts;
      const hasFocus = rows.contains(document.activeElement);
      if (this.tablePage !== page || this.tableOf !== listed) {
        this.tablePage = page;
        this.tableOf = listed;
        const { make } = this;
        const part = listed.slice(page * PAGE, (page + 1) * PAGE);
        rows.replaceChildren(...part.map((item, i) => {
          const row = make("tr", "", { "aria-rowindex": String(page * PAGE + i + 2), "data-index": String(item.index), tabindex: "-1" });
          const tick = item.kind === "tick" ? item : item.tick;
          for (const text of [number.format(item.index + 1), duration(item.start - item.lane.trace.begin),
            tick ? String(tick.args.number) : "", laneName(item.lane), describe(item)]) {
            row.append(make("td", "", { role: "gridcell" }, text));
          }
          return row;
        }));
        table.setAttribute("aria-rowcount", String(listed.length + 1));
        const last = Math.max(1, Math.ceil(listed.length / PAGE));
        this.parts["page-text"].textContent = `${number.format(page + 1)} of ${number.format(last)}, ${number.format(listed.length)} events`;
        this.parts["page-back"].disabled = page === 0;
        this.parts["page-forward"].disabled = page + 1 >= last;
      }
      const old = rows.querySelector("[aria-selected]");
      const now = rows.querySelector(`[data-index="${this.current.index}"]`);
      if (old !== now) {
        old?.removeAttribute("aria-selected");
        old?.setAttribute("tabindex", "-1");
      }
      const first = now ?? rows.firstElementChild;
      first?.setAttribute("tabindex", "0");
      if (!now) return;
      now.setAttribute("aria-selected", "true");
      const scroll = this.parts["table-scroll"];
      const top = now.offsetTop - table.tHead.offsetHeight;
      if (top < scroll.scrollTop) scroll.scrollTop = top;
      else if (now.offsetTop + now.offsetHeight > scroll.scrollTop + scroll.clientHeight) {
        scroll.scrollTop = now.offsetTop + now.offsetHeight - scroll.clientHeight;
      }
      if (hasFocus) now.focus({ preventScroll: true });
    }

    turnPage(by) {
      this.showTable(this.tablePage + by);
    }

    // -------------------------------------------------------------- drawing

    /** Asks for one frame. */
    draw() {
      this.frame ??= requestAnimationFrame((now) => {
        this.frame = null;
        if (this.motion) {
          const { from, to, begun } = this.motion;
          const share = Math.min(1, Math.max(0, (now - begun) / 160));
          this.left = from + (to - from) * share * (2 - share);
          this.clamp();
          if (share < 1) this.draw();
          else this.motion = null;
        }
        this.paint();
      });
    }

    resize() {
      const { stage, canvas, scroller } = this.parts;
      const { body } = this;
      if (!body) return;
      const style = getComputedStyle(this.element);
      const colour = (name) => style.getPropertyValue(`--tv-${name}`).trim();
      this.colours = Object.fromEntries(
        ["ground", "ink", "dim", "line", "stripe", "accent", "accent-soft", "second", "third", "third-soft", "now"].map((name) => [name, colour(name)]));
      this.font = style.fontFamily;
      this.width = stage.clientWidth;
      this.gutter = this.width < 560 ? 92 : 168;
      const visible = Math.min(body.length, this.width < 560 ? 8 : 12);
      this.height = this.headHeight + Math.max(1, visible) * ROW;
      stage.style.height = `${this.height}px`;
      scroller.style.height = `${this.height - this.headHeight}px`;
      this.ratio = devicePixelRatio || 1;
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
      this.overview = null;
      this.stamps = new Map();
      for (const [node, sign] of this.legend) {
        const context = node.getContext("2d");
        context.setTransform(2, 0, 0, 2, 0, 0);
        context.clearRect(0, 0, 16, 16);
        drawSign(context, sign, this.colours, 8, 8, 4.5);
      }
      if (this.scale) {
        this.clamp();
        this.draw();
      }
    }

    paint() {
      if (!this.current || !this.width) return;
      const { context, colours } = this;
      const scrolled = this.parts.scroller.scrollTop;
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.fillStyle = colours.ground;
      context.fillRect(0, 0, this.width, this.height);
      context.textBaseline = "middle";
      this.drawn = 0;
      this.thinned = 0;
      const first = Math.floor(scrolled / ROW);
      const shown = this.body.slice(first, first + Math.ceil((this.height - this.headHeight) / ROW) + 1);
      const clip = (top, height, action) => {
        context.save();
        context.beginPath();
        context.rect(0, top, this.width, height);
        context.clip();
        action();
        context.restore();
      };
      clip(this.headHeight, this.height - this.headHeight, () => {
        shown.forEach((row, i) => this.paintRow(row, row.y - scrolled, (first + i) % 2));
      });
      clip(0, this.headHeight, () => {
        this.head.forEach((row, i) => this.paintRow(row, row.y, i % 2));
      });
      context.strokeStyle = colours.line;
      context.lineWidth = 1;
      context.strokeRect(-1, this.headHeight - 0.5, this.width + 2, 0);
      this.paintAxis();
      this.paintNow();
      const y = (row) => (row.y < this.headHeight ? row.y : row.y - scrolled);
      this.paintArrows(shown, y);
      this.paintRing(y);
      this.paintOverview();
      this.showStatus();
    }

    paintAxis() {
      const { context, colours } = this;
      const step = roundStep(90 / this.scale);
      const isTime = this.axis === "time";
      context.font = `11px ${this.font}`;
      context.textAlign = "left";
      const origin = isTime ? this.traces[0].begin : 0;
      const from = Math.ceil((this.left - origin) / step);
      for (let i = from; ; i += 1) {
        const x = this.gutter + (i * step + origin - this.left) * this.scale;
        if (x > this.width) break;
        if (!isTime && !Number.isInteger(i * step)) continue;
        context.fillStyle = colours.line;
        context.fillRect(Math.round(x), 4, 1, this.height);
        context.fillStyle = colours.dim;
        const text = isTime ? duration(Number((i * step).toPrecision(12))) : number.format(i * step);
        context.fillText(text, x + 4, AXIS / 2);
      }
    }

    /** Shades the tick of the current event, and draws a line at the event. */
    paintNow() {
      const { context, colours, current } = this;
      const { trace } = current.lane;
      const [start, end] = this.fields;
      const tick = current.kind === "tick" ? current : current.tick;
      context.save();
      context.beginPath();
      context.rect(this.gutter, AXIS, this.width, this.height);
      context.clip();
      context.fillStyle = colours.now;
      if (tick) {
        const [low, high] = [this.x(tick[start], trace), this.x(tick[end], trace)];
        context.globalAlpha = 0.13;
        context.fillRect(low, AXIS, Math.max(1, high - low), this.height);
        context.globalAlpha = 1;
      }
      context.fillRect(Math.round(this.x(current[start], trace)), AXIS, 1, this.height);
      context.restore();
    }

    paintRow(row, y, isOdd) {
      const { context, colours } = this;
      if (isOdd) {
        context.fillStyle = colours.stripe;
        context.fillRect(0, y, this.width, row.height);
      }
      context.textAlign = "left";
      context.font = `12px ${this.font}`;
      context.fillStyle = row.lane && row.lane === this.current.lane ? colours.now : colours.ink;
      context.fillText(this.shorten(row.text, this.gutter - 14), 8, y + row.height / 2);
      context.save();
      context.beginPath();
      context.rect(this.gutter, y, this.width, row.height);
      context.clip();
      if (row.chart) this.paintChart(row, y);
      else this.paintLane(row, y);
      context.restore();
    }

    /** The values of a counter, as steps. */
    paintChart(row, y) {
      const { context, colours } = this;
      const [field] = this.fields;
      const most = (row.most ??= row.chart.reduce((most, { value }) => Math.max(most, value), 1));
      const floor = y + row.height - 4;
      const top = (value) => floor - (value / most) * (row.height - 12);
      const offset = row.trace.offset;
      let i = Math.max(0, after(row.chart, field, this.left + offset) - 1);
      context.beginPath();
      context.moveTo(this.gutter, floor);
      let last = floor;
      let x = this.gutter;
      while (i < row.chart.length && x < this.width) {
        const point = row.chart[i];
        x = Math.max(this.gutter, this.x(point[field], row.trace));
        context.lineTo(x, last);
        last = top(point.value);
        context.lineTo(x, last);
        // As many points as there are pixels.
        i = Math.max(i + 1, after(row.chart, field, point[field] + 0.5 / this.scale, i));
      }
      const [, high] = this.bounds();
      const end = Math.min(this.width, this.x(high + offset, row.trace));
      context.lineTo(end, last);
      context.lineTo(end, floor);
      context.closePath();
      context.fillStyle = colours["third-soft"];
      context.fill();
      context.strokeStyle = colours.third;
      context.lineWidth = 1;
      context.stroke();
      context.fillStyle = colours.dim;
      context.textAlign = "right";
      context.fillText(`most ${number.format(most)}`, this.width - 8, y + row.height / 2);
      context.textAlign = "left";
    }

    paintLane(row, y) {
      const { context, colours } = this;
      const [low] = this.fields;
      const crowded = [];
      this.eachSeen(row.behind, row.trace, 1, (item, x, width, count) => {
        const isTick = item.kind === "tick";
        context.fillStyle = isTick ? colours["third-soft"] : colours["accent-soft"];
        context.fillRect(x, y + 2, Math.max(1, width - (isTick ? 1 : 0)), row.height - 4);
        // A lane of one fetch has its URL for its name.
        if (isTick || row.behind.length > 1) this.write(label(item), x, width, y + SPAN.top + SPAN.height / 2, colours.dim, 11);
        if (count) crowded.push(x);
      });
      this.paintLife(row, y);
      this.eachSeen(row.spans, row.trace, 1, (item, x, width, count) => {
        const isSelect = item.kind === "select";
        const isBad = item.args.result === "panicked" || item.args.result === "cancelled";
        context.fillStyle = isSelect ? colours["third-soft"] : isBad ? colours.second : colours.accent;
        context.fillRect(x, y + SPAN.top, Math.max(1.5, width), SPAN.height);
        if (isSelect && width > 3) {
          context.strokeStyle = colours.third;
          context.lineWidth = 1;
          context.strokeRect(x + 0.5, y + SPAN.top + 0.5, width - 1, SPAN.height - 1);
        }
        const ink = isSelect ? colours.ink : colours.ground;
        this.write(label(item), x, width, y + SPAN.top + SPAN.height / 2 + 0.5, ink, 11);
        if (count) crowded.push(x);
      });
      let free = -Infinity;
      const { moments } = row;
      this.eachSeen(moments, row.trace, SIGN_GRAIN, (item, x, width, count, next) => {
        this.stamp(sign(item), x, y + MOMENT);
        if (count) crowded.push(x);
        const room = (next ? this.x(next[low], row.trace) : this.width) - x - 12;
        if (room > 16 && x > free) {
          context.font = `10.5px ${this.font}`;
          context.fillStyle = colours.dim;
          const text = this.shorten(label(item), room, 14);
          context.fillText(text, x + 7, y + MOMENT);
          free = x + 7 + context.measureText(text).width;
        }
      });
      context.fillStyle = colours.dim;
      for (const x of crowded) context.fillRect(x, y + row.height - 2, 1.5, 2);
    }

    /** Dashes where the task waits, with what it waits for. */
    paintLife(row, y) {
      const { life, trace } = row;
      if (!life?.length) return;
      const { context, colours } = this;
      const field = this.axis === "time" ? "start" : "from";
      const right = this.left + this.plotWidth / this.scale + trace.offset;
      let i = Math.max(0, after(life, field, this.left + trace.offset) - 1);
      const middle = y + SPAN.top + SPAN.height / 2;
      while (i < life.length && life[i][field] <= right) {
        const state = life[i];
        const end = life[i + 1]?.[field] ?? (state.is === "waiting" ? this.endOf(row) : state[field]);
        const [from, to] = [Math.max(this.gutter, this.x(state[field], trace)), Math.min(this.width, this.x(end, trace))];
        if (to - from > 2 && (state.is === "waiting" || state.is === "ready")) {
          const text = state.is === "ready" ? "ready" : state.what;
          context.font = `11px ${this.font}`;
          const width = context.measureText(text).width;
          const hasText = to - from > width + 24;
          context.strokeStyle = state.is === "ready" ? colours.second : colours.dim;
          context.lineWidth = state.is === "ready" ? 3 : 1;
          context.setLineDash(state.is === "ready" ? [] : [3, 3]);
          context.beginPath();
          context.moveTo(hasText ? from + width + 10 : from, middle);
          context.lineTo(to, middle);
          context.stroke();
          context.setLineDash([]);
          if (hasText) {
            context.fillStyle = colours.dim;
            context.fillText(text, from + 5, middle);
          }
        }
        i = Math.max(i + 1, after(life, field, state[field] + 0.5 / this.scale, i) - 1);
      }
    }

    endOf({ trace, fetch }) {
      const end = this.axis === "time" ? trace.end : trace.length;
      return fetch ? Math.min(end, fetch[this.fields[1]]) : end;
    }

    /**
     * Calls `action` with each item of a sorted list that is in view: at most one in
     * `grain` pixels, with the number of those that were left out for it.
     */
    eachSeen(items, trace, grain, action) {
      if (!items.length) return;
      const [low, high] = this.fields;
      const offset = trace.offset;
      const from = this.left + offset;
      const to = from + this.plotWidth / this.scale + 10 / this.scale;
      let i = after(items, high, from - 8 / this.scale);
      while (i < items.length && items[i][low] <= to) {
        const item = items[i];
        const x = this.x(item[low], trace);
        const width = this.x(item[high], trace) - x;
        let next = i + 1;
        let end = width;
        if (width < grain && next < items.length && (items[next][low] - item[low]) * this.scale < grain) {
          next = after(items, low, item[low] + grain / this.scale, next);
          end = Math.max(width, Math.min(1.5, this.x(items[next - 1][high], trace) - x));
        }
        const count = next - i - 1;
        this.drawn += 1;
        this.thinned += count;
        action(item, x, end, count, items[next]);
        i = next;
      }
    }

    /** Draws a sign that was drawn once: a picture is put down faster than a path. */
    stamp(of, x, y) {
      let picture = this.stamps.get(of);
      if (!picture) {
        picture = document.createElement("canvas");
        picture.width = picture.height = 16 * this.ratio;
        const context = picture.getContext("2d");
        context.scale(this.ratio, this.ratio);
        drawSign(context, of, this.colours, 8, 8);
        this.stamps.set(of, picture);
      }
      this.context.drawImage(picture, x - 8, y - 8, 16, 16);
    }

    /** Writes a text where there is room for some letters of it. */
    write(text, x, width, y, colour, size) {
      const left = Math.max(x, this.gutter) + 4;
      const room = Math.min(x + width, this.width) - left - 3;
      if (room < 22) return;
      const { context } = this;
      context.font = `${size}px ${this.font}`;
      context.fillStyle = colour;
      context.fillText(this.shorten(text, room, 3), left, y);
    }

    /** Cuts a text in its middle, so that it fits. Too short to be read: nothing. */
    shorten(text, room, least = 0) {
      const { context } = this;
      if (context.measureText(text).width <= room) return text;
      const letters = Math.floor(room / (context.measureText(text).width / text.length)) - 1;
      if (letters < least) return "";
      // The end of a URL says more than its beginning.
      const head = Math.floor(letters / 3);
      return `${text.slice(0, head)}…${letters > head ? text.slice(head - letters) : ""}`;
    }

    /** Arrows from where a wake comes from to the step that it leads to. */
    paintArrows(shown, y) {
      const { context, colours, current } = this;
      const field = this.fields[0];
      const rows = [...this.head, ...shown];
      const rowOfLane = new Map(rows.filter((row) => row.lane).map((row) => [row.lane, row]));
      const arrows = [];
      const chosen = current.wakes ? current : current.wokenBy;
      const isOfTick = (wake) => current.kind === "tick" && wake.tick === current;
      const isChosen = (wake) => wake === chosen || isOfTick(wake);
      for (const row of shown) {
        const offset = row.trace.offset;
        let i = after(row.moments, field, this.left + offset);
        for (; i < row.moments.length; i += 1) {
          const wake = row.moments[i];
          if (this.x(wake[field], row.trace) > this.width) break;
          const isWanted = arrows.length <= MANY_ARROWS || isChosen(wake);
          if (wake.wakes && isWanted) arrows.push([wake, row]);
        }
      }
      const isCrowded = arrows.length > MANY_ARROWS;
      for (const [wake, row] of arrows) {
        const isBold = isChosen(wake);
        if (isCrowded && !isBold) continue;
        const source = rowOfLane.get(wake.source);
        const [x0, x1] = [this.x(wake[field], row.trace), this.x(wake.wakes[field], row.trace)];
        const to = y(row) + SPAN.top + SPAN.height / 2;
        const from = source ? y(source) + source.height - 7 : to;
        if (to < this.headHeight) continue;
        context.strokeStyle = context.fillStyle = colours.second;
        context.globalAlpha = isBold ? 1 : 0.45;
        context.lineWidth = isBold ? 2 : 1;
        context.beginPath();
        context.moveTo(x0, from);
        const bend = Math.max(8, (x1 - x0) / 2);
        context.bezierCurveTo(x0 + bend / 2, from + (to - from) * 0.6, x1 - bend, to, x1 - 5, to);
        context.stroke();
        context.beginPath();
        context.moveTo(x1, to);
        context.lineTo(x1 - 7, to - 3.5);
        context.lineTo(x1 - 7, to + 3.5);
        context.fill();
        context.globalAlpha = 1;
      }
      this.hiddenArrows = isCrowded;
    }

    /** The ring around the current event. */
    paintRing(y) {
      const { current, parts: { ring } } = this;
      const row = this.rowOf(current);
      const [low, high] = this.fields.map((field) => this.x(current[field], current.lane.trace));
      const isSeen = row && high >= this.gutter && low <= this.width && (row.y < this.headHeight || y(row) >= this.headHeight - ROW / 2);
      ring.hidden = !isSeen;
      if (!isSeen) return;
      const isBehind = BEHIND.has(current.kind);
      const left = Math.max(this.gutter - 1, current.isSpan ? low - 2 : low - 7);
      const right = Math.min(this.width - 1, current.isSpan ? Math.max(low + 3, high + 2) : low + 7);
      const [top, height] = !current.isSpan ? [MOMENT - 7, 14] : isBehind ? [1, ROW - 2] : [SPAN.top - 2, SPAN.height + 4];
      Object.assign(ring.style, { left: `${left}px`, top: `${y(row) + top}px`, width: `${right - left}px`, height: `${height}px` });
    }

    /** The whole trace as one strip: how many events where, and what is in view. */
    paintOverview() {
      const { parts, colours } = this;
      const canvas = parts["overview-canvas"];
      const [low, high] = this.bounds();
      const [width, height] = [this.width, 36];
      if (!this.overview || this.overview.axis !== this.axis) {
        this.overview = { axis: this.axis };
        canvas.width = width * this.ratio;
        canvas.height = height * this.ratio;
        const context = canvas.getContext("2d");
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        const share = height / this.traces.length;
        this.traces.forEach((trace, i) => {
          const counts = new Array(Math.ceil(width / 2)).fill(0);
          for (const item of trace.items) {
            const at = (item[this.fields[0]] - trace.offset - low) / (high - low);
            counts[Math.min(counts.length - 1, Math.max(0, Math.floor(at * counts.length)))] += 1;
          }
          const most = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 1));
          context.fillStyle = i ? colours.second : colours.accent;
          counts.forEach((count, x) => {
            const size = (Math.log1p(count) / most) * (share - 3);
            context.fillRect(x * 2, share * (i + 1) - size, 1.5, size);
          });
        });
      }
      const left = ((this.left - low) / (high - low)) * width;
      const seen = (this.plotWidth / this.scale / (high - low)) * width;
      Object.assign(parts.window.style, { left: `${Math.max(0, left)}px`, width: `${Math.max(4, Math.min(width, seen))}px` });
    }

    showStatus() {
      const lanes = this.query ? `${number.format(this.body.length)} lanes and ${number.format(this.listed().length)} events found · ` : "";
      const thinned = this.thinned
        ? `${number.format(this.drawn)} marks drawn, ${number.format(this.thinned)} more share the place of one of them`
        : `${number.format(this.drawn)} marks drawn, none left out`;
      const arrows = this.hiddenArrows ? " · arrows of this event only: zoom in for the others" : "";
      const text = `${lanes}${thinned}${arrows}`;
      if (this.parts.status.textContent !== text) this.parts.status.textContent = text;
    }

    // ------------------------------------------------------ pointer and keys

    /** The item under a point of the timeline, if one is near. */
    itemAt(x, y) {
      if (x < this.gutter || !this.traces) return null;
      const scrolled = this.parts.scroller.scrollTop;
      const row = y < this.headHeight
        ? this.head.find((row) => y >= row.y && y < row.y + row.height)
        : this.body[Math.floor((y - this.headHeight + scrolled) / ROW)];
      if (!row?.items) return null;
      const inRow = y - (y < this.headHeight ? row.y : row.y - scrolled);
      const [low, high] = this.fields;
      const value = this.left + row.trace.offset + (x - this.gutter) / this.scale;
      const near = (items, reach) => {
        const at = after(items, low, value);
        const candidates = [items[at - 2], items[at - 1], items[at]].filter(Boolean).map((item) => {
          const distance = Math.max(0, item[low] - value, value - item[high]) * this.scale;
          return { item, distance };
        });
        candidates.sort((a, b) => a.distance - b.distance || b.item.from - a.item.from);
        return candidates[0]?.distance <= reach ? candidates[0].item : null;
      };
      const isLow = inRow > SPAN.top + SPAN.height;
      const moment = near(row.moments, 7);
      const span = near(row.spans, 3);
      return (isLow ? (moment ?? span) : (span ?? moment)) ?? near(row.behind, 0);
    }

    listen() {
      const { parts, element } = this;
      const { stage, overview } = parts;
      stage.addEventListener("keydown", (event) => this.key(event));
      // On a button of the toolbar, keys do what they do on the timeline, but for what
      // presses it. Elsewhere, too, an arrow key is not to turn the page of the book.
      element.addEventListener("keydown", (event) => {
        const isTool = event.target.tagName === "BUTTON" && parts.controls.contains(event.target);
        if (isTool && event.key !== " ") this.key(event);
        else if (/^Arrow(Left|Right)$/.test(event.key)) event.stopPropagation();
      });
      parts.scroller.addEventListener("scroll", () => this.draw());
      parts.axis.addEventListener("change", () => this.changeAxis(parts.axis.value));
      parts.search.addEventListener("input", () => this.search(parts.search.value));
      parts.search.addEventListener("keydown", (event) => {
        event.stopPropagation();
        if (event.key === "Enter" && this.traces) this.step(1) || this.select(this.listed()[0]);
        if (event.key === "Escape") this.search((parts.search.value = ""));
      });
      parts.speed.addEventListener("change", () => {
        if (!this.player) return;
        this.pause();
        this.play();
      });
      parts.file.addEventListener("change", () => this.open(parts.file.files[0]));
      element.addEventListener("dragover", (event) => event.preventDefault());
      element.addEventListener("drop", (event) => {
        event.preventDefault();
        this.open(event.dataTransfer.files[0]);
      });
      parts.rows.addEventListener("click", (event) => {
        const row = event.target.closest("tr");
        if (row) this.select(this.trace.items[row.dataset.index]);
      });
      parts.rows.addEventListener("keydown", (event) => this.keyInTable(event));
      new ResizeObserver(() => {
        if (stage.clientWidth !== this.width) this.resize();
      }).observe(stage);
      const repaint = () => this.resize();
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
      new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["class"] });
      this.listenToPointer(stage);

      const center = (event) => {
        if (!this.traces) return;
        const [low, high] = this.bounds();
        const box = overview.getBoundingClientRect();
        this.motion = null;
        this.left = low + ((event.clientX - box.left) / box.width) * (high - low) - this.plotWidth / this.scale / 2;
        this.clamp();
        this.draw();
      };
      overview.addEventListener("pointerdown", (event) => {
        overview.setPointerCapture(event.pointerId);
        center(event);
      });
      overview.addEventListener("pointermove", (event) => {
        if (event.buttons) center(event);
      });
    }

    /** Dragging, zooming and clicking. */
    listenToPointer(stage) {
      const pointers = new Map();
      let moved = 0;
      const point = (event) => {
        const box = stage.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
      };
      stage.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        const { x, y } = point(event);
        // The scroll bar is the browser's.
        if (y > this.headHeight && x > this.parts.scroller.clientWidth) return;
        pointers.set(event.pointerId, { x, y });
        moved = 0;
      });
      stage.addEventListener("pointermove", (event) => {
        // A press may end where no one tells: outside of the window, in a menu.
        if (!event.buttons) pointers.delete(event.pointerId);
        if (!this.traces) return;
        const now = point(event);
        const last = pointers.get(event.pointerId);
        if (!last) {
          this.showTip(now);
          return;
        }
        const [dx, dy] = [now.x - last.x, now.y - last.y];
        const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
        moved += Math.abs(dx) + Math.abs(dy);
        pointers.set(event.pointerId, now);
        if (moved < 4) return;
        stage.setPointerCapture(event.pointerId);
        this.parts.tip.hidden = true;
        this.motion = null;
        if (other) {
          const before = Math.max(20, Math.abs(last.x - other.x));
          this.zoom(Math.max(20, Math.abs(now.x - other.x)) / before, (now.x + other.x) / 2);
          return;
        }
        this.left -= dx / this.scale;
        this.clamp();
        // With a finger, the browser scrolls up and down by itself.
        if (event.pointerType === "mouse") this.parts.scroller.scrollTop -= dy;
        this.draw();
      });
      const end = (event) => {
        const was = pointers.delete(event.pointerId);
        if (!was || moved >= 4 || event.type !== "pointerup") return;
        const { x, y } = point(event);
        this.select(this.itemAt(x, y));
      };
      stage.addEventListener("pointerup", end);
      stage.addEventListener("pointercancel", end);
      stage.addEventListener("pointerleave", () => (this.parts.tip.hidden = true));
      stage.addEventListener("wheel", (event) => {
        if (!this.traces) return;
        const sideways = event.shiftKey ? event.deltaY : event.deltaX;
        if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 300), point(event).x);
        else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
          this.motion = null;
          this.left += sideways / this.scale;
          this.clamp();
          this.draw();
        } else return;
        event.preventDefault();
      }, { passive: false });
      stage.addEventListener("dblclick", (event) => this.zoom(4, point(event).x));
    }

    showTip({ x, y }) {
      const { tip } = this.parts;
      const item = this.itemAt(x, y);
      tip.hidden = !item;
      if (!item) return;
      tip.textContent = describe(item);
      tip.style.left = `${Math.max(4, Math.min(x + 12, this.width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${y > this.height - 60 ? y - tip.offsetHeight - 10 : y + 16}px`;
    }

    key(event) {
      if (!this.traces || event.altKey || event.ctrlKey || event.metaKey) return;
      const actions = {
        ArrowLeft: () => (event.shiftKey ? this.stepTick(-1) : this.step(-1)),
        ArrowRight: () => (event.shiftKey ? this.stepTick(1) : this.step(1)),
        "[": () => this.stepTick(-1),
        "]": () => this.stepTick(1),
        ArrowUp: () => this.stepLane(-1),
        ArrowDown: () => this.stepLane(1),
        Home: () => this.selectIndex(0),
        End: () => this.selectIndex(Infinity),
        " ": () => this.playOrPause(),
        "+": () => this.zoom(2),
        "=": () => this.zoom(2),
        "-": () => this.zoom(1 / 2),
        0: () => this.fit(),
        t: () => this.fitTick(),
        w: () => this.follow(),
        s: () => this.parts.source.querySelector("pre")?.focus(),
        c: () => this.cross(),
        a: () => this.align(),
        "/": () => this.parts.search.focus(),
      };
      const action = Object.hasOwn(actions, event.key) && actions[event.key];
      if (!action) return;
      event.preventDefault();
      // The book has its own arrow keys.
      event.stopPropagation();
      action();
    }

    keyInTable(event) {
      const row = event.target.closest("tr");
      const listed = this.listed();
      const at = after(listed, "index", Number(row?.dataset.index)) - 1;
      const to = {
        ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: listed.length - 1, Enter: at, " ": at,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.select(listed[Math.min(Math.max(to, 0), listed.length - 1)]);
    }

    changeAxis(axis) {
      if (!this.traces || axis === this.axis) return;
      this.axis = axis;
      for (const trace of this.traces) trace.offset = 0;
      this.alignedAt = null;
      this.fit();
      this.select(this.current);
    }

    search(text) {
      if (!this.traces) return;
      this.query = text.trim().toLowerCase();
      this.layOutRows();
      this.resize();
      this.showTable();
      this.draw();
    }

    /** Reads a file: the second trace, or the first if there is none. */
    async open(file) {
      if (!file) return;
      try {
        const json = read(await file.text());
        if (this.traces) this.load(this.json, json);
        else this.load(json);
      } catch (error) {
        this.complain(`${file.name}: ${error.message}`);
      }
      this.parts.file.value = "";
    }
  }

  /** The trace in the text of a file: JSON, or a page with JSON in it. */
  function read(text) {
    // No value at all would stand for no trace.
    if (!text.trimStart().startsWith("<")) return JSON.parse(text) ?? {};
    const script = new DOMParser().parseFromString(text, "text/html").getElementById("trace");
    if (!script) throw new Error("This page holds no trace.");
    return JSON.parse(script.textContent);
  }

  function mount(element, options) {
    element.classList.add("trace-viewer");
    return new Viewer(element, options);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const element = document.getElementById("viewer");
    const text = (id) => document.getElementById(id)?.textContent;
    if (!element || !text("trace")) return;
    const moment = /^#event=(\d+)$/.exec(location.hash);
    mount(element, {
      trace: JSON.parse(text("trace")),
      other: text("other-trace") && JSON.parse(text("other-trace")),
      event: moment ? Number(moment[1]) - 1 : 0,
    });
  });

  return { mount };
})();
