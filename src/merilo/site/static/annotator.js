// Keys, the countdown, and an answer that survives a lost connection. Everything else works without this script.
"use strict";

// What the script does on one page, until the next one takes its place.
const begin = (gone) => {
  const storage = (() => { try { return window.localStorage; } catch { return null; } })();
  const kept = (key) => { try { return storage?.getItem(key) ?? null; } catch { return null; } };
  const keepAs = (key, text) => { try { storage?.setItem(key, text); } catch { /* storage is full or forbidden */ } };
  const remove = (key) => { try { storage?.removeItem(key); } catch { /* as above */ } };

  const copy = document.getElementById("copy");
  if (copy && navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.querySelector(".code").textContent);
      copy.textContent = copy.dataset.done;
    });
  }

  const form = document.getElementById("item");
  if (!form) return;
  const status = document.getElementById("status");
  const key = `merilo ${form.dataset.place}`;
  const fields = () => [...form.elements].filter((one) => one.name === "answer" || one.name === "comment");
  const options = () => fields().filter((one) => one.type === "radio" || one.type === "checkbox");
  let sending = false;
  let over = false;
  let again = null;

  const draft = () => fields().map((one) => (one.type === "radio" || one.type === "checkbox" ? one.checked : one.value));
  const keep = (then) => keepAs(key, JSON.stringify({ draft: draft(), then }));
  const able = (yes) => form.querySelectorAll("button").forEach((one) => { one.disabled = !yes; });
  const say = (text) => { status.textContent = text; if (text) status.scrollIntoView({ block: "nearest" }); };
  const sayWithLink = (text) => {
    const on = document.createElement("a");
    on.href = form.action;
    on.className = "main";
    on.textContent = status.dataset.next;
    say(text);
    status.append(" ", on);
    on.focus();
  };

  const restore = () => {
    let found = null;
    try { found = JSON.parse(kept(key) ?? "null"); } catch { return; }
    if (!found || !Array.isArray(found.draft)) return;
    fields().forEach((one, at) => {
      if (typeof found.draft[at] === "boolean") one.checked = found.draft[at];
      else if (typeof found.draft[at] === "string") one.value = found.draft[at];
    });
    if (found.then) send(found.then, 0);
  };

  async function send(then, attempt) {
    sending = true;
    again = null;
    keep(then);
    const body = new URLSearchParams(new FormData(form));
    body.set("then", then);
    able(false);
    let response = null;
    let told = {};
    try {
      response = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" }, credentials: "same-origin" });
      told = await response.json();
    } catch { /* no connection, or an answer of a proxy */ }
    if (response?.ok && !told.next) response = null; // the page of a network that wants a sign-in is no acknowledgement
    if (response === null || response.status >= 500 || response.status === 429) {
      say(response?.status === 429 ? told.error ?? status.dataset.offline : told.error ? status.dataset.unsaved : status.dataset.offline);
      const asked = 1000 * Number(response?.headers.get("Retry-After") ?? 0);
      const timer = setTimeout(() => send(then, attempt + 1), Math.max(asked, Math.min(30000, 1000 * 2 ** attempt)));
      again = () => { clearTimeout(timer); send(then, attempt + 1); };
      return;
    }
    sending = false;
    if (told.next) {
      remove(key);
      if (told.page) show(told);
      else location.assign(told.next);
      return;
    }
    keep(null);
    able(true);
    if ([403, 404, 409].includes(response.status)) sayWithLink(told.error ?? `${status.dataset.error} ${response.status}.`);
    else say(told.error ?? `${status.dataset.error} ${response.status}.`);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (sending || over) return;
    send(event.submitter?.value || "next", 0);
  });
  form.addEventListener("input", () => keep(null));
  window.addEventListener("online", () => {
    if (!again) return;
    say(status.dataset.sending);
    again();
  }, { signal: gone });

  // An option is chosen by its own sign if the options are digits or letters, otherwise by its place.
  const choices = options();
  const own = choices.length > 0 && choices.every((one) => /^[\p{L}\p{N}]$/u.test(one.value));
  const numbered = !own || !choices.some((one) => /^\d$/.test(one.value));
  const chosenBy = (event) => {
    const sign = event.key.toUpperCase();
    const letter = /^Key[A-Z]$/.test(event.code) ? event.code.slice(3) : "";
    const same = own && choices.find((one) => [sign, letter].includes(one.value.toUpperCase()));
    return same || (numbered && /^[1-9]$/.test(event.key) && choices[Number(event.key) - 1]) || null;
  };
  if (numbered) {
    choices.slice(0, 9).forEach((one, at) => {
      if (own || one.value === String(at + 1)) return;
      const sign = document.createElement("kbd");
      sign.textContent = at + 1;
      sign.setAttribute("aria-hidden", "true");
      one.parentElement.append(sign);
    });
  }

  const hint = document.querySelector(".keys");
  const onOff = document.getElementById("keys");
  let keysWork = kept("merilo keys") !== "off";
  if (hint) hint.hidden = false;
  if (onOff) {
    const names = [onOff.dataset.off, onOff.textContent];
    const show = () => { onOff.textContent = names[Number(keysWork)]; };
    onOff.addEventListener("click", () => {
      keysWork = !keysWork;
      keepAs("merilo keys", keysWork ? "on" : "off");
      show();
    });
    show();
  }

  document.addEventListener("keydown", (event) => {
    if (sending || over) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button.main"));
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || !keysWork) return;
    if (event.target.matches("textarea, input[type=text]")) return;
    const idle = event.target === document.body || event.target.matches("main, h1, input[type=radio], input[type=checkbox]");
    const option = chosenBy(event);
    const line = document.querySelector("input#answer");
    if (option) {
      option.checked = option.type === "checkbox" ? !option.checked : true;
      option.focus();
      option.dispatchEvent(new Event("input", { bubbles: true }));
      event.preventDefault();
    } else if (event.key === "Enter" && !event.repeat && idle) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button.main"));
    } else if (line && idle && event.key.length === 1 && event.key !== " ") {
      line.focus();
    }
  }, { signal: gone });

  if (form.dataset.left !== undefined) {
    const shown = document.getElementById("left");
    const unit = document.getElementById("unit");
    const soon = document.getElementById("soon");
    const ofUnit = soon.dataset.soon.split(" ").pop();
    const end = performance.now() + 1000 * Number(form.dataset.left);
    gone.addEventListener("abort", () => clearInterval(timer));
    const timer = setInterval(() => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      shown.textContent = left > 99 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : left;
      unit.textContent = left > 99 ? "" : `\u00a0${ofUnit}`;
      if (left <= 10) shown.closest(".clock").classList.add("soon");
      const mark = left <= 10 ? 10 : left <= 30 ? 30 : 0;
      if (mark && soon.dataset.told !== String(mark)) {
        soon.dataset.told = mark;
        soon.textContent = soon.dataset.soon.replace("{}", left);
      }
      if (left > 0) return;
      clearInterval(timer);
      if (sending) return;
      const told = options().length ? options().some((one) => one.checked) : form.checkValidity();
      if (told) { send("next", 0); return; }
      over = true;
      remove(key);
      form.querySelectorAll("button, input, textarea").forEach((one) => { one.disabled = true; });
      say(status.dataset.over);
      setTimeout(() => sayWithLink(status.dataset.over), 1000 * Number(form.dataset.grace) + 500);
    }, 250);
  }

  restore();
};

// Puts the next page, which came with the answer to a sent form, in the place of this one.
let page = new AbortController();
const show = (told) => {
  const next = new DOMParser().parseFromString(told.page, "text/html");
  page.abort();
  page = new AbortController();
  history.replaceState(null, "", told.next);
  document.title = next.title;
  document.documentElement.lang = next.documentElement.lang;
  for (const part of ["header", "main"]) document.querySelector(part).replaceWith(next.querySelector(part));
  window.scrollTo(0, 0);
  const heading = document.querySelector("h1");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true }); // a screen reader reads on from here
  begin(page.signal);
};

begin(page.signal);
