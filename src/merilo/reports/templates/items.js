"use strict";
const list = document.getElementById("list");
const articles = Array.from(list.children);
const form = document.getElementById("filters");
const at = (id) => document.getElementById(id);
const filters = Array.from(form.querySelectorAll("[data-filter]"));
const texts = new Map();

function text(article) {
  if (!texts.has(article)) texts.set(article, article.textContent.toLowerCase());
  return texts.get(article);
}

function value(article, name) {
  return name.startsWith("facet") ? article.getAttribute("data-facet-" + name.slice(5)) : article.dataset[name];
}

function fits(article) {
  for (const filter of filters) {
    if (filter.value && value(article, filter.dataset.filter) !== filter.value) return false;
  }
  const range = at("agreement").value;
  if (range) {
    const [low, high] = range.split("-").map(Number);
    const share = article.dataset.agreement === "" ? NaN : Number(article.dataset.agreement);
    const above = low === 0 ? share >= 0 : share > low;
    if (!(above && share <= high)) return false;
  }
  const against = at("against");
  if (against && against.value) {
    const [side, model] = against.value.split(" ");
    const held = (side === "people" ? article.dataset.onlyPeople : article.dataset.onlyModel).split(" ").filter(Boolean);
    if (model === undefined ? held.length === 0 : !held.includes(model)) return false;
  }
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => text(article).includes(word));
}

function apply() {
  let count = 0;
  for (const article of articles) {
    const shown = fits(article);
    article.hidden = !shown;
    if (shown) count += 1;
  }
  at("count").textContent = count + " / " + articles.length;
  at("none").hidden = count > 0;
}

function reorder() {
  const order = at("order").value;
  const key = (article) => (article.dataset.agreement === "" ? 2 : Number(article.dataset.agreement));
  const sorted = articles.slice().sort((a, b) => {
    const by = order === "item" ? 0 : order === "low" ? key(a) - key(b) : key(b) - key(a);
    return by || Number(a.dataset.item) - Number(b.dataset.item);
  });
  list.append(...sorted);
}

function translate() {
  const language = document.querySelector("input[name=language]:checked")?.id.slice(3) ?? document.documentElement.lang;
  document.documentElement.lang = language;
  for (const option of form.querySelectorAll("option[data-en]")) option.textContent = option.dataset[language];
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", apply);
at("order").addEventListener("change", reorder);
for (const input of document.querySelectorAll("input[name=language]")) input.addEventListener("change", translate);
translate();
apply();
