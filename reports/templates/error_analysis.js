"use strict";
// Filters users and items by words and by segment. Without this script the page shows all of them.
(() => {
  const form = document.getElementById("filter");
  const cases = [...document.querySelectorAll(".case")];
  const items = [...document.querySelectorAll(".an-item")];
  const listed = [...document.querySelectorAll(".case li")];
  const folded = [...document.querySelectorAll(".more")];
  const told = form.querySelector("output");
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const text = new Map([...cases, ...items, ...listed].map((element) => [element, plain(element.textContent)]));
  const groups = new Map(cases.map((element) => [element, JSON.parse(element.dataset.groups)]));

  const filter = () => {
    const words = plain(form.elements.text.value).split(/\s+/).filter(Boolean);
    const chosen = [...form.querySelectorAll("select")].map((select) => select.value).filter(Boolean);
    const holds = (element) => words.every((word) => text.get(element).includes(word));
    let shown = 0;
    for (const element of cases) {
      const kept = holds(element) && chosen.every((group) => groups.get(element).includes(group));
      element.toggleAttribute("data-off", !kept);
      document.querySelector(`tr[data-case="${element.id.slice("case-".length)}"]`).toggleAttribute("data-off", !kept);
      shown += kept;
    }
    for (const item of listed) item.toggleAttribute("data-found", words.some((word) => text.get(item).includes(word)));
    for (const more of folded) more.open = more.querySelector("[data-found]") !== null;
    for (const row of items) row.toggleAttribute("data-off", !holds(row));
    const found = items.filter((row) => !row.hasAttribute("data-off")).length;
    told.textContent = `${shown} of ${cases.length} users${items.length ? `, ${found} of ${items.length} items` : ""}`;
  };

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
