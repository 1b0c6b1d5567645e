// One place of a study without a server: its steps, answers that this browser keeps, and the file to send back.
"use strict";
const place = JSON.parse(document.getElementById("place").textContent);
const steps = [...document.querySelectorAll("[data-step]")];
const first = (step) => steps.findIndex((section) => section.dataset.step === step);
const storeKey = `merilo ${place.study} ${place.respondent}`;
const store = (() => {
  try { window.localStorage.setItem("merilo", "1"); window.localStorage.removeItem("merilo"); return window.localStorage; } catch { return null; }
})();
const random = () => [...crypto.getRandomValues(new Uint8Array(6))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const fresh = () => ({ copy: random(), step: 0, opened: null, feedback: null, declined: false, refused: false, answers: [] });
let state = (() => { try { return JSON.parse(store?.getItem(storeKey) ?? "null") ?? fresh(); } catch { return fresh(); } })();
let clock = null;

const keep = () => {
  try { store.setItem(storeKey, JSON.stringify(state)); } catch { document.getElementById("unkept").hidden = false; }
};

// FNV-1a with 64 bits over UTF-8: what the import computes again.
const seal = (fields) => {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(fields.join("\x1f"))) value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  return value.toString(16).padStart(16, "0");
};

const record = (page, opened, answers) => {
  const submitted = new Date().toISOString();
  for (const { task, answer, mine } of answers) {
    const fields = { study: place.study, task, answer, mine: mine ? "1" : "", respondent: place.respondent, page: `${state.copy}-${page}`, started: opened, submitted };
    state.answers.push({ ...fields, seal: seal([place.keys[task], ...Object.values(fields), state.answers.at(-1)?.seal ?? ""]) });
  }
};
const text = () => `[\n${state.answers.map((answer) => JSON.stringify(answer)).join(",\n")}\n]\n`;

const fieldsOf = (task) => [...task.querySelectorAll("[name^=answer]")];
const answerOf = (task) => {
  const fields = fieldsOf(task);
  if (fields[0].type === "radio" || fields[0].type === "checkbox") return fields.filter((field) => field.checked).map((field) => field.value).join(",");
  const values = fields.map((field) => (field.tagName === "TEXTAREA" ? field.value.trimEnd() : field.value.trim()));
  if (values.some((value) => value === "") || !fields.every((field) => field.checkValidity())) return "";
  return fields[0].inputMode === "text" ? values[0].replace(/[−–]/g, "-") : values.join(",");
};

// A free text is right if its words are like those of a known answer, as the study's baseline compares them.
const plain = (answer) => answer.toLowerCase().replace(/\s+/g, " ").replace(/\.$/, "").trim();
const overlap = (one, other) => {
  const [words, known] = [one, other].map((answer) => plain(answer).match(/[\p{L}\p{N}]+/gu) ?? []);
  const left = [...known];
  const common = words.filter((word) => left.includes(word) && left.splice(left.indexOf(word), 1)).length;
  return common ? (2 * common) / (words.length + known.length) : 0;
};
const isRight = (answer, known) => known.some((text) => plain(text) === plain(answer) || (place.alike < 1 && overlap(answer, text) >= place.alike));
const trained = () => state.answers.filter((answer) => place.training[answer.task] && isRight(answer.answer, place.training[answer.task].known)).length;

const only = (section) => {
  for (const other of document.querySelectorAll("main > section")) other.hidden = other !== section;
  (section.querySelector("h1") ?? section).focus({ preventScroll: true });
  window.scrollTo(0, 0);
};

const showTurns = (section) => {
  const task = section.querySelector("[data-task]")?.dataset.task;
  const dialogue = place.dialogues[task];
  const turns = dialogue ? state.answers.filter((answer) => place.dialogues[answer.task] === dialogue) : [];
  section.querySelector(".earlier").hidden = turns.length === 0;
  section.querySelector(".turns ol").replaceChildren(...turns.map((turn) => {
    const item = document.createElement("li");
    const own = document.createElement("p");
    own.className = "own given";
    own.textContent = `${place.texts.answer}: ${turn.answer}`;
    item.append(document.querySelector(`[data-task="${turn.task}"] .prompt`).cloneNode(true), own);
    return item;
  }));
};

const runClock = (section) => {
  clearInterval(clock);
  const left = section.querySelector("[data-left]");
  if (!left) return;
  const seconds = [...section.querySelectorAll("[data-task]")].map((shown) => place.limits[shown.dataset.task]);
  const end = Date.parse(state.opened) + 1000 * seconds.reduce((sum, limit) => sum + limit, 0);
  const tick = () => {
    const seconds = Math.ceil((end - Date.now()) / 1000);
    left.textContent = seconds > 99 ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` : Math.max(0, seconds);
    if (seconds <= 0) { clearInterval(clock); go(place.texts.over); }
  };
  clock = setInterval(tick, 250);
  tick();
};

const show = (said = "") => {
  const section = steps[state.step];
  const step = section.dataset.step;
  document.querySelector("nav").hidden = ["consent", "instruction"].includes(step) || state.declined;
  document.getElementById("told").textContent = said;
  document.getElementById("copy").value = text();
  if (state.declined || state.refused) return only(document.getElementById(state.declined ? "declined" : "refused"));
  if (state.feedback) return showFeedback();
  if (section.querySelector("form")) {
    state.opened ??= new Date().toISOString();
    keep();
    showTurns(section);
  }
  only(section);
  if (step === "task") runClock(section);
};

const showFeedback = () => {
  const section = document.getElementById("feedback");
  const { task, answer } = state.feedback;
  const { known, hint } = place.training[task];
  const right = isRight(answer, known);
  const [own, true_] = section.querySelectorAll(".given");
  section.querySelector("h1").textContent = right ? `✓ ${place.texts.right}` : `✗ ${place.texts.wrong}`;
  section.querySelector("h1").className = `verdict ${right ? "right" : "wrong"}`;
  own.textContent = answer;
  true_.textContent = known[0];
  section.querySelector(".explained").hidden = right || !place.told;
  section.querySelector(".explained p:last-child").textContent = hint;
  only(section);
};

const go = (said) => {
  clearInterval(clock);
  Object.assign(state, { opened: null, feedback: null, step: Math.min(state.step + 1, steps.length - 1) });
  const start = first("task");
  if (state.step === start && first("training") >= 0 && trained() < place.needed) state.refused = true;
  keep();
  show(said);
};

const save = () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text()], { type: "application/json" }));
  link.download = `${place.respondent.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
};

const actions = {
  next: () => go(),
  decline: () => { state.declined = true; keep(); show(); },
  again: () => { state.declined = false; keep(); show(); },
  reread: () => only(document.getElementById("reread")),
  back: () => show(),
  save,
};
document.addEventListener("click", (event) => actions[event.target.closest("[data-do]")?.dataset.do]?.());

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  const training = steps[state.step].dataset.step === "training";
  const answers = [...form.querySelectorAll("[data-task]")].map((task) => {
    const mine = event.submitter?.value === "mine" || Boolean(task.querySelector("[name^=mine]")?.checked);
    return { task: task.dataset.task, mine, answer: mine ? "" : answerOf(task) };
  });
  const fault = form.querySelector("[data-error]");
  const missing = answers.find(({ answer, mine }) => !answer && !mine);
  fault.hidden = !missing;
  if (missing) {
    fault.textContent = place.texts.missing;
    form.querySelector(`[data-task="${missing.task}"] [name^=answer]`).focus();
    return;
  }
  record(`${training ? "t" : ""}${state.step - first(training ? "training" : "task") + 1}`, state.opened, answers);
  if (!training) { go(); return; }
  state.feedback = answers[0];
  keep();
  show();
});

document.getElementById("unkept").hidden = store !== null;
show();
