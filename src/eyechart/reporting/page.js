// Draw charts when they are opened and scroll into view, and let charts and tables be saved. Findings, matrix and example need no script.

// No styles of the library's own: the page's policy lets only ours in, and style.css has a tooltip.
const DRAWING = { actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: { disableDefaultStyle: true } };

async function draw(figure) {
  const place = figure.querySelector(".chart");
  const spec = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  const live = document.createElement("div");
  try {
    await window.vegaEmbed(live, spec, DRAWING);
  } catch {
    place.textContent = "This chart could not be drawn.";
    return;
  }
  const svg = live.querySelector("svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", figure.querySelector("figcaption strong").textContent);
  place.replaceChildren(live);
  figure.dataset.chart = "live";
}

// Colours are variables of this page; a saved file needs their values, in the light scheme, because its background is white.
function asFile(svg) {
  const copy = svg.cloneNode(true);
  for (const element of copy.querySelectorAll("[fill], [stroke]")) {
    for (const name of ["fill", "stroke"]) {
      const paint = element.getAttribute(name);
      if (paint) element.setAttribute(name, paint.replace(/^var\([^,]+, (.+)\)$/, "$1"));
    }
  }
  const size = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", size.width);
  copy.setAttribute("height", size.height);
  copy.setAttribute("font-family", "sans-serif");
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function savePicture(figure, kind) {
  const svg = figure.querySelector(".chart svg");
  const name = figure.querySelector("figcaption strong").textContent.replace(/[^\w]+/g, "-").toLowerCase();
  const file = asFile(svg);
  if (kind === "svg") {
    save(file, `${name}.svg`);
    return;
  }
  const size = svg.getBoundingClientRect();
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * size.width;
    canvas.height = 2 * size.height;
    const pen = canvas.getContext("2d");
    pen.fillStyle = "white";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, `${name}.png`));
    URL.revokeObjectURL(image.src);
  };
  image.src = URL.createObjectURL(file);
}

const escaped = { "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}",
  "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\\": "\\textbackslash{}" };

const writers = {
  csv: (rows) => rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",")),
  md: ([head, ...rows]) =>
    [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map((cell) => cell.replace(/[\\`*~$|<]|\[(?![-\u2212\d., %]*\])/g, "\\$&")).join(" | ")} |`),
  tex: (rows) => {
    const lines = rows.map((row) => row.map((cell) => cell.replace(/[&%$#_{}~^\\]/g, (sign) => escaped[sign])).join(" & ") + " \\\\");
    return [`\\begin{tabular}{${"l".repeat(rows[0].length)}}`, "\\toprule", lines[0], "\\midrule", ...lines.slice(1), "\\bottomrule", "\\end{tabular}"];
  },
};

function saveTable(table, kind) {
  const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim().replace(/\s+/g, " ")));
  save(new Blob([writers[kind](rows).join("\n") + "\n"], { type: "text/plain" }), `eyechart.${kind}`);
}

const kinds = { csv: "CSV", md: "Markdown", tex: "LaTeX", svg: "SVG", png: "PNG" };

// Offer only what works with this script.
function offer(place, kind) {
  const shown = place.previousElementSibling; // a table or a chart, in a region with its name
  const region = shown.closest("[aria-label]") ?? place.closest("figure").querySelector(".chart");
  const button = document.createElement("button");
  const aside = document.createElement("span");
  aside.className = "aside";
  aside.textContent = ` of ${region.getAttribute("aria-label")}`;
  button.type = "button";
  button.className = "save";
  button.dataset.save = kind;
  button.append(kinds[kind], aside);
  button.addEventListener("click", () => {
    if (kind in writers) saveTable(shown.querySelector("table"), kind);
    else savePicture(place.closest("figure"), kind);
  });
  place.append(button, " ");
}

function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.textContent), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

const watcher = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (isIntersecting) {
      watcher.unobserve(target);
      draw(target);
    }
  }
}, { rootMargin: "400px" });

function furnish(part) {
  for (const place of part.querySelectorAll("[data-files]")) {
    for (const kind of place.dataset.files.split(" ")) offer(place, kind);
  }
  part.querySelectorAll("figure[data-chart]").forEach((figure) => watcher.observe(figure));
}

furnish(document);

// What is folded becomes part of the page when it is opened, so that a page of a hundred tables opens at once.
addEventListener("toggle", async ({ target }) => {
  const waiting = target.matches("details[data-later]") ? target.querySelector(":scope > script") : null;
  if (!waiting) return;
  waiting.remove();
  const content = document.createElement("template");
  content.innerHTML = await unpack(waiting);
  target.append(content.content);
  furnish(target);
}, true);

for (const button of document.querySelectorAll("button[data-packed]")) {
  const packed = document.getElementById(button.dataset.packed);
  button.addEventListener("click", async () => save(new Blob([await unpack(packed)], { type: "text/csv" }), button.dataset.name));
}

// A link to a folded part opens it.
function unfold() {
  const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (part?.matches("details")) part.open = true;
}
addEventListener("hashchange", unfold);
unfold();

// The keys 1, 2, 3 ... change what is shown of the example.
addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  if (ctrlKey || metaKey || altKey || target.matches("input:not([type=radio]), select, textarea")) return;
  const scene = document.getElementById(`scene-${key}`);
  scene?.click();
  scene?.focus({ preventScroll: true });
});

document.querySelector("[data-print]")?.addEventListener("click", () => print());
