// Keys, theme and small comforts; every page works without it.
(() => {
  "use strict";
  const root = document.documentElement;
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } };
  const theme = stored("theme");
  if (theme) root.dataset.theme = theme;
  if (stored("no-sample")) root.dataset.noSample = "";

  const isTyping = (target) =>
    target instanceof HTMLElement && (target.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !/^(checkbox|radio)$/.test(target.type)));

  // To keep both replaces none.
  document.addEventListener("click", (event) => {
    const form = event.target.closest?.('button[name="beside"]')?.form;
    form?.querySelectorAll('[name="supersedes"]').forEach((each) => { each.checked = false; });
  });
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("button.theme")) {
      const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = isDark ? "light" : "dark";
      store("theme", root.dataset.theme);
    }
    if (target?.closest("[data-dismiss-sample]")) {
      root.dataset.noSample = "";
      store("no-sample", "1");
    }
    const menu = target?.closest("button.menu");
    if (menu) {
      const isOpen = menu.getAttribute("aria-expanded") === "true";
      menu.setAttribute("aria-expanded", String(!isOpen));
    }
  });

  // A form that takes a while.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.busy) return;
    const button = form.querySelector("button");
    if (!button) return;
    button.textContent = form.dataset.busy;
    button.setAttribute("aria-busy", "true");
    // After the browser has read the form.
    setTimeout(() => { button.disabled = true; }, 0);
  });

  document.addEventListener("change", (event) => {
    if (event.target instanceof HTMLSelectElement && "submits" in event.target.dataset) event.target.form?.requestSubmit();
  });

  // A file that is dropped on a form is chosen in it and sent; the form works by its field, too.
  const dropForm = (event) => {
    const form = event.target instanceof Element ? event.target.closest("form[data-drop]") : null;
    return event.dataTransfer?.types.includes("Files") ? form : null;
  };
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const form = dropForm(event);
      if (!form) return;
      event.preventDefault();
      form.classList.toggle("over", kind === "dragenter" || kind === "dragover");
      if (kind !== "drop" || !event.dataTransfer.files.length) return;
      form.querySelector("input[type=file]").files = event.dataTransfer.files;
      form.requestSubmit();
    });
  }

  // Jump, key help, `g` and a letter; before the keys of the page, which may mean the same letters.
  root.classList.add("js");
  const dialog = (id) => { const found = document.getElementById(id); return found instanceof HTMLDialogElement ? found : null; };
  const jump = () => {
    const found = dialog("jump");
    if (!found || found.open) return;
    found.showModal();
    found.querySelector("input")?.select();
  };
  const help = () => {
    const found = dialog("keys");
    const list = found?.querySelector(".of-page");
    if (!found || !list || found.open) return;
    const rows = [...document.querySelectorAll("main :is([data-key], [data-focus-key], [data-cycle-key], [data-help-key])")].map((each) => {
      const key = each.dataset.key || each.dataset.focusKey || each.dataset.cycleKey || each.dataset.helpKey;
      const named = each.labels?.[0] ?? each.querySelector("legend") ?? each;
      const label = each.dataset.keyLabel || each.getAttribute("aria-label") || named.textContent || "";
      return [key, label.replace(/\s+/g, " ").trim().replace(new RegExp(` ${key.replace(/\W/g, "\\$&")}$`), "")];
    });
    list.replaceChildren(...rows.map(([key, label]) => {
      const row = document.createElement("div");
      const [name, meaning, kbd] = ["dt", "dd", "kbd"].map((tag) => document.createElement(tag));
      kbd.textContent = key;
      name.append(kbd);
      meaning.textContent = label;
      row.append(name, meaning);
      return row;
    }));
    list.closest("section").hidden = rows.length === 0;
    found.showModal();
  };
  let wentAt = 0;
  document.addEventListener("keydown", (event) => {
    const handled = () => { event.preventDefault(); event.stopImmediatePropagation(); };
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      handled();
      jump();
      return;
    }
    const open = document.querySelector("dialog[open]");
    if (open?.id === "jump" && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const stops = [...open.querySelectorAll("input, .found a, #jump-found a")];
      const step = event.key === "ArrowDown" ? 1 : -1;
      handled();
      stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length]?.focus();
      return;
    }
    if (open?.id === "jump" && event.key === "Enter" && event.target instanceof HTMLInputElement) {
      const first = open.querySelector("#jump-found a");
      if (first instanceof HTMLElement && event.target.value.trim()) { handled(); first.click(); }
      return;
    }
    if (open || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const isSecond = Date.now() - wentAt < 1500;
    wentAt = 0;
    if (isSecond) {
      const place = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (place instanceof HTMLElement) { handled(); place.click(); }
    } else if (event.key === "g") {
      wentAt = Date.now();
      handled();
    } else if (event.key === "?") {
      handled();
      help();
    } else if (event.key === "/" && !document.querySelector('[data-focus-key="/"]')) {
      const field = document.querySelector('main form[role="search"] input:not([type="hidden"])');
      handled();
      if (field instanceof HTMLElement) field.focus();
      else jump();
    }
  }, true);
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("[data-jump]")) { event.preventDefault(); jump(); }
    if (target?.closest("button.keys")) help();
    if (target instanceof HTMLDialogElement && (target.id === "jump" || target.id === "keys")) target.close();
    const copy = target?.closest("[data-copy]");
    if (copy instanceof HTMLElement) {
      navigator.clipboard?.writeText(copy.dataset.copy).then(() => {
        copy.classList.add("done");
        setTimeout(() => copy.classList.remove("done"), 1200);
      }, () => {});
    }
  });

  // What somebody wrote into a form is not lost without a question.
  const edited = new Set();
  document.addEventListener("input", (event) => {
    const field = event.target;
    const isText = field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && field.type === "text");
    if (isText && field.form?.method === "post") edited.add(field);
  });
  document.addEventListener("submit", () => edited.clear(), true);
  window.addEventListener("beforeunload", (event) => {
    const isLost = [...edited].some((field) => field.isConnected && field.value !== field.defaultValue);
    if (isLost) event.preventDefault();
  });

  // Times go on while a page is open.
  const units = [[60, 1], [3600, 60], [86400, 3600], [2592000, 86400]];
  setInterval(() => {
    for (const each of document.querySelectorAll("time[datetime]")) {
      const seconds = Math.floor((Date.now() - Date.parse(each.dateTime)) / 1000);
      const at = units.findIndex(([below]) => Math.abs(seconds) < below);
      if (at < 0) continue;
      const { ago, ahead, units: names } = document.body.dataset;
      const distance = `${Math.floor(Math.abs(seconds) / units[at][1])} ${names.split(" ")[at]}`;
      each.textContent = (seconds < 0 ? ahead : ago).replace("{distance}", distance);
    }
  }, 20000);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if ("moving" in root.dataset && !/^[jkx]$/.test(event.key)) return;
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
    if (event.key === "n" || event.key === "p") {
      const items = [...document.querySelectorAll("[data-item]")];
      const at = items.indexOf(document.activeElement);
      const next = event.key === "n" ? items[at + 1] : items[at === -1 ? items.length - 1 : at - 1];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "j" || event.key === "k") {
      const current = document.querySelector(".queue [aria-current]");
      const near = event.key === "j" ? current?.closest("li")?.nextElementSibling : current?.closest("li")?.previousElementSibling;
      const next = near?.querySelector("a");
      if (!next) return;
      // At once, so that the next key moves on from here; until the page follows, nothing is decided.
      current?.removeAttribute("aria-current");
      next.setAttribute("aria-current", "true");
      root.dataset.moving = "";
      next.click();
    }
  });

  // A box that is cut fades where more follows: sideways, the navigation downwards.
  const fade = () => {
    for (const box of document.querySelectorAll(".scroll, .tabs, .kinds, .board, .graph, pre, .side nav")) {
      box.classList.toggle("more-right", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
      box.classList.toggle("more-below", box.matches("nav") && box.scrollHeight - box.clientHeight - box.scrollTop > 1);
    }
  };
  addEventListener("DOMContentLoaded", fade);
  for (const name of ["load", "resize", "scroll", "toggle", "click", "htmx:after:swap"]) addEventListener(name, () => requestAnimationFrame(fade), true);

  // The composer: Enter sends, Shift+Enter begins a line. What was written stays until it was taken.
  document.addEventListener("keydown", (event) => {
    const form = event.target instanceof HTMLTextAreaElement ? event.target.closest("form[data-composer]") : null;
    if (!form || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  document.addEventListener("htmx:after:request", (event) => {
    const context = event.detail?.ctx;
    const form = context?.sourceElement;
    if (form instanceof HTMLFormElement && "composer" in form.dataset && context.response?.status < 400) {
      form.reset();
      form.querySelector(".refusal")?.replaceChildren();
    }
  });
  document.addEventListener("htmx:error", (event) => {
    const form = event.target instanceof HTMLFormElement ? event.target : null;
    if (form?.dataset.unsent) form.querySelector(".refusal")?.replaceChildren(form.dataset.unsent);
  });

  // Answers as they are written: the page has a place for the text of a run that goes on, and the server
  // shows the message in its stead once the journal has it.
  const streams = new Map();
  const isNearEnd = () => innerHeight + scrollY >= root.scrollHeight - 160;
  const show = (place, stream) => {
    const after = Number(place.dataset.afterStep);
    const text = [...stream.steps].filter(([step]) => step > after).map(([, said]) => said).join("\n\n");
    const shown = place.querySelector(".text");
    if (shown.textContent === text) return;
    const follows = isNearEnd();
    shown.textContent = text;
    if (follows) scrollTo(0, root.scrollHeight);
  };
  const open = (place) => {
    const stream = { source: new EventSource(place.dataset.stream), steps: new Map() };
    const shown = () => document.getElementById(place.id);
    stream.source.addEventListener("delta", (event) => {
      const { step, text } = JSON.parse(event.data);
      stream.steps.set(step, (stream.steps.get(step) ?? "") + text);
      if (shown()) show(shown(), stream);
    });
    stream.source.addEventListener("delta_reset", (event) => {
      stream.steps.delete(JSON.parse(event.data).step);
      if (shown()) show(shown(), stream);
    });
    return stream;
  };
  const follow = () => {
    const places = document.hidden ? [] : [...document.querySelectorAll("[data-stream]")];
    const wanted = new Set(places.map((place) => place.id));
    for (const [id, stream] of streams) {
      if (wanted.has(id)) continue;
      stream.source.close();
      streams.delete(id);
    }
    for (const place of places) {
      if (!streams.has(place.id)) streams.set(place.id, open(place));
      show(place, streams.get(place.id));
    }
  };
  const turns = () => document.querySelector(".chat")?.childElementCount ?? 0;
  let shownTurns = turns();
  const main = document.getElementById("main");
  if (main) {
    new MutationObserver(() => {
      follow();
      // A new turn is looked at, unless somebody reads further up.
      if (turns() > shownTurns) scrollTo(0, root.scrollHeight);
      shownTurns = turns();
    }).observe(main.parentElement, { childList: true, subtree: true });
    document.addEventListener("visibilitychange", follow);
    follow();
    if (shownTurns > 1) scrollTo(0, root.scrollHeight);
  }
})();

// Review: selecting, confirming, the tally of this visit, and keeping the place in the list.
(() => {
  "use strict";
  const isTyping = (target) =>
    target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !/^(checkbox|radio)$/.test(target.type);

  const count = () => {
    const shown = document.getElementById("selected");
    if (shown) shown.textContent = String(document.querySelectorAll("#queue :checked").length);
  };

  // By candidate, so that an undone decision is no longer counted.
  const tally = () => {
    const shown = document.getElementById("tally");
    if (!shown) return;
    let decided = {};
    try { decided = JSON.parse(sessionStorage.getItem("tally") ?? "{}"); } catch { /* private window */ }
    const notice = document.querySelector("[data-done]");
    if (notice instanceof HTMLElement) decided[notice.dataset.done] = notice.dataset.state;
    try { sessionStorage.setItem("tally", JSON.stringify(decided)); } catch { /* private window */ }
    const said = ["published", "rejected"].map((state) => [Object.values(decided).filter((each) => each === state).length, shown.dataset[state]]);
    shown.textContent = said.filter(([number]) => number).map(([number, label]) => `${number} ${label}`).join(" · ");
  };

  const refresh = () => {
    document.querySelector("#queue [aria-current]")?.scrollIntoView({ block: "nearest" });
    count();
    tally();
  };
  document.addEventListener("change", count);
  // The button says for whom it publishes.
  document.addEventListener("change", (event) => {
    const label = document.querySelector("[data-publish-label]");
    const words = event.target instanceof HTMLElement ? event.target.dataset.publish : undefined;
    if (label && words) label.textContent = words;
  });
  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:after:swap", refresh);

  // From a decision until the next thing is shown, a second press of its key decides nothing.
  const root = document.documentElement;
  let isBehind = false;
  const arrived = (event) => {
    if (event.type === "htmx:after:swap" && event.detail?.ctx?.target?.id !== "main") return;
    delete root.dataset.moving;
    if (isBehind) document.getElementById("live")?.dispatchEvent(new Event("review-changed"));
    isBehind = false;
  };
  // A signal on the way to another thing would bring the list of the one before.
  document.addEventListener("htmx:before:request", (event) => {
    if (!("moving" in root.dataset) || event.detail?.ctx?.sourceElement?.id !== "main") return;
    isBehind = true;
    event.preventDefault();
  });
  document.addEventListener("submit", (event) => {
    if (event.target instanceof Element && event.target.closest(".review, .notice")) root.dataset.moving = "";
  });
  for (const name of ["htmx:after:swap", "htmx:response:error", "htmx:error"]) document.addEventListener(name, arrived);

  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (event.key === "Escape" && isTyping(target) && target?.closest(".review")) {
      target.blur();
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      if ("moving" in root.dataset) return;
      const form = isTyping(target) ? target?.closest("form") : null;
      const button = document.querySelector("[data-confirm]");
      if (form && !form.querySelector("[name=content]")) form.requestSubmit();
      else if (button instanceof HTMLElement) button.click();
      else return;
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target)) return;
    const current = document.querySelector("#queue [aria-current]")?.closest("li");
    if (event.key === "x") current?.querySelector("input")?.click();
    else if (event.key === "Enter" && (!target || target === document.body)) document.querySelector(".detail")?.focus();
    else {
      const choices = [...document.querySelectorAll(`[data-cycle-key="${CSS.escape(event.key)}"] input`)];
      const next = choices[(choices.findIndex((each) => each.checked) + 1) % (choices.length || 1)];
      if (!next) return;
      next.click();
    }
    event.preventDefault();
  });
})();
