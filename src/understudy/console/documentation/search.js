// The search of the static site: sections with every word, by how prominent the words are.
(() => {
  "use strict";
  const script = document.currentScript;
  const list = document.querySelector("#results");
  const query = (new URLSearchParams(location.search).get("q") ?? "").slice(0, 200);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);
  document.querySelector('input[name="q"]').value = query;
  if (!list || !words.length) return;

  const count = (text, word) => Math.min(text.split(word).length - 1, 4);
  const score = (entry) => {
    const [title, heading, text] = [entry.title, entry.heading, entry.text].map((each) => each.toLowerCase());
    const points = words.map((word) => 12 * title.includes(word) + 8 * heading.includes(word) + count(text, word));
    return points.every(Boolean) ? points.reduce((sum, each) => sum + each) : 0;
  };
  const excerpt = (text) => {
    const at = Math.max(0, Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((each) => each >= 0)) - 60);
    const start = Number.isFinite(at) ? at : 0;
    return (start ? "… " : "") + text.slice(start, start + 180) + (start + 180 < text.length ? " …" : "");
  };
  const item = (entry) => {
    const link = Object.assign(document.createElement("a"), { href: entry.href, textContent: entry.heading });
    const title = Object.assign(document.createElement("span"), { className: "muted small", textContent: entry.title });
    const text = Object.assign(document.createElement("p"), { textContent: excerpt(entry.text) });
    const made = document.createElement("li");
    made.append(link, " ", title, text);
    return made;
  };

  fetch(script.dataset.index).then((answer) => answer.json()).then((entries) => {
    const found = entries.map((entry) => [score(entry), entry]).filter(([points]) => points).sort((a, b) => b[0] - a[0]).slice(0, 40);
    list.replaceChildren(...found.map(([, entry]) => item(entry)));
    document.querySelector("#count").textContent = String(found.length);
  });
})();
