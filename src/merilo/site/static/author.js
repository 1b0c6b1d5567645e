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
