// Keys, theme and small comforts; every page works without it.
(() => {
  "use strict";
  const root = document.documentElement;
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } };
  const theme = stored("theme");
  if (theme) root.dataset.theme = theme;

  const isTyping = (target) =>
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("button.theme")) {
      const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      store("theme", root.dataset.theme);
    }
    const menu = target?.closest("button.menu");
    if (menu) {
      const isOpen = menu.getAttribute("aria-expanded") === "true";
      menu.setAttribute("aria-expanded", String(!isOpen));
    }
  });

  document.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement && "submits" in event.target.dataset) event.target.form?.requestSubmit();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const pressed = CSS.escape(event.key);
    const button = document.querySelector(`[data-key="${pressed}"]`);
    const field = document.querySelector(`[data-focus-key="${pressed}"]`);
    if (field instanceof HTMLElement) {
      event.preventDefault();
      field.focus();
      return;
    }
    if (button instanceof HTMLElement) {
      event.preventDefault();
      button.click();
      return;
    }
    if (event.key === "j" || event.key === "k") {
      const current = document.querySelector(".queue [aria-current]")?.closest("li");
      const next = event.key === "j" ? current?.nextElementSibling : current?.previousElementSibling;
      next?.querySelector("a")?.click();
    }
  });
})();
