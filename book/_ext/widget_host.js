// Mounts anywidget front-end modules (https://anywidget.dev/en/afm/) from the widget state that MyST-NB writes into
// the page.  No kernel, no require.js, no request.  A widget that cannot start leaves its still picture in place.
// Who changes the language finds the widgets as he left them; who loads the page again finds them as they were made.
(() => {
  "use strict";
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

  /** What a module may ask of its model; without a kernel nobody else hears of a change. */
  class Model {
    constructor({ state, buffers = [] }) {
      this.state = state;
      this.listeners = {};
      this.moved = {}; // what the reader has changed
      for (const { path, data } of buffers) {
        const owner = path.slice(0, -1).reduce((o, k) => o[k], state);
        owner[path.at(-1)] = new DataView(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer);
      }
    }
    get(key) { return this.state[key]; }
    set(key, value) {
      if (Object.is(this.state[key], value)) return;
      this.state[key] = this.moved[key] = value;
      for (const f of [...(this.listeners["change:" + key] ?? [])]) f();
    }
    save_changes() {}
    send() {}
    on(name, f) { (this.listeners[name] ??= new Set()).add(f); }
    off(name, f) { this.listeners[name]?.delete(f); }
  }

  const modules = new Map(); // one import per distinct source, however many widgets use it
  function load(esm) {
    if (!modules.has(esm)) modules.set(esm, import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" }))));
    return modules.get(esm);
  }

  function style(css) {
    if (!css || [...document.querySelectorAll("style.afm")].some((s) => s.textContent === css)) return;
    document.head.append(Object.assign(document.createElement("style"), { className: "afm", textContent: css }));
  }

  async function mount(tag, models) {
    const model = models[JSON.parse(tag.textContent).model_id];
    const el = Object.assign(document.createElement("div"), { className: "afm-view" });
    const signal = new AbortController().signal;
    style(model.get("_css"));
    const widget = (await load(model.get("_esm"))).default;
    await widget.initialize?.({ model, signal });
    await widget.render({ model, el, signal });
    tag.previousElementSibling.hidden = true; // the still picture
    tag.after(el);
    return model;
  }

  const KEPT = `widgets of ${location.pathname.split("/").pop()}`; // the same page in each view

  /** Keep what was moved for the page in the other language: it reads that once. */
  function keep(widgets) {
    sessionStorage.setItem(KEPT, JSON.stringify(widgets.map((model) => model && [model.get("_anywidget_id"), model.moved])));
  }

  /** After rendering, so that a widget's own “reset” still leads to where it began. */
  function recall(widgets) {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    sessionStorage.removeItem(KEPT);
    widgets.forEach((model, i) => {
      const [id, moved] = kept[i] ?? [];
      if (model && id === model.get("_anywidget_id")) for (const key of Object.keys(moved)) model.set(key, moved[key]);
    });
  }

  async function main() {
    const models = {};
    for (const tag of document.querySelectorAll(STATE)) {
      const { state, shared } = JSON.parse(tag.textContent); // shared: what the modules of this page begin with
      for (const [id, entry] of Object.entries(state)) {
        if ("_esm" in entry.state) entry.state._esm = shared + entry.state._esm;
        models[id] = new Model(entry);
      }
    }
    const mounted = await Promise.allSettled([...document.querySelectorAll(VIEW)].map((tag) => mount(tag, models)));
    for (const { reason } of mounted) if (reason) console.error("A widget could not start:", reason);
    const widgets = mounted.map(({ value }) => value);
    recall(widgets);
    addEventListener("click", (event) => event.target.closest?.(".lang-switch a") && keep(widgets), true);
    document.documentElement.dataset.widgets = "ready";
  }
  main();
})();
