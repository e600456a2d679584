// Runs a program that was built for wasm32-wasip1 in a page: the few calls of WASI
// that the programs of this project make. The program has no files and no network.
//
//   const { code, stdout, stderr } = await Wasi.run(bytes, ["stage=3", "pages=20"]);
"use strict";

const Wasi = (() => {
  const OK = 0;
  const BAD_DESCRIPTOR = 8;

  /** The way out of a program that ends itself. */
  class Exit extends Error {
    constructor(code) {
      super(`exit code ${code}`);
      this.code = code;
    }
  }

  /**
   * Runs a program to its end. `bytes` is the module, compiled or not, and `args` are
   * its arguments, without its name. Rejects if the program is none, or traps.
   */
  async function run(bytes, args) {
    const written = { 1: [], 2: [] };
    const words = ["program", ...args].map((word) => new TextEncoder().encode(`${word}\0`));
    const length = words.reduce((sum, word) => sum + word.length, 0);
    let memory;
    const view = () => new DataView(memory.buffer);

    const calls = {
      args_sizes_get(count, size) {
        view().setUint32(count, words.length, true);
        view().setUint32(size, length, true);
        return OK;
      },
      args_get(pointers, at) {
        words.forEach((word, i) => {
          view().setUint32(pointers + 4 * i, at, true);
          new Uint8Array(memory.buffer).set(word, at);
          at += word.length;
        });
        return OK;
      },
      environ_sizes_get(count, size) {
        view().setUint32(count, 0, true);
        view().setUint32(size, 0, true);
        return OK;
      },
      environ_get: () => OK,
      clock_time_get(_clock, _precision, at) {
        view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return OK;
      },
      /** The same bytes each time: hashes begin with the same seed. */
      random_get(at, size) {
        new Uint8Array(memory.buffer, at, size).fill(7);
        return OK;
      },
      fd_write(descriptor, parts, count, at) {
        if (!(descriptor in written)) return BAD_DESCRIPTOR;
        let size = 0;
        for (let i = 0; i < count; i += 1) {
          const [from, length] = [view().getUint32(parts + 8 * i, true), view().getUint32(parts + 8 * i + 4, true)];
          written[descriptor].push(new Uint8Array(memory.buffer, from, length).slice());
          size += length;
        }
        view().setUint32(at, size, true);
        return OK;
      },
      fd_close: () => BAD_DESCRIPTOR,
      proc_exit(code) {
        throw new Exit(code);
      },
    };

    const source = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: calls });
    const { exports } = source.instance ?? source;
    memory = exports.memory;
    let code = 0;
    try {
      exports._start();
    } catch (error) {
      if (!(error instanceof Exit)) throw error;
      code = error.code;
    }
    const text = (parts) => {
      const decoder = new TextDecoder();
      return parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
    };
    return { code, stdout: text(written[1]), stderr: text(written[2]) };
  }

  return { run };
})();
