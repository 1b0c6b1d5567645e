"use strict";
const table = document.getElementById("board"), models = table.tBodies[table.tBodies.length - 1];
const heads = Array.from(table.tHead.rows[0].cells), rows = Array.from(models.rows);
const russian = document.getElementById("in-ru");
function held(row, place) {
  const cell = row.cells[place];
  return place ? (cell.dataset.v === undefined ? -Infinity : Number(cell.dataset.v)) : cell.textContent.toLowerCase();
}
function sort(place) {
  const head = heads[place], before = head.getAttribute("aria-sort");
  const falling = before ? before === "ascending" : place > 0;
  for (const one of heads) one.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  rows.sort((one, other) => {
    const first = held(one, place), second = held(other, place);
    return (first < second ? -1 : first > second ? 1 : 0) * (falling ? -1 : 1);
  });
  models.append(...rows);
}
heads.forEach((head, place) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => sort(place));
});
function speak() { document.documentElement.lang = russian.checked ? "ru" : "en"; }
for (const one of document.querySelectorAll("input[name=language]")) one.addEventListener("change", speak);
speak();
