// On paper nothing can be unfolded, and an answer must not stand beside its question: the inside of each fold goes to
// the end of the article, and the fold's place says so. tools/make_pdf.js uses the same function for the whole course.
globalThis.answersToTheEnd = (article, words) => {
  const element = (tag, className, ...children) => {
    const made = Object.assign(document.createElement(tag), { className });
    made.append(...children);
    return made;
  };
  const moved = [...article.querySelectorAll("details")].map((fold) => {
    const [summary, ...inside] = fold.childNodes;
    const title = (fold.closest(".question")?.querySelector(".admonition-title") ?? summary).textContent.trim();
    return { fold, title, inside, told: element("p", "answer-elsewhere", words.elsewhere) };
  });
  if (!moved.length) return () => {};
  const heading = element("h2", "", words.answers);
  const section = element("section", "answers", heading);
  for (const { fold, title, inside, told } of moved) {
    section.append(element("div", "answer", element("p", "answer-title", title), ...inside));
    fold.replaceWith(told);
  }
  article.append(section);
  return () => {
    for (const { fold, inside, told } of moved) {
      fold.append(...inside);
      told.replaceWith(fold);
    }
    section.remove();
  };
};

(() => {
  const WORDS = {
    zh: { answers: "答案", elsewhere: "答案在文末。" },
    en: { answers: "Answers", elsewhere: "Answer: at the end of this page’s text." },
    both: { answers: "答案 · Answers", elsewhere: "答案在文末。 · Answer: at the end." },
  };
  let putBack = () => {}, theme = "";
  addEventListener("beforeprint", () => {
    const article = document.querySelector("article.bd-article");
    if (article) putBack = answersToTheEnd(article, WORDS[document.body.dataset.bilingual] ?? WORDS.both);
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light"; // the ground is white
  });
  addEventListener("afterprint", () => { // no solution may show that was not asked for
    putBack();
    putBack = () => {};
    document.documentElement.dataset.theme = theme;
  });
})();
