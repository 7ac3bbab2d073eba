// A link to a glossary entry opens the entry's card where it stands.  Without this script it leads to the entry.
if (HTMLElement.prototype.showPopover) {
  const cardOf = (link) => document.getElementById(`term-${link.hash.slice(1)}`);
  const mark = (open) => {
    for (const link of document.querySelectorAll("a.term")) link.ariaExpanded = link === open;
  };
  let closed = null; // the term whose card the pointer is about to close: its click must not open it again

  document.addEventListener("DOMContentLoaded", () => {
    for (const link of document.querySelectorAll("a.term")) {
      link.role = "button";
      link.ariaHasPopup = "dialog";
    }
    mark(null);
  });
  document.addEventListener("pointerdown", () => { closed = document.querySelector('a.term[aria-expanded="true"]'); }, true);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.term");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab or window: the entry itself
    event.preventDefault();
    if (event.detail && link === closed) return; // a key, or a screen reader, has closed nothing: its clicks count 0
    const card = cardOf(link);
    mark(link); // names the anchor that the card is placed by
    card.showPopover({ source: link });
    card.focus({ preventScroll: true }); // Escape closes the card and returns here
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.querySelector(".term-card:popover-open")) event.stopPropagation(); // the theme's search cancels it
    if (event.key !== " " || !event.target.matches?.("a.term")) return;
    event.preventDefault();
    event.target.click();
  }, true);
  document.addEventListener("toggle", (event) => {
    const open = document.querySelector('a.term[aria-expanded="true"]');
    if (event.newState === "closed" && open && event.target === cardOf(open)) mark(null);
  }, true);
}
