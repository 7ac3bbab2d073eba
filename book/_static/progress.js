// Which chapters were read to their end, and where the reader was last: in this browser only, for all three views.
(() => {
  const READ = "attention-course/read-1", PLACE = "attention-course/place-1";
  const recall = (key, otherwise) => { try { return JSON.parse(localStorage.getItem(key)) ?? otherwise; } catch { return otherwise; } };
  const keep = (key, value) => { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* full: not remembered */ } };
  const chapterOf = (address) => new URL(address, location).pathname.match(/\/(\d\d_\w+)\.html$/)?.[1];
  const here = chapterOf(location.href);

  const words = (heading) => { // a heading without its link, each formula once
    const copy = heading.cloneNode(true);
    for (const e of copy.querySelectorAll(".headerlink, .katex-html, annotation")) e.remove();
    return copy;
  };
  const inBoth = (heading) => { // {zh, en}, or the one language that this page has
    const copy = words(heading), view = document.body.dataset.bilingual;
    const said = (lang) => (copy.querySelector(`.lang-${lang}`) ?? copy).textContent.trim();
    return view === "both" ? { zh: said("zh"), en: said("en") } : { [view]: said(view) };
  };

  let forgotten = false; // by the reader, on this page
  const remember = () => {
    if (!here || forgotten || scrollY < innerHeight / 2) return; // a page that was only opened is no place
    const begun = [...document.querySelectorAll("article section[id]")].filter((s) => s.getBoundingClientRect().top < innerHeight / 3);
    const section = begun.at(-1);
    if (section) keep(PLACE, { page: here, id: section.id, title: inBoth(section.querySelector("h1, h2, h3, h4")) });
  };

  document.addEventListener("DOMContentLoaded", () => {
    const links = new Map([...document.querySelectorAll(".bd-links a")].map((a) => [chapterOf(a.href), a]).filter(([name]) => name));
    const told = document.querySelector(".progress-told");
    const view = document.body.dataset.bilingual, mark = { zh: "已读", en: "read" }[view] ?? "已读 · read";

    const show = () => {
      const read = recall(READ, []).filter((name) => links.has(name)), place = recall(PLACE, null);
      for (const [name, link] of links) {
        link.querySelector(".read-mark")?.remove();
        if (read.includes(name)) link.insertAdjacentHTML("beforeend", `<span class="read-mark" role="img" aria-label="${mark}"></span>`);
      }
      if (told) {
        const [page, course] = told.children;
        for (const e of course.querySelectorAll("[data-read]")) e.textContent = read.length;
        for (const e of course.querySelectorAll("[data-of]")) e.textContent = links.size;
        page.hidden = !read.includes(here);
        course.hidden = !read.length && !place;
      }
      const continued = document.querySelector(".continue");
      const to = place && links.get(place.page);
      if (continued) continued.hidden = !to;
      if (continued && to) {
        const chapter = words(to);
        chapter.querySelector(".read-mark")?.remove();
        continued.querySelector("a").href = `${to.getAttribute("href")}#${encodeURIComponent(place.id)}`;
        continued.querySelector(".continue-chapter").replaceChildren(...chapter.childNodes);
        const known = view === "both" ? ["zh", "en"] : [view]; // another view's words for the section are not ours
        continued.querySelector(".continue-section").replaceChildren(...known.filter((lang) => place.title?.[lang]).flatMap((lang) => {
          const name = Object.assign(document.createElement("span"), { lang: lang === "zh" ? "zh-Hans" : "en" });
          name.textContent = place.title[lang];
          return [name, " "];
        }));
      }
    };
    show();
    addEventListener("pageshow", ({ persisted }) => persisted && show());

    if (here && told) {
      const foot = new IntersectionObserver((changes) => { // a busy browser tells several at once
        const read = recall(READ, []);
        if (!changes.some((change) => change.isIntersecting) || read.includes(here)) return;
        foot.disconnect(); // what the reader marks as unread stays so until the next visit
        keep(READ, [...read, here]);
        show();
      });
      foot.observe(document.querySelector(".prev-next"));
      told.querySelector(".progress-undo").addEventListener("click", () => {
        foot.disconnect();
        keep(READ, recall(READ, []).filter((name) => name !== here));
        show();
        document.querySelector(".prev-next a:last-child").focus(); // the button is gone
      });
    }
    told?.querySelector(".progress-reset").addEventListener("click", () => {
      for (const key of [READ, PLACE]) localStorage.removeItem(key);
      delete document.documentElement.dataset.begun;
      forgotten = true;
      show();
      document.querySelector(".prev-next a:last-child").focus();
    });
    document.addEventListener("visibilitychange", () => document.hidden && remember());
    addEventListener("pagehide", remember);
  });
})();
