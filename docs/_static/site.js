// Names for the arrows that unfold a part of the navigation: the theme gives them none.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    const link = summary.closest("li")?.querySelector("a");
    summary.setAttribute("aria-label", `Pages of ${link?.textContent.trim() ?? "this part"}`);
  }
});
