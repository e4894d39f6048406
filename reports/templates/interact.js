"use strict";
// Charts come alive: marks tell their numbers, models light up and can be hidden. Without this script the pictures
// are the same, and the browser shows a mark's title.
(() => {
  const NEAR = 18; // pixels from the pointer to a mark
  const MANY = 12; // models, from which on the buttons fold away
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const owns = (element, model) => element.dataset.model === model || element.dataset.other === model;

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);

  const hideTip = () => {
    tip.textContent = "";
    for (const mark of all(".chart .at-mark")) mark.classList.remove("at-mark");
  };

  const showTip = (mark) => {
    tip.textContent = mark.dataset.tip;
    const box = mark.getBoundingClientRect();
    const left = Math.min(box.left + box.width / 2 + 12, innerWidth - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 8 ? above : box.bottom + 8}px`;
  };

  const lightUp = (model) => {
    for (const chart of all(".chart")) {
      const marks = all("[data-model]", chart);
      const lit = marks.filter((mark) => model !== undefined && owns(mark, model));
      chart.classList.toggle("lit", lit.length > 0);
      for (const mark of marks) mark.classList.toggle("lit", lit.includes(mark));
    }
  };

  const visible = (mark) => mark.getClientRects().length > 0;

  const nearest = (chart, x, y) => {
    let best;
    let least = NEAR;
    for (const mark of all("[data-tip]", chart).filter(visible)) {
      const box = mark.getBoundingClientRect();
      const away = Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
      const centre = Math.hypot(x - (box.left + box.right) / 2, y - (box.top + box.bottom) / 2);
      const distance = away + centre / 1000; // of marks that cover the pointer the one whose middle is closer
      if (distance < least) [best, least] = [mark, distance];
    }
    return best;
  };

  const point = (chart, mark) => {
    hideTip();
    lightUp(mark?.closest("[data-model]")?.dataset.model);
    if (mark) showTip(mark);
  };

  const walk = (chart, event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const marks = all("[data-tip]", chart).filter(visible);
    const at = marks.findIndex((mark) => mark.classList.contains("at-mark"));
    const next = marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length];
    point(chart, next);
    next?.classList.add("at-mark");
  };

  const makeInteractive = (chart) => {
    for (const title of all(":scope > title", chart)) {
      chart.setAttribute("aria-label", title.textContent); // the browser's own hover would cover ours
      title.remove();
    }
    for (const title of all("title", chart)) {
      title.parentElement.dataset.tip = title.textContent;
      title.remove();
    }
    if (!chart.querySelector("[data-tip]")) return;
    chart.tabIndex = 0;
    const at = (event) => point(chart, nearest(chart, event.clientX, event.clientY));
    chart.addEventListener("pointermove", at);
    chart.addEventListener("pointerdown", at);
    chart.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && point(chart));
    chart.addEventListener("keydown", (event) => walk(chart, event));
    chart.addEventListener("blur", () => point(chart));
  };

  for (const chart of all(".chart")) makeInteractive(chart);
  for (const row of all("tr[data-model]")) {
    row.addEventListener("pointerenter", () => lightUp(row.dataset.model));
    row.addEventListener("pointerleave", () => lightUp());
  }
  addEventListener("keydown", (event) => event.key === "Escape" && (hideTip(), lightUp()));
  addEventListener("scroll", hideTip, { passive: true });

  const hidden = new Set();
  const redraw = (buttons, reset) => {
    for (const element of all("[data-model]")) {
      const off = [element.dataset.model, element.dataset.other].some((model) => hidden.has(model));
      element.classList.toggle("off", off);
    }
    for (const button of buttons) button.setAttribute("aria-pressed", String(!hidden.has(button.value)));
    reset.disabled = hidden.size === 0;
  };

  const button = (text) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    return made;
  };

  const choose = (place) => {
    const models = [...new Set(all(".board tr[data-model]").map((row) => row.dataset.model))];
    if (models.length < 2) return;
    const reset = button("Show all");
    const buttons = models.map((model) => Object.assign(button(model), { value: model }));
    for (const each of buttons) {
      each.addEventListener("click", () => {
        if (!hidden.delete(each.value)) hidden.add(each.value);
        redraw(buttons, reset);
      });
      each.addEventListener("pointerenter", () => lightUp(each.value));
      each.addEventListener("pointerleave", () => lightUp());
    }
    reset.addEventListener("click", () => {
      hidden.clear();
      redraw(buttons, reset);
    });
    const fold = models.length >= MANY;
    const frame = document.createElement(fold ? "details" : "div");
    const words = document.createElement(fold ? "summary" : "span");
    words.textContent = "Show in charts and tables";
    words.id = "models-label";
    const choices = document.createElement("div");
    choices.className = "choices";
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-labelledby", words.id);
    choices.append(...buttons, reset);
    frame.append(words, choices);
    place.append(frame);
    place.hidden = false;
    redraw(buttons, reset);
  };

  choose(document.getElementById("models"));
})();
