// Questions. Without this script: a list and a fold. With it: a form in their place, which answers and remembers.
// A button checks, not the press of a radio: arrow keys go through radios, and each step would give a reason away.
(() => {
  const WORDS = {
    zh: { yours: "你的答案：", check: "检查", again: "重做", right: "✓ 对了。", wrong: "✗ 还不对。", retry: "再算一遍。",
      choose: "先选一项，再检查。", type: "请输入一个数，例如 0.45 或 3/4。", all: "全部解释" },
    en: { yours: "Your answer:", check: "Check", again: "Start over", right: "✓ Right. ", wrong: "✗ Not yet. ", retry: "Work it through once more.",
      choose: "Choose an option, then check.", type: "Type a number, such as 0.45 or 3/4.", all: "All explanations" },
  };
  const PART = String.raw`(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?`;
  const NUMBER = new RegExp(`^([+-]?${PART})(?:/(${PART}))?(%?)$`, "i");
  const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?%?$/;
  const FULL_WIDTH = /[！-～]/g;

  const value = (text) => {
    const [, above, below = 1, percent] = text.match(NUMBER) ?? [];
    return above / below / (percent ? 100 : 1);
  };
  // The numbers that a typed text may mean: none; one; or two, since the comma of 1,024 may stand for the decimal point
  const readings = (typed) => {
    const text = typed.replace(FULL_WIDTH, (c) => String.fromCharCode(c.charCodeAt(0) - 0xfee0)).replace(/\s/g, "")
      .replace(/[−–—]/g, "-").replace(/。/g, ".").replace(/[、÷]/g, "/"); // 。 and 、: the keys . and / in Chinese
    const grouped = THOUSANDS.test(text) ? [text.replaceAll(",", "")] : [];
    return [text.replaceAll(",", "."), ...grouped].map(value).filter(Number.isFinite);
  };
  const close = (x, y, tolerance) => Math.abs(x - y) <= tolerance + 1e-9 * Math.max(1, Math.abs(y));

  const element = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, text] of Object.entries(attributes)) made.setAttribute(name, text);
    made.append(...children);
    return made;
  };
  const inner = (li) => li.querySelector(":scope > p:only-child") ?? li; // an item, less the only paragraph in it
  const copy = (li) => inner(li.cloneNode(true));

  // An option as a line of text, W_Q = e^2: what a browser makes of a label leaves out the formulas
  const spoken = (li) => {
    const made = li.cloneNode(true);
    made.querySelectorAll(".katex-html, annotation").forEach((e) => e.remove());
    for (const [tag, signs] of [["msub", "_"], ["msup", "^"], ["msubsup", "_^"], ["mfrac", "/"]]) {
      for (const e of made.querySelectorAll(tag)) [...signs].forEach((sign, i) => e.children[i + 1].prepend(sign));
    }
    return made.textContent.trim();
  };

  // A question whose options are listed: how a form asks, what is given, and what to say to it
  const choice = (list, reasons, answer) => {
    const items = [...list.children];
    const radios = items.map((li, i) => {
      const radio = element("input", { type: "radio", name: "given", value: i + 1, "aria-label": spoken(li) });
      inner(li).replaceChildren(element("label", {}, radio, element("span", {}, ...inner(li).childNodes)));
      return radio;
    });
    return {
      field: list,
      focus: () => radios[0].focus(),
      given: () => radios.find((radio) => radio.checked)?.value ?? "",
      put: (given) => radios.forEach((radio) => { radio.checked = radio.value === given; }),
      mark: (given, verdict) => items.forEach((li, i) => { li.dataset.verdict = given === `${i + 1}` ? verdict : ""; }),
      judge: (given) => {
        if (!radios[given - 1]) return undefined;
        const right = +given === +answer, made = copy(reasons[given - 1]);
        if (right) made.firstChild.data = made.firstChild.data.replace(/^(对。|Right\. )/, ""); // the verdict says so
        return { right, reason: [...made.childNodes] };
      },
    };
  };

  // A question whose answer is typed; the items of its fold begin with a number and a colon, the right one first
  const typed = (reasons, answer, tolerance, words) => {
    const number = (li) => readings(li.textContent.split(/[:：]/)[0])[0];
    const plain = reasons.map(number).every((x) => x >= 0); // the decimal keypads of phones have no minus
    const input = element("input", { type: "text", name: "given", inputmode: plain ? "decimal" : "text" });
    const why = (li) => {
      const made = copy(li);
      made.firstChild.data = made.firstChild.data.replace(/^[^:：]*[:：]\s*(.?)/, (_, first) => first.toUpperCase());
      return [...made.childNodes];
    };
    return {
      field: element("label", {}, words.yours, " ", input),
      focus: () => input.focus(),
      given: () => input.value.trim(),
      put: (given) => { input.value = given; },
      mark: (given, verdict) => input.setAttribute("aria-invalid", verdict === "none"),
      judge: (given) => {
        const numbers = readings(given);
        const near = (y) => numbers.some((x) => close(x, y, tolerance));
        const right = near(+answer), known = right ? reasons[0] : reasons.slice(1).find((li) => near(number(li)));
        return numbers.length ? { right, reason: known ? why(known) : [words.retry] } : undefined;
      },
    };
  };

  const upgrade = (fold) => {
    const { question, answer, tolerance } = fold.dataset, box = fold.parentElement;
    const lang = box.closest("[lang]").lang.startsWith("zh") ? "zh" : "en", words = WORDS[lang];
    const reasons = [...fold.querySelector(":scope > :is(ol, ul)").children];
    const list = fold.previousElementSibling.matches("ol") ? fold.previousElementSibling : null;
    const stem = [...box.children].filter((e) => e !== list && e !== fold && !e.matches(".admonition-title"));
    stem.forEach((e, i) => { e.id ||= `${question}-${lang}-${i + 1}`; });
    const ask = list ? choice(list, reasons, answer) : typed(reasons, answer, +tolerance, words);
    const again = element("button", { type: "reset" }, words.again);
    const said = element("div", { class: "question-said", role: "status" });
    const set = element("fieldset", { "aria-labelledby": stem.map((e) => e.id).join(" ") },
      ask.field, element("button", { type: "submit" }, words.check), again);
    const form = element("form", { class: "question-form", autocomplete: "off" }, set, said);
    fold.before(form);
    fold.querySelector("summary").textContent = words.all;

    const clear = () => {
      said.replaceChildren();
      ask.mark("", "");
      again.hidden = fold.hidden = true;
      fold.open = false;
    };
    const show = (given, aloud) => { // of the twins, only the one that was answered is read out
      const { right, reason } = ask.judge(given);
      said.setAttribute("aria-live", aloud ? "polite" : "off");
      said.replaceChildren(element("strong", {}, right ? words.right : words.wrong), ...reason);
      ask.put(given);
      ask.mark(given, said.dataset.verdict = right ? "right" : "wrong");
      again.hidden = fold.hidden = false;
    };
    const refuse = () => {
      said.setAttribute("aria-live", "polite");
      said.dataset.verdict = "none";
      said.replaceChildren(list ? words.choose : words.type);
      ask.mark("", "none");
      ask.focus();
    };
    const focused = fold.contains(document.activeElement); // Tab may come here from far away
    clear();
    if (focused) ask.focus();
    return { question, form, ask, show, clear, refuse, print: `${answer}/${reasons.length}|` };
  };

  const page = location.pathname.split("/").pop().replace(/\.html$/, "") || "index";
  const connect = (twins) => {
    const { question, print } = twins[0], key = `attention-course/answer-1/${page}/${question}`; // the same in all views
    for (const one of twins) {
      one.form.addEventListener("submit", (event) => {
        event.preventDefault();
        const given = one.ask.given();
        if (!one.ask.judge(given)) return one.refuse();
        for (const twin of twins) twin.show(given, twin === one);
        try { localStorage.setItem(key, print + given); } catch { /* full: this answer is not remembered */ }
      });
      one.form.addEventListener("reset", () => {
        for (const twin of twins) { twin.ask.put(""); twin.clear(); }
        localStorage.removeItem(key);
        one.ask.focus(); // the button that was pressed is gone
      });
    }
    const recall = () => {
      const kept = localStorage.getItem(key), given = kept?.startsWith(print) ? kept.slice(print.length) : "";
      if (twins[0].ask.judge(given)) for (const twin of twins) twin.show(given, false);
      else if (kept) localStorage.removeItem(key); // the question has changed since
    };
    recall();
    addEventListener("pageshow", ({ persisted }) => persisted && recall()); // back from a view where it was answered
  };

  // A question becomes a form when the reader comes near: a browser that fills in forms lays out whatever holds one,
  // and so would lay out the whole page at once.
  document.addEventListener("DOMContentLoaded", () => {
    const folds = [...document.querySelectorAll("details[data-question]")];
    const near = new IntersectionObserver((seen) => {
      for (const question of new Set(seen.filter((e) => e.isIntersecting).map((e) => e.target.dataset.question))) {
        const twins = folds.filter((fold) => fold.dataset.question === question);
        twins.forEach((fold) => near.unobserve(fold));
        connect(twins.map(upgrade));
      }
    }, { rootMargin: "100%" });
    folds.forEach((fold) => near.observe(fold));
  });
})();
