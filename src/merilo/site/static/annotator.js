// Keys, the countdown, and an answer that survives a lost connection. Everything else works without this script.
"use strict";

// Counts and times that the study's plan asks for and the consent page names: no text and no names of keys.
const measure = (task, gone, current) => {
  const told = { pastes: 0, copies: 0, leaves: 0, returns: 0, away_seconds: 0, keys: 0 };
  const gaps = [];
  const began = performance.now();
  let last = null;
  let left = null;
  let back = false;
  const seconds = (from) => Math.round(performance.now() - from) / 1000;
  const quantile = (share) => gaps[Math.min(gaps.length - 1, Math.floor(share * gaps.length))];
  const leave = () => {
    if (left !== null || !current()) return;
    left = performance.now();
    last = null;
    told.leaves += 1;
  };
  const come = () => {
    if (left === null || document.hidden) return;
    told.away_seconds = Math.round(1000 * (told.away_seconds + seconds(left))) / 1000;
    left = null;
    back = true;
  };
  task.addEventListener("input", (event) => {
    if (!event.target.name.startsWith("answer")) return;
    told.first_seconds ??= seconds(began);
    if (back) told.returns += 1;
    back = false;
    if (/^insertFrom(Paste|Drop)/.test(event.inputType ?? "")) told.pastes += 1;
    if (!/^(insertText|insertComposition|insertLineBreak|delete)/.test(event.inputType ?? "")) { last = null; return; }
    told.keys += 1;
    const now = performance.now();
    if (last !== null && gaps.length < 5000) gaps.push(now - last);
    last = now;
  });
  document.addEventListener("copy", () => { if (current()) told.copies += 1; }, { signal: gone });
  document.addEventListener("visibilitychange", () => { if (document.hidden) leave(); else come(); }, { signal: gone });
  window.addEventListener("blur", leave, { signal: gone });
  window.addEventListener("focus", come, { signal: gone });
  return {
    add: (earlier) => { for (const [name, value] of Object.entries(earlier)) told[name] = (told[name] ?? 0) + Number(value); },
    text: () => {
      gaps.sort((one, other) => one - other);
      const rhythm = gaps.length > 1 ? { key_median_ms: Math.round(quantile(0.5)), key_spread_ms: Math.round(quantile(0.75) - quantile(0.25)) } : {};
      return JSON.stringify({ ...told, ...rhythm });
    },
  };
};

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

  const on = document.getElementById("on"); // after feedback, Enter goes on wherever the focus is
  if (on) document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.repeat || event.target.closest("a, button, input")) return;
    event.preventDefault();
    on.click();
  }, { signal: gone });

  const form = document.getElementById("item");
  if (!form) return;
  const status = document.getElementById("status");
  const tasks = [...form.querySelectorAll("[data-task]")];
  const key = (task) => `merilo ${form.dataset.place}:${task.dataset.task}`;
  const ticks = (one) => one.type === "radio" || one.type === "checkbox";
  // The comment of a page with one task stands below the buttons.
  const fields = (task) => [...form.elements].filter((one) => /^(answer|comment|mine)/.test(one.name) && (tasks.length === 1 || task.contains(one)));
  const answers = (task) => fields(task).filter((one) => one.name.startsWith("answer"));
  const options = (task) => answers(task).filter(ticks);
  const answered = (task) => fields(task).some((one) => one.name.startsWith("mine") && one.checked)
    || (options(task).length ? options(task).some((one) => one.checked) : answers(task).every((one) => one.value.trim() !== "" && one.checkValidity()));
  const current = () => tasks.find((one) => one.contains(document.activeElement)) ?? tasks.find((one) => !answered(one)) ?? tasks[0];
  let sending = false;
  let over = false;
  let again = null;
  const told = new Map(tasks.filter((one) => one.querySelector("[name^=signals]")).map((one) => [one, measure(one, gone, () => current() === one)]));

  const draft = (task) => fields(task).map((one) => (ticks(one) ? one.checked : one.value));
  const keep = (then) => tasks.forEach((one) => keepAs(key(one), JSON.stringify({ draft: draft(one), then, signals: told.get(one)?.text() })));
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
    let then = null;
    for (const task of tasks) {
      let found = null;
      try { found = JSON.parse(kept(key(task)) ?? "null"); } catch { continue; }
      if (!found || !Array.isArray(found.draft)) continue;
      try { told.get(task)?.add(JSON.parse(found.signals ?? "{}")); } catch { /* not what this page writes */ }
      fields(task).forEach((one, at) => {
        if (typeof found.draft[at] === "boolean") one.checked = found.draft[at];
        else if (typeof found.draft[at] === "string") one.value = found.draft[at];
      });
      then ??= found.then;
    }
    if (then) send(then, 0);
  };

  async function send(then, attempt) {
    sending = true;
    again = null;
    if (attempt === 0) told.forEach((signals, task) => { task.querySelector("[name^=signals]").value = signals.text(); });
    keep(then);
    const body = new URLSearchParams(new FormData(form));
    body.set("then", then);
    able(false);
    let response = null;
    let reply = {};
    try {
      response = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" }, credentials: "same-origin" });
      reply = await response.json();
    } catch { /* no connection, or an answer of a proxy */ }
    if (response?.ok && !reply.next) response = null; // the page of a network that wants a sign-in is no acknowledgement
    if (response === null || response.status >= 500 || response.status === 429) {
      say(response?.status === 429 ? reply.error ?? status.dataset.offline : reply.error ? status.dataset.unsaved : status.dataset.offline);
      const asked = 1000 * Number(response?.headers.get("Retry-After") ?? 0);
      const timer = setTimeout(() => send(then, attempt + 1), Math.max(asked, Math.min(30000, 1000 * 2 ** attempt)));
      again = () => { clearTimeout(timer); send(then, attempt + 1); };
      return;
    }
    sending = false;
    if (reply.next) {
      keep(null);
      tasks.filter((one) => tasks.length === 1 || answered(one)).forEach((one) => remove(key(one)));
      if (reply.page) show(reply);
      else location.assign(reply.next);
      return;
    }
    keep(null);
    able(true);
    if ([403, 404, 409].includes(response.status)) sayWithLink(reply.error ?? `${status.dataset.error} ${response.status}.`);
    else say(reply.error ?? `${status.dataset.error} ${response.status}.`);
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
  const keysOf = (choices) => {
    const own = choices.length > 0 && choices.every((one) => /^[\p{L}\p{N}]$/u.test(one.value));
    return { own, numbered: !own || !choices.some((one) => /^\d$/.test(one.value)) };
  };
  const chosenBy = (event) => {
    const choices = options(current());
    const { own, numbered } = keysOf(choices);
    const sign = event.key.toUpperCase();
    const letter = /^Key[A-Z]$/.test(event.code) ? event.code.slice(3) : "";
    const same = own && choices.find((one) => [sign, letter].includes(one.value.toUpperCase()));
    return same || (numbered && /^[1-9]$/.test(event.key) && choices[Number(event.key) - 1]) || null;
  };
  for (const choices of tasks.map(options)) {
    const { own, numbered } = keysOf(choices);
    if (numbered) choices.slice(0, 9).forEach((one, at) => {
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

  // Go on to the next task of the page without an answer; after the last one, send the answers.
  const goOn = () => {
    const at = tasks.indexOf(current());
    const next = [...tasks.slice(at + 1), ...tasks.slice(0, at)].find((one) => !answered(one));
    if (!next) { form.requestSubmit(form.querySelector("button.main")); return; }
    (next.querySelector("input.line") ?? next).focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
  };

  document.addEventListener("keydown", (event) => {
    if (sending || over) return;
    if (event.key === "Enter" && tasks.length > 1 && event.target.matches("[data-task] input[type=text]")) {
      event.preventDefault();
      goOn();
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button.main"));
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || !keysWork) return;
    if (event.target.matches("textarea, input[type=text]")) return;
    const idle = event.target === document.body || event.target.matches("main, h1, [data-task], input[type=radio], input[type=checkbox]");
    const option = chosenBy(event);
    const line = current().querySelector("input.line");
    if (option) {
      option.checked = option.type === "checkbox" ? !option.checked : true;
      option.focus();
      option.dispatchEvent(new Event("input", { bubbles: true }));
      event.preventDefault();
    } else if (event.key === "Enter" && !event.repeat && idle) {
      event.preventDefault();
      goOn();
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
      if (tasks.some(answered)) { send("next", 0); return; }
      over = true;
      tasks.forEach((one) => remove(key(one)));
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
