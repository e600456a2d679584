// A page of the viewer as `--trace FILE.html` writes it, from the same three files.
import { readFileSync } from "node:fs";

const read = (name) => readFileSync(new URL(`../../crates/cli/viewer/${name}`, import.meta.url), "utf8");

export function page(trace, picture = "") {
  const parts = {
    title: "A trace",
    style: read("viewer.css"),
    script: read("viewer.js"),
    trace: JSON.stringify(trace).replaceAll("</", "<\\/"),
    picture,
  };
  return read("template.html").replaceAll(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}
