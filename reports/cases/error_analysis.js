"use strict";
// Filters users and items by words and by segment. Without this script the page shows all of them.
(() => {
  const form = document.getElementById("filter");
  const users = [...document.querySelectorAll(".case")];
  const items = [...document.querySelectorAll(".an-item")];
  const listItems = [...document.querySelectorAll(".case li")];
  const folded = [...document.querySelectorAll(".more")];
  const output = form.querySelector("output");
  const normalize = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const text = new Map([...users, ...items, ...listItems].map((element) => [element, normalize(element.textContent)]));
  const segments = new Map(users.map((element) => [element, JSON.parse(element.dataset.groups)]));

  const filter = () => {
    const words = normalize(form.elements.text.value).split(/\s+/).filter(Boolean);
    const selected = [...form.querySelectorAll("select")].map((select) => select.value).filter(Boolean);
    const hasWords = (element) => words.every((word) => text.get(element).includes(word));
    let nUsers = 0;
    for (const element of users) {
      const isShown = hasWords(element) && selected.every((segment) => segments.get(element).includes(segment));
      element.toggleAttribute("data-off", !isShown);
      nUsers += isShown;
    }
    for (const item of listItems) item.toggleAttribute("data-found", words.some((word) => text.get(item).includes(word)));
    for (const more of folded) more.open = more.querySelector("[data-found]") !== null;
    for (const row of items) row.toggleAttribute("data-off", !hasWords(row));
    const nItems = items.filter((row) => !row.hasAttribute("data-off")).length;
    output.textContent = `${nUsers} of ${users.length} users${items.length ? `, ${nItems} of ${items.length} items` : ""}`;
  };

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
