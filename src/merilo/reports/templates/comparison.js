"use strict";
const russian = document.getElementById("in-ru"), table = document.getElementById("board");
function speak() { document.documentElement.lang = russian.checked ? "ru" : "en"; }
for (const one of document.querySelectorAll("input[name=language]")) one.addEventListener("change", speak);
speak();
if (table) {
  const models = table.tBodies[1], heads = Array.from(table.tHead.rows[0].cells), rows = Array.from(models.rows);
  const held = (row, place) => {
    const cell = row.cells[place];
    return place ? (cell.dataset.v === undefined ? -Infinity : Number(cell.dataset.v)) : cell.textContent.toLowerCase();
  };
  const sort = (place) => {
    const before = heads[place].getAttribute("aria-sort");
    const falling = before ? before === "ascending" : place > 0;
    for (const one of heads) one.removeAttribute("aria-sort");
    heads[place].setAttribute("aria-sort", falling ? "descending" : "ascending");
    rows.sort((one, other) => {
      const first = held(one, place), second = held(other, place);
      return (first < second ? -1 : first > second ? 1 : 0) * (falling ? -1 : 1);
    });
    models.append(...rows);
  };
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(place));
  });
}
