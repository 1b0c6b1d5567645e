"use strict";
function sortable(table) {
  const models = table.tBodies[1], heads = Array.from(table.tHead.rows[0].cells), rows = Array.from(models.rows);
  const value = (row, place) => {
    const cell = row.cells[place];
    return place ? (cell.dataset.v === undefined ? -Infinity : Number(cell.dataset.v)) : cell.textContent.toLowerCase();
  };
  const sort = (place) => {
    const before = heads[place].getAttribute("aria-sort");
    const falling = before ? before === "ascending" : place > 0;
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[place].setAttribute("aria-sort", falling ? "descending" : "ascending");
    rows.sort((one, other) => {
      const first = value(one, place), second = value(other, place);
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
document.querySelectorAll(".board").forEach(sortable);
