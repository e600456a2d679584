"use strict";
// Rows are arrays: URL, status, result, note, type, bytes, milliseconds, clicks.
// What is shown depends on the fragment of the page's URL alone, so that a view can be
// sent as a link: #search=TEXT&class=broken&sort=6&down=1
const rows = JSON.parse(document.getElementById("rows").textContent);
const byId = (id) => document.getElementById(id);
const [search, kind, table, more] = ["search", "class", "table", "more"].map(byId);
const headings = [...table.querySelectorAll("th")];
// The most rows that are on paper. Above the table it says how many there are.
const STEP = 200, PRINTED = 5000;
let found = [], shown = 0;

const wishes = () => new URLSearchParams(location.hash.slice(1));

function wish(changes) {
  const all = wishes();
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") all.delete(name); else all.set(name, value);
  }
  history.replaceState(null, "", "#" + all);
  show();
}

// What is missing comes last, upwards and downwards.
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a < b ? -sign : a > b ? sign : 0;
}

function show() {
  const all = wishes();
  const words = (all.get("search") || "").toLowerCase(), wanted = all.get("class") || "";
  const column = Number(all.get("sort")) || 0, sign = all.get("down") ? -1 : 1;
  search.value = all.get("search") || "";
  kind.value = wanted;
  const matches = (row) => (!wanted || row[2] === wanted) &&
    (!words || `${row[0]} ${row[1]} ${row[3]} ${row[4]}`.toLowerCase().includes(words));
  found = rows.filter(matches);
  found.sort((a, b) => compare(a[column], b[column], sign));
  headings.forEach((heading, n) => {
    if (n === column) heading.ariaSort = sign > 0 ? "ascending" : "descending";
    else heading.removeAttribute("aria-sort");
  });
  table.tBodies[0].replaceChildren();
  shown = 0;
  showMore();
}

function link(url) {
  const node = document.createElement(/^https?:/.test(url) ? "a" : "span");
  if (node.tagName === "A") { node.href = url; node.rel = "noreferrer"; }
  // A narrow column breaks it between its parts, and not within a word.
  for (const part of url.split(/(?<=[\/?#&=_-])/)) node.append(part, document.createElement("wbr"));
  return node;
}

// Large numbers, of bytes and milliseconds, are easier to read in groups.
function shownValue(value, column) {
  if (value === null) return "";
  return column > 4 ? value.toLocaleString("en") : value;
}

function showMore() {
  for (const row of found.slice(shown, shown + STEP)) {
    const line = table.tBodies[0].insertRow();
    line.className = row[2];
    row.forEach((value, n) => line.insertCell().append(n === 0 ? link(value) : shownValue(value, n)));
  }
  shown = Math.min(found.length, shown + STEP);
  more.hidden = shown === found.length;
  byId("shown").textContent = `${shown} of ${found.length} shown, ${rows.length} in all`;
}

// The tree of the site. A branch is filled when it is opened, since a site may be large.
function branch(parts) {
  return { name: parts, urls: 0, broken: 0, branches: new Map() };
}

function tree() {
  const root = branch("");
  for (const row of rows) {
    const parts = row[0].replace(/[?#].*$/, "").match(/^\w+:\/\/[^/]*|[^/]+/g) || [row[0]];
    let node = root;
    for (const part of parts) {
      if (!node.branches.has(part)) node.branches.set(part, branch(part));
      node = node.branches.get(part);
      node.urls += 1;
      if (row[2] === "broken") node.broken += 1;
    }
  }
  return root;
}

function grow(list, node) {
  for (const child of node.branches.values()) {
    const item = list.appendChild(document.createElement("li"));
    const label = document.createElement(child.branches.size ? "summary" : "span");
    label.append(child.name + " ");
    if (child.urls > 1) label.append(Object.assign(document.createElement("small"), { textContent: child.urls }), " ");
    if (child.broken) label.append(Object.assign(document.createElement("b"), { textContent: `${child.broken} broken` }));
    if (!child.branches.size) { item.append(label); continue; }
    const details = item.appendChild(document.createElement("details"));
    details.append(label);
    details.addEventListener("toggle", () => {
      const inner = details.appendChild(document.createElement("ul"));
      inner.className = "tree";
      grow(inner, child);
    }, { once: true });
  }
}

headings.forEach((heading, n) => heading.firstChild.addEventListener("click", () => {
  const isAgain = heading.ariaSort === "ascending";
  wish({ sort: n || "", down: isAgain ? "1" : "" });
}));
search.addEventListener("input", () => wish({ search: search.value }));
kind.addEventListener("change", () => wish({ class: kind.value }));
byId("wishes").addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", showMore);
addEventListener("hashchange", () => {
  show();
  byId("urls").scrollIntoView();
});
addEventListener("beforeprint", () => {
  while (!more.hidden && shown < PRINTED) showMore();
});
byId("wishes").hidden = table.hidden = false;
show();
grow(byId("tree"), tree());
const first = byId("tree").querySelector("details");
if (first) first.open = true;
