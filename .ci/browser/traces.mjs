// Traces for the tests: what the loop of stage 2 does in a crawl of a simulated
// site, the same for the same seed. Among them: a stale event, timers that are
// cancelled, and, if asked for, a task that is never woken.

/** Random numbers from a seed (mulberry32). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FETCH = "crates/stage2-coroutines/src/fetch.rs";
const SOURCE = Array.from({ length: 90 }, (_, i) => {
  if (i % 9 === 0) return `/// Step ${i}: "quoted" text, and <b>no markup</b>.`;
  return i % 9 === 1 ? "async fn exchange(&self, stream: &Stream) -> Result<(), Error> {" : `    let line_${i + 1} = self.read(stream).await?; // ${i + 1}`;
}).join("\n");

/**
 * A trace of about `events` events.
 *
 * `stage`: the name of the program; `atOnce`: fetches under way; `isStuck`: one task
 * stores no waker that is ever woken; `dropped`: the number told as not kept.
 */
export function makeTrace({ events = 100, seed = 1, stage = "stage2", atOnce = 8, isStuck = false, dropped = 0, slower = 1 } = {}) {
  const next = random(seed);
  const list = [];
  const lanes = [{ tid: 1, kind: "os" }, { tid: 2, kind: "selector" }, { tid: 3, kind: "run queue" }];
  let now = 0;
  const push = (ph, name, tid, args = {}) => {
    const event = { pid: 1, tid, ts: Number(now.toFixed(3)), ph, name, args };
    if (ph === "i") event.s = "t";
    list.push(event);
  };
  const at = (line) => ({ file: FETCH, line });
  // The sizes and times of a page depend on its number only, so that two stages agree.
  const page = (number) => random(seed * 1000 + number);

  const pending = [];
  let started = 0;
  let unfinished = 0;
  const start = () => {
    const number = (started += 1);
    const tid = number + 3;
    const url = `http://localhost:8000/${number === 1 ? "" : `page/${number}.html`}`;
    const of = page(number);
    lanes.push({ tid, kind: "task", name: `fetch ${url}`, number });
    unfinished += 1;
    return { number, tid, url, of, key: (100 + number) * 2 ** 32 + number, phase: "begin", reads: 1 + Math.floor(of() * 3) };
  };
  const ready = Array.from({ length: atOnce }, start);

  const step = (task) => {
    now += 1 + next() * 3;
    if (task.phase === "begin") push("B", "fetch", task.tid, { url: task.url });
    push("B", "step", task.tid, { task: task.number, name: "fetch" });
    now += 2 + next() * 10;
    const wait = (operation, line, us) => {
      push("i", "waker_stored", task.tid, { operation, at: at(line), key: task.key });
      now += 0.5;
      push("E", "step", task.tid, { task: task.number, at: at(line), result: "pending" });
      pending.push({ time: now + us * slower, task });
    };
    if (task.phase === "begin") {
      push("i", "connect", task.tid, { key: task.key, address: "127.0.0.1:8000" });
      push("i", "timer_set", 2, { timer: task.number, at_us: now + 30_000_000 });
      task.phase = "connecting";
      wait("connect", 12, 100 + task.of() * 200);
    } else if (task.phase === "connecting") {
      push("i", "write", 1, { key: task.key, task: task.number, bytes: 120, result: "ok" });
      push("i", "read", 1, { key: task.key, task: task.number, bytes: 0, result: "would_block" });
      task.phase = "reading";
      if (isStuck && task.number === 3) {
        push("i", "waker_stored", task.tid, { operation: "read", at: at(40), key: task.key });
        push("E", "step", task.tid, { task: task.number, at: at(40), result: "pending" });
      } else {
        wait("read", 39, 500 + task.of() * 20_000);
      }
    } else {
      task.reads -= 1;
      push("i", "read", 1, { key: task.key, task: task.number, bytes: 1000 + Math.floor(task.of() * 3000), result: "ok" });
      if (task.reads > 0) {
        push("i", "read", 1, { key: task.key, task: task.number, bytes: 0, result: "would_block" });
        wait("read", 48, 200 + task.of() * 4000);
      } else {
        push("i", "timer_cancelled", 2, { timer: task.number });
        push("i", "close", task.tid, { key: task.key, address: "127.0.0.1:8000" });
        push("E", "fetch", task.tid, { url: task.url, status: task.number % 17 ? 200 : 404, outcome: task.number % 17 ? "page" : "http_error" });
        push("E", "step", task.tid, { task: task.number, result: "done" });
        unfinished -= 1;
        if (list.length < events) ready.push(start(), ...(unfinished < atOnce ? [start()] : []));
        push("C", "unfinished", 1, { value: unfinished });
      }
    }
  };

  push("C", "unfinished", 1, { value: unfinished });
  // A task that waits for the others, and is dropped at the end.
  const main = { tid: 1_000_000, number: 0 };
  lanes.push({ tid: main.tid, kind: "task", name: "main", number: main.number });
  for (let tick = 1; ready.length || pending.length; tick += 1) {
    push("B", "tick", 2, { number: tick });
    now += 0.4;
    push("B", "select", 1, { timeout_us: ready.length ? 0 : null });
    pending.sort((a, b) => a.time - b.time);
    if (!ready.length) now = Math.max(now, pending[0].time);
    now += 2;
    const due = pending.filter(({ time }) => time <= now + 20);
    pending.splice(0, due.length);
    push("E", "select", 1, { ready: due.length });
    const batch = ready.splice(0);
    for (const { task } of due) {
      now += 0.3;
      push("i", "event", 2, { key: task.key, readable: task.phase !== "connecting", writable: true });
      push("i", "wake", task.tid, { by: "event", from: 2 });
      batch.push(task);
    }
    if (tick % 7 === 0) push("i", "event", 2, { key: 1, readable: true, writable: false, stale: true });
    batch.forEach(step);
    if (tick === 1) {
      push("B", "step", main.tid, { task: main.number, name: "main" });
      push("i", "waker_stored", main.tid, { operation: "waiting for all work to be done", at: at(7) });
      push("E", "step", main.tid, { task: main.number, at: at(7), result: "pending" });
    }
    now += 0.5;
    push("E", "tick", 2, { number: tick });
    now += 0.2;
  }
  return {
    displayTimeUnit: "ns",
    otherData: { format: "fourways-trace", version: 1, stage, program: "crawl 0.1.0", dropped, lanes, sources: { [FETCH]: SOURCE } },
    traceEvents: [...lanes.map(({ tid, name, kind }) => ({ pid: 1, tid, ts: 0, ph: "M", name: "thread_name", args: { name: name ?? kind } })), ...list],
  };
}
