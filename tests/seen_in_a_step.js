// What one step of each slider of a widget does to the page: evaluated by tests/test_widget_pages.py.
(widget) => {
  const reads = [], timers = [], steps = [], built = [], idle = [];
  const wrap = (owner, name, calls = reads) => {
    const old = Object.getOwnPropertyDescriptor(owner, name);
    const note = (f) => function (...given) { calls.push(name); return f.apply(this, given); };
    Object.defineProperty(owner, name, old.get ? { ...old, get: note(old.get) } : { ...old, value: note(old.value) });
    return () => Object.defineProperty(owner, name, old);
  };
  const layout = [
    [Element.prototype, "getBoundingClientRect getClientRects clientWidth clientHeight scrollWidth scrollHeight"],
    [HTMLElement.prototype, "offsetWidth offsetHeight offsetTop innerText"], [SVGGraphicsElement.prototype, "getBBox"], [window, "getComputedStyle"],
    [HTMLSelectElement.prototype, "value"], // no layout, but a walk through all options
  ];
  const undo = [...layout.flatMap(([owner, names]) => names.split(" ").map((name) => wrap(owner, name))), wrap(window, "setTimeout", timers)];
  const isElement = (node) => node.nodeType === 1 && node.tagName !== "SUB"; // a sentence with other subscripts is written anew
  const isIdle = (r) => (r.type === "attributes" ? r.oldValue === r.target.getAttribute(r.attributeName)
    : r.type === "characterData" && r.oldValue === r.target.data);
  const watch = new MutationObserver(() => {});
  watch.observe(widget, { subtree: true, childList: true, characterDataOldValue: true, attributeOldValue: true });
  for (const input of widget.querySelectorAll("input[type=range]:enabled")) {
    const middle = (Number(input.min) + Number(input.max)) / 2;
    for (const value of [input.min, middle, middle + Number(input.step)]) { // two jumps, then a step
      input.value = value;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      const records = watch.takeRecords();
      built.push(...records.flatMap((r) => [...r.addedNodes, ...r.removedNodes]).filter(isElement).map((node) => node.outerHTML.slice(0, 80)));
      if (value === input.min || value === middle) continue;
      steps.push(records.length);
      idle.push(...records.filter(isIdle).map((r) => `${r.type} ${r.attributeName ?? r.target.data} ${r.target.outerHTML?.slice(0, 80) ?? ""}`));
    }
  }
  watch.disconnect();
  undo.forEach((f) => f());
  return { reads, timers, built, idle, most: Math.max(...steps) };
}
