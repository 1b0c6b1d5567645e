"use strict";
const at = (id) => document.getElementById(id);
const articles = Array.from(at("list").children);
const key = "merilo-review-" + document.body.dataset.key;
const head = JSON.parse(document.body.dataset.head);
const FORMULA = /^(?:[ \t\r\n]*[=+\-@\u2212\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/;
const NUMBER = /^[+\-\u2212]?(?:[0-9]+|[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+)?(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

const field = (article) => article.querySelector("input[type=text]");
const radio = (article, value) => article.querySelector('input[type=radio][value="' + value + '"]');
const decision = (article) => article.querySelector("input[type=radio]:checked").value;
const revised = (article) => (decision(article) === "wrong" ? field(article).value.trim() : "");

function keep() {
  const kept = {};
  for (const article of articles) {
    if (decision(article)) kept[article.id] = [decision(article), field(article).value];
  }
  try {
    localStorage.setItem(key, JSON.stringify(kept));
    at("trouble").hidden = true;
  } catch {
    at("trouble").hidden = false;
  }
}

function recall() {
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(key)) || {};
  } catch {
    at("trouble").hidden = false;
  }
  for (const article of articles) {
    const [value, text] = kept[article.id] || ["", ""];
    const chosen = radio(article, value);
    if (chosen) chosen.checked = true;
    field(article).value = String(text);
  }
}

function show() {
  let decided = 0;
  for (const article of articles) {
    const value = decision(article);
    if (value) decided += 1;
    article.classList.toggle("decided", value !== "");
    article.querySelector(".answer").hidden = value !== "wrong";
  }
  at("count").textContent = decided + " / " + articles.length;
}

function changed() {
  show();
  keep();
}

function go(article) {
  if (!article) return;
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: "start" });
}

function decide(article, value) {
  radio(article, value).checked = true;
  changed();
  if (value === "wrong") field(article).focus();
  else if (value) go(article.nextElementSibling);
}

function guarded(text) {
  const bare = text.replace(/^'+/, "");
  return FORMULA.test(bare) && !NUMBER.test(bare) ? "'" + text : text;
}

const cell = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

function save() {
  const rows = articles.map((article) => [...JSON.parse(article.dataset.row), decision(article), guarded(revised(article))]);
  const text = [head, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = "decisions.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const DECISIONS = { 1: "wrong", 2: "ambiguous", 3: "fine", 0: "" };

function pressed(event) {
  const article = event.target.closest("article");
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.type === "text") {
    if (event.key === "Enter") go(article.nextElementSibling || article);
    if (event.key === "Escape") go(article);
    return;
  }
  // By the place of the key, so that the keys work in every keyboard layout.
  const digit = /^(?:Digit|Numpad)([0-3])$/.exec(event.code);
  if (digit) decide(article, DECISIONS[digit[1]]);
  else if (event.code === "KeyJ") go(article.nextElementSibling);
  else if (event.code === "KeyK") go(article.previousElementSibling);
  else if (event.code === "KeyS") save();
  else return;
  event.preventDefault();
}

function translate() {
  document.documentElement.lang = at("in-ru").checked ? "ru" : "en";
}

at("bar").hidden = false;
for (const article of articles) article.querySelector("fieldset").hidden = false;
recall();
show();
translate();
at("list").addEventListener("keydown", pressed);
at("list").addEventListener("input", changed);
at("begin").addEventListener("click", () => go(articles.find((article) => !decision(article)) || articles[0]));
at("save").addEventListener("click", save);
at("bar").addEventListener("submit", (event) => event.preventDefault());
for (const input of document.querySelectorAll("input[name=language]")) input.addEventListener("change", translate);
