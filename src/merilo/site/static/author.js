// Times in the browser's zone, and buttons that copy a link. Everything works without this script.
"use strict";
(() => {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  for (const one of document.querySelectorAll("time[datetime]")) {
    const at = new Date(one.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    one.title = one.textContent;
    one.textContent = format.format(at);
  }

  const copy = document.getElementById("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById("links").value);
      copy.textContent = copy.dataset.copied;
    });
  }
})();

// Live figures: only the numbers that changed are replaced. The stream is closed while the page is hidden, because a browser opens at most six
// connections to one site.
(() => {
  const status = document.getElementById("live-status");
  if (!status || !window.EventSource) return;
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" });
  const at = document.querySelector("#live-at time");
  let source = null;
  let ended = false;
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const show = (texts) => {
    for (const [name, text] of Object.entries(texts)) {
      const one = document.querySelector(`[data-figure="${name}"]`);
      if (one && one.textContent !== text) one.textContent = text;
    }
    const bar = document.querySelector("[data-figure-value]");
    if (bar) bar.value = Number(texts[bar.dataset.figureValue]);
    const line = document.querySelector("[data-figure-points]");
    if (line) line.setAttribute("points", texts[line.dataset.figurePoints]);
    if (at) at.textContent = format.format(new Date());
  };
  const open = () => {
    if (source || ended || document.hidden) return;
    source = new EventSource(status.dataset.live);
    source.addEventListener("open", () => say(status.dataset.on));
    source.addEventListener("figures", (event) => show(JSON.parse(event.data).shown));
    source.addEventListener("end", () => { ended = true; close(); say(status.dataset.end); });
    source.addEventListener("error", () => say(status.dataset.off));
  };
  const close = () => { if (source) { source.close(); source = null; } };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  open();
})();
