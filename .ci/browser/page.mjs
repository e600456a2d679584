// A page of the viewer as `--trace FILE.html` writes it, from the same three files.
import { readFileSync } from "node:fs";

const read = (name) => readFileSync(new URL(`../../crates/cli/viewer/${name}`, import.meta.url), "utf8");

export function page(trace) {
  const parts = {
    title: "A trace",
    style: read("viewer.css"),
    script: read("viewer.js"),
    trace: JSON.stringify(trace).replaceAll("</", "<\\/").replaceAll("<!--", "<\\u0021--"),
  };
  return read("template.html").replaceAll(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

/** The page of a report as `-o html` writes it, of its table alone. */
export function report(rows) {
  const part = (name) => read(`../src/output/html/${name}`);
  return `${part("head.html")}<title>A crawl</title><style>${part("report.css")}</style></head>
<body>${part("table.html")}<script type="application/json" id="rows">${JSON.stringify(rows)}</script>
<script>${part("report.js")}</script></body></html>`;
}
