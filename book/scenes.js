// Steps through the scenes of a page, and plays them anew with other choices.
//
//   <figure class="scene" data-scene="hang" data-choices="trigger=edge|level read=once|all">
//
// The list inside was written by the program `scenes`. The same program, built for a
// browser, is loaded when the reader changes a choice, and not before.
"use strict";

const Programs = (() => {
  const loaded = new Map();

  /** Loads a script of the book, once. A page from a folder may load no other files. */
  function script(name) {
    if (!loaded.has(name)) {
      loaded.set(name, new Promise((resolve, reject) => {
        const element = document.createElement("script");
        element.src = `${path_to_root}play/${name}.js`;
        element.onload = resolve;
        element.onerror = () => {
          loaded.delete(name);
          reject(new Error(`play/${name}.js cannot be loaded. Whoever builds the book gets it with: rustup target add wasm32-wasip1`));
        };
        document.head.append(element);
      }));
    }
    return loaded.get(name);
  }

  /** Loads what a script holds, and unpacks it. */
  async function unpack(name) {
    await script(name);
    const packed = Uint8Array.from(atob(globalThis.Blobs[name]), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  /** Loads a program, unpacks and compiles it, once. */
  function program(name) {
    const key = `program ${name}`;
    if (!loaded.has(key)) {
      const compiled = (async () => {
        const [unpacked] = await Promise.all([unpack(name), script("wasi")]);
        return WebAssembly.compile(await unpacked.arrayBuffer());
      })();
      compiled.catch(() => loaded.delete(key));
      loaded.set(key, compiled);
    }
    return loaded.get(key);
  }

  /** Runs a program with arguments. */
  async function run(name, words) {
    const compiled = await program(name);
    return Wasi.run(compiled, words);
  }

  return { script, unpack, run };
})();

(() => {
  /** A scene on the page: what is shown of it, and the buttons. */
  class Stepper {
    constructor(figure) {
      this.figure = figure;
      this.lanes = figure.querySelector(".scene-lanes");
      this.choices = [];
      this.done = [];
      this.bar = document.createElement("div");
      this.bar.className = "scene-bar";
      this.bar.role = "group";
      this.bar.ariaLabel = "Steps of this scene";
      this.lanes.before(this.bar);
      this.back = this.button("◀ Back", () => this.show(this.at - 1));
      this.next = this.button("Step ▶", () => this.show(this.at + 1));
      this.player = this.button("Play", () => this.playOrPause());
      this.all = this.button("Show all", () => this.show(this.moments.length));
      this.place = document.createElement("span");
      this.place.className = "scene-place";
      this.bar.append(this.place);
      this.addChoices(figure.dataset.choices ?? "");
      this.message = document.createElement("span");
      this.message.className = "scene-message";
      this.message.role = "status";
      this.bar.append(this.message);
      this.live = document.createElement("span");
      this.live.className = "scene-name";
      this.live.ariaLive = "polite";
      this.bar.append(this.live);
      figure.tabIndex = 0;
      figure.addEventListener("keydown", (event) => this.key(event));
      this.read();
      this.show(this.moments.length);
    }

    button(text, action) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", action);
      this.bar.append(button);
      return button;
    }

    /** Adds a list for `name=a|b`, a number for `name=#`, buttons for `name=+a|b`. */
    addChoices(text) {
      for (const choice of text.split(" ").filter(Boolean)) {
        const [name, values] = choice.split("=");
        if (values.startsWith("+")) {
          this.choices.push(() => `${name}=${this.done.join(",")}`);
          this.done = (this.figure.dataset.done ?? "").split(",").filter(Boolean);
          for (const value of values.slice(1).split("|")) {
            this.button(value, () => this.play([...this.done, value], true));
          }
          this.button("again from the beginning", () => this.play([], true));
          continue;
        }
        const label = document.createElement("label");
        const input = document.createElement(values === "#" ? "input" : "select");
        if (values === "#") {
          Object.assign(input, { type: "number", min: 1, max: 9999, value: 1 });
        } else {
          input.append(...values.split("|").map((value) => new Option(value, value)));
        }
        input.addEventListener("change", () => this.play(this.done));
        label.append(`${name} `, input);
        this.bar.append(label);
        this.choices.push(() => `${name}=${input.value}`);
      }
    }

    read() {
      this.moments = [...this.lanes.querySelectorAll("li")];
    }

    /** Shows the moments up to a position; all if it is the number of them. */
    show(at) {
      this.at = Math.max(1, Math.min(at, this.moments.length));
      const isWhole = this.at === this.moments.length;
      const focused = this.bar.contains(document.activeElement) ? document.activeElement : null;
      this.figure.classList.toggle("is-stepped", !isWhole);
      this.moments.forEach((moment, i) => {
        moment.classList.toggle("is-later", i >= this.at);
        moment.classList.toggle("is-now", i === this.at - 1 && !isWhole);
      });
      this.back.disabled = this.at === 1;
      this.next.disabled = isWhole;
      this.all.disabled = isWhole;
      // A button that is switched off has no keys: the next arrow would turn the page.
      if (focused?.disabled) this.figure.focus({ preventScroll: true });
      this.place.textContent = `${this.at} of ${this.moments.length}`;
      if (this.wasShown) this.live.textContent = this.moments[this.at - 1].textContent;
      this.wasShown = true;
      if (isWhole) this.pause();
    }

    playOrPause() {
      if (this.timer) {
        this.pause();
        return;
      }
      if (this.at === this.moments.length) this.show(1);
      this.player.textContent = "Pause";
      this.timer = setInterval(() => this.show(this.at + 1), 900);
    }

    pause() {
      clearInterval(this.timer);
      this.timer = undefined;
      this.player.textContent = "Play";
    }

    key(event) {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      // On a button the same keys, but for what presses it.
      const isButton = event.target.tagName === "BUTTON";
      if (isButton ? event.key === " " : event.target !== this.figure) return;
      const action = {
        ArrowRight: () => this.show(this.at + 1),
        ArrowLeft: () => this.show(this.at - 1),
        Home: () => this.show(1),
        End: () => this.show(this.moments.length),
        " ": () => this.playOrPause(),
      }[event.key];
      if (!action) return;
      event.preventDefault();
      // The book has its own arrow keys.
      event.stopPropagation();
      action();
    }

    /** Plays the scene with the choices of the reader. */
    async play(done, showsAll = false) {
      this.pause();
      this.done = done;
      this.message.textContent = "";
      try {
        const words = [this.figure.dataset.scene, ...this.choices.map((choice) => choice())];
        const { code, stdout, stderr } = await Programs.run("scenes", words);
        if (code !== 0) throw new Error(stderr.trim());
        const template = document.createElement("template");
        template.innerHTML = stdout;
        this.lanes.replaceWith(template.content);
        this.lanes = this.figure.querySelector(".scene-lanes");
        this.read();
        this.show(showsAll ? this.moments.length : 1);
      } catch (error) {
        this.message.textContent = error.message;
      }
    }
  }

  /** A drawing over time, shown up to a moment. */
  function race(figure) {
    const clip = figure.querySelector("clipPath rect");
    const width = Number(clip.getAttribute("width"));
    const bar = document.createElement("div");
    bar.className = "scene-bar";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Play";
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: 0, max: 1000, value: 1000, ariaLabel: "Moment of the crawl" });
    bar.append(button, slider);
    figure.prepend(bar);
    let frame;
    const show = () => clip.setAttribute("width", (width * slider.value) / 1000);
    const pause = () => {
      cancelAnimationFrame(frame);
      frame = undefined;
      button.textContent = "Play";
    };
    slider.addEventListener("input", () => {
      pause();
      show();
    });
    // The book has its own arrow keys.
    bar.addEventListener("keydown", (event) => event.stopPropagation());
    button.addEventListener("click", () => {
      if (frame) {
        pause();
        return;
      }
      const from = Number(slider.value) === 1000 ? 0 : Number(slider.value);
      const begun = performance.now();
      button.textContent = "Pause";
      const next = (now) => {
        slider.value = Math.max(0, from + (now - begun) / 6);
        show();
        if (Number(slider.value) < 1000) frame = requestAnimationFrame(next);
        else pause();
      };
      frame = requestAnimationFrame(next);
    });
  }

  for (const figure of document.querySelectorAll("figure.scene")) new Stepper(figure);
  for (const figure of document.querySelectorAll("figure.race")) race(figure);
})();
