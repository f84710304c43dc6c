"use strict";

// Sorting: each header button sorts its column by the cells' data-value, numbers as numbers.
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = header.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") === "descending" ||
        (!header.hasAttribute("aria-sort") && !header.classList.contains("number"));
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", down ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = (a, b) => {
        const [x, y] = [value(a), value(b)];
        // What was not measured comes last either way.
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : Number(x) - Number(y);
        return down ? order : -order;
      };
      const body = table.tBodies[0];
      body.append(...[...body.rows].sort(compare));
    });
  });
}

// Following a link to a tensor opens it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", reveal);
reveal();

// Heat maps: two hexadecimal digits a cell. 0 is no error, 255 not finite, between them the
// logarithm of the error from the lowest to the highest shown.
const dark = matchMedia("(prefers-color-scheme: dark)");
const maps = [...document.querySelectorAll(".heat canvas")];

function color(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

function draw() {
  const [cold, middle, hot, bad] = ["--cold", "--middle", "--hot", "--nonfinite"].map(color);
  const mix = (a, b, t) => a.map((from, i) => Math.round(from + (b[i] - from) * t));
  const shade = (level) => {
    if (level === 255) return bad;
    const t = level / 254;
    return t < 0.5 ? mix(cold, middle, 2 * t) : mix(middle, hot, 2 * t - 1);
  };
  for (const canvas of maps) {
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    const cells = canvas.dataset.cells;
    for (let i = 0; i < canvas.width * canvas.height; i++) {
      const level = parseInt(cells.slice(2 * i, 2 * i + 2), 16);
      image.data.set([...shade(level), 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  }
}
dark.addEventListener("change", draw);
draw();

for (const canvas of maps) {
  const readout = canvas.closest(".heat").querySelector(".readout");
  const { cells, low, high, rows, columns } = canvas.dataset;
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const at = (place, extent, count) => Math.min(count - 1, Math.floor(place / extent * count));
    const x = at(event.clientX - box.left, box.width, canvas.width);
    const y = at(event.clientY - box.top, box.height, canvas.height);
    const span = (cell, count, extent) => {
      const first = Math.ceil(cell * extent / count);
      const last = Math.ceil((cell + 1) * extent / count) - 1;
      return first === last ? `${first}` : `${first}–${last}`;
    };
    const i = y * canvas.width + x;
    const level = parseInt(cells.slice(2 * i, 2 * i + 2), 16);
    const error = level === 0 ? "no error" : level === 255 ? "not finite on one side"
      : `error ≈ ${(low * (high / low) ** ((level - 1) / 253)).toExponential(1)}`;
    readout.textContent =
      `row ${span(y, canvas.height, rows)}, column ${span(x, canvas.width, columns)}: ${error}`;
  });
  canvas.addEventListener("mouseleave", () => { readout.textContent = ""; });
}
