// The pages are complete without this script: it adds memory for the language, ?lang=, and formulas copied as TeX.

document.addEventListener("click", (event) => {
  const link = event.target.closest(".lang-switch a");
  if (!link) return;
  try { localStorage.setItem("lang", link.dataset.lang); } catch { /* private mode */ }
  const begun = [...document.querySelectorAll("article section[id]")].filter((s) => s.getBoundingClientRect().top < 120);
  link.hash = scrollY > 0 && begun.length > 1 ? begun.at(-1).id : ""; // sections have the same ids in all views
});

// The theme takes the focus from its buttons when they are pressed: give it back, at once or when what they opened is closed.
document.addEventListener("click", (event) => {
  const button = event.target.closest(".theme-switch-button, .search-button__button, .sidebar-toggle");
  if (!button) return;
  setTimeout(() => { // after the theme
    const opened = document.querySelector("dialog[open]");
    if (opened) opened.addEventListener("close", () => button.focus(), { once: true });
    else button.focus();
  });
}, true);

// What is wider than its place can be scrolled by keyboard.
{
  const scrolling = new ResizeObserver((boxes) => {
    for (const { target } of boxes) {
      if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll("pre, .cell_output > .output, .pst-scrollable-table-container")) scrolling.observe(box);
}

document.addEventListener("DOMContentLoaded", () => {
  const wanted = new URLSearchParams(location.search).get("lang");
  const link = wanted && document.querySelector(`.lang-switch a[data-lang="${CSS.escape(wanted)}"]:not([aria-current])`);
  if (!link) return;
  link.hash = location.hash;
  location.replace(link.href);
});

document.addEventListener("click", (event) => event.target.closest(".print-page") && print());

document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (selection.isCollapsed || !event.clipboardData) return;
  const whole = (node) => {
    const formula = (node.nodeType === 1 ? node : node.parentElement)?.closest(".katex");
    return formula?.closest(".katex-display") ?? formula;
  };
  const range = selection.getRangeAt(0).cloneRange(); // a formula is copied whole or not at all
  if (whole(range.startContainer)) range.setStartBefore(whole(range.startContainer));
  if (whole(range.endContainer)) range.setEndAfter(whole(range.endContainer));
  const copy = range.cloneContents();
  if (!copy.querySelector(".katex")) return;
  for (const formula of copy.querySelectorAll(".katex")) {
    const mark = formula.closest(".katex-display") ? "$$" : "$";
    formula.replaceWith(mark + formula.querySelector("annotation").textContent + mark);
  }
  event.clipboardData.setData("text/plain", copy.textContent);
  event.preventDefault();
});
