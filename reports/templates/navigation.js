"use strict";
// The table of contents marks the section that is read, and links open what is folded.
(() => {
  const READ_AT = 0.3; // of the window's height
  const contents = document.querySelector(".toc");
  const here = contents.querySelector(".here");
  const links = [...document.querySelectorAll(".rail a, .toc a")];
  const hashes = [...new Set(links.map((link) => link.hash))];
  const sections = hashes.map((hash) => document.getElementById(hash.slice(1))).filter(Boolean);
  const last = sections.at(-1);

  const whole = (section) => section.closest(".reference") ?? section;

  const currentSection = () => {
    const top = (section) => whole(section).getBoundingClientRect().top;
    const read = sections.findLast((section) => top(section) <= READ_AT * innerHeight) ?? sections[0];
    if (whole(last).getBoundingClientRect().bottom > innerHeight) return read;
    const target = sections.find((section) => `#${section.id}` === location.hash);
    return target && top(target) >= 0 ? target : last; // at the end of the page none reaches the top
  };

  const markCurrent = () => {
    const hash = `#${currentSection().id}`;
    for (const link of links) {
      if (link.hash === hash) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
    here.textContent = ` · ${links.find((link) => link.hash === hash).textContent}`;
  };

  const openTarget = () => {
    const target = document.querySelector(":target");
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
    markCurrent();
  };

  const observe = (section, options) => new IntersectionObserver(markCurrent, options).observe(whole(section));
  for (const section of sections) observe(section, { rootMargin: `0px 0px ${100 * (READ_AT - 1)}% 0px` });
  observe(last, { threshold: 1 });
  addEventListener("hashchange", openTarget);
  addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link || !contents.contains(event.target)) contents.open = false;
    if (link?.hash === location.hash) openTarget();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") contents.open = false;
  });
  openTarget();
})();
