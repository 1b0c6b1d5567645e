"use strict";
const at = (id) => document.getElementById(id);
const form = at("filters"), rows = Array.from(document.querySelectorAll("tr[data-f]")), table = at("board");
const choices = form ? Array.from(form.querySelectorAll("select[data-at]")) : [];
function speak() {
  const ru = at("in-ru").checked, from = ru ? /(\d)\.(\d)/g : /(\d),(\d)/g, to = ru ? "$1,$2" : "$1.$2";
  document.documentElement.lang = ru ? "ru" : "en";
  for (const one of document.querySelectorAll("option[data-ru]")) one.textContent = ru ? one.dataset.ru : one.dataset.en;
  for (const cell of document.querySelectorAll("td:not(.t), td:not(.t) small, td b")) for (const node of cell.childNodes) if (node.nodeType === 3) node.data = node.data.replace(from, to);
  for (const link of document.querySelectorAll("a[data-p]")) link.search = ru ? "ru" : "en";
}
function sift() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const held = row.dataset.f.split("|"), name = row.querySelector("th").textContent.toLowerCase();
    row.hidden = !(words.every((word) => name.includes(word)) && choices.every((one) => !one.value || held[one.dataset.at].split(",").includes(one.value)));
    if (!row.hidden) count += 1;
  }
  at("count").textContent = count + " / " + rows.length;
}
function columns() {
  const group = at("group");
  if (!group) return;
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, place) => {
    const of = head.dataset.g;
    if (of === undefined) return;
    const shown = head.dataset.k === undefined ? (group.value === "" || of.split(" ").includes(group.value)) : of === group.value;
    for (const row of table.rows) row.cells[place].hidden = !shown;
  });
}
if (/^\?(ru|en)$/.test(location.search)) at("in-" + location.search.slice(1)).checked = true;
for (const one of document.querySelectorAll("input[name=language]")) one.addEventListener("change", speak);
speak();
if (form) {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { sift(); columns(); });
  sift();
  columns();
}
