// Small things that CSS cannot do. Without JavaScript nothing is missing but them.
"use strict";

(() => {
  // Code of a method is indented as in its file. Here that would only cost width.
  for (const code of document.querySelectorAll("main pre > code")) {
    const lines = code.textContent.split("\n").filter((line) => line.trim() !== "");
    const indents = lines.map((line) => line.length - line.trimStart().length);
    const indent = Math.min(...indents);
    if (!Number.isFinite(indent) || indent === 0) continue;
    const prefix = new RegExp(`(^|\\n) {${indent}}`, "g");
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    let atLineStart = true;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.nodeValue;
      let shorter = text.replace(prefix, (match, start, at) =>
        start === "\n" || (at === 0 && atLineStart) ? start : match);
      atLineStart = text.endsWith("\n");
      // A line may begin in one node and its text in the next.
      if (shorter !== text) node.nodeValue = shorter;
    }
  }
})();
