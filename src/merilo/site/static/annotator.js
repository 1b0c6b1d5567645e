// Keys, the countdown, and an answer that survives a lost connection. Everything else works without this script.
"use strict";
(() => {
  const form = document.getElementById("item");
  if (!form) return;
  const status = document.getElementById("status");
  const storage = (() => { try { return window.localStorage; } catch { return null; } })();
  const key = `merilo ${form.dataset.place}`;
  const fields = () => [...form.elements].filter((one) => one.name === "answer" || one.name === "comment");
  const options = () => fields().filter((one) => one.type === "radio" || one.type === "checkbox");
  let sending = false;
  let over = false;

  const draft = () => fields().map((one) => (one.type === "radio" || one.type === "checkbox" ? one.checked : one.value));
  const keep = (then) => { try { storage?.setItem(key, JSON.stringify({ draft: draft(), then })); } catch { /* storage is full or forbidden */ } };
  const forget = () => { try { storage?.removeItem(key); } catch { /* as above */ } };

  const restore = () => {
    let kept = null;
    try { kept = JSON.parse(storage?.getItem(key) ?? "null"); } catch { return; }
    if (!kept || !Array.isArray(kept.draft)) return;
    fields().forEach((one, at) => {
      if (typeof kept.draft[at] === "boolean") one.checked = kept.draft[at];
      else if (typeof kept.draft[at] === "string") one.value = kept.draft[at];
    });
    if (kept.then) send(kept.then, 0);
  };

  async function send(then, attempt) {
    sending = true;
    keep(then);
    const body = new URLSearchParams(new FormData(form));
    body.set("then", then);
    form.querySelectorAll("button").forEach((one) => { one.disabled = true; });
    let response;
    try {
      response = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" }, credentials: "same-origin" });
    } catch {
      response = null;
    }
    if (response === null || response.status >= 500) {
      status.textContent = status.dataset.offline;
      setTimeout(() => send(then, attempt + 1), Math.min(30000, 1000 * 2 ** attempt));
      return;
    }
    let told = {};
    try { told = await response.json(); } catch { /* an answer of a proxy */ }
    sending = false;
    if (told.next) {
      forget();
      location.assign(told.next);
      return;
    }
    keep(null);
    form.querySelectorAll("button").forEach((one) => { one.disabled = false; });
    status.textContent = told.error ?? `${response.status}`;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (sending || over) return;
    send(event.submitter?.value || "next", 0);
  });
  form.addEventListener("input", () => keep(null));

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || sending || over) return;
    const writes = event.target.matches("textarea, input[type=text]");
    if (/^[1-9]$/.test(event.key) && !writes) {
      const option = options()[Number(event.key) - 1];
      if (!option) return;
      option.checked = option.type === "checkbox" ? !option.checked : true;
      option.focus();
      option.dispatchEvent(new Event("input", { bubbles: true }));
      event.preventDefault();
    } else if (event.key === "Enter" && !event.repeat && (event.target === document.body || event.target.matches("main, input[type=radio], input[type=checkbox]"))) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button.main"));
    }
  });

  if (form.dataset.left !== undefined) {
    const shown = document.getElementById("left");
    const end = performance.now() + 1000 * Number(form.dataset.left);
    const timer = setInterval(() => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      shown.textContent = left;
      if (left > 0) return;
      clearInterval(timer);
      if (sending) return;
      const told = options().length ? options().some((one) => one.checked) : form.checkValidity();
      if (told) { send("next", 0); return; }
      over = true;
      forget();
      form.querySelectorAll("button, input, textarea").forEach((one) => { one.disabled = true; });
      status.textContent = status.dataset.over;
      setTimeout(() => {
        const on = document.createElement("a");
        on.href = form.action;
        on.className = "main";
        on.textContent = status.dataset.next;
        status.append(" ", on);
        on.focus();
      }, 1000 * Number(form.dataset.grace) + 500);
    }, 250);
  }

  window.addEventListener("online", () => { if (sending) status.textContent = status.dataset.sending; });
  restore();
})();
