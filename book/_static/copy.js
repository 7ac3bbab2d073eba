// Buttons that copy: on each code cell its code, on the formula that the reader is at its TeX.
// A formula inside a line is selected whole by a double click, and so is copied as TeX (course.js).
(() => {
  const WORDS = {
    zh: { code: "复制", tex: "复制 TeX", done: "已复制", failed: "没能复制：请选中后按 Ctrl+C" },
    en: { code: "Copy", tex: "Copy TeX", done: "Copied", failed: "Could not copy: select it and press Ctrl+C" },
  };
  if (!navigator.clipboard && !document.queryCommandSupported?.("copy")) return;

  const put = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* an insecure address, or denied */ }
    const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true, className: "copy-field" });
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused.focus({ preventScroll: true });
    return done;
  };

  document.addEventListener("DOMContentLoaded", () => {
    const view = document.body.dataset.bilingual;
    const words = WORDS[view] ? [view] : ["zh", "en"];
    const say = (node, key) => node.replaceChildren(...words.flatMap((lang, i) => {
      const span = document.createElement("span");
      span.lang = lang === "zh" ? "zh-Hans" : "en";
      span.textContent = WORDS[lang][key];
      return i ? [" ", span] : [span];
    }));

    const told = Object.assign(document.createElement("div"), { className: "copy-told", role: "status" });
    document.body.append(told);
    const makeButton = (key, text) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: `copy copy-${key}` });
      say(button, key);
      let back;
      button.addEventListener("click", async () => {
        const outcome = await put(text(button)) ? "done" : "failed";
        clearTimeout(back);
        say(button, outcome);
        say(told, outcome);
        back = setTimeout(() => { say(button, key); told.replaceChildren(); }, 2500);
      });
      return button;
    };

    for (const pre of document.querySelectorAll(".cell_input pre")) {
      pre.parentElement.append(makeButton("code", () => pre.textContent.replace(/\n$/, "")));
    }

    // One button for all formulas, which goes to the one that is focused or pointed at: no stop of its own for each
    const forTex = makeButton("tex", (button) => button.parentElement.querySelector("annotation").textContent);
    const moveTo = (event) => {
      const formula = event.target.closest?.("div.math");
      if (!formula || forTex.parentElement === formula || document.activeElement === forTex && event.type !== "focusin") return;
      say(forTex, "tex");
      formula.querySelector(".math-scroll").after(forTex);
    };
    document.addEventListener("focusin", moveTo);
    document.addEventListener("pointerover", moveTo);
    document.addEventListener("pointerdown", moveTo);

    document.addEventListener("dblclick", (event) => {
      const formula = event.target.closest(".katex");
      if (formula) getSelection().selectAllChildren(formula);
    });
  });
})();
