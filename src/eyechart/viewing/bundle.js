// Search and show the examples of a bundle. Parts of the index and shards are scripts that call `bundle`, since pages on disk may load nothing else.

const bundle = {
  about: null,
  index_parts: new Map(),
  shard_parts: new Map(),
  index(number, part) { this.index_parts.set(number, part); },
  shard(number, part) { this.shard_parts.set(number, part); },
  begin(about) { this.about = about; show(); },
};
const PAGE = 50;
let latest = 0; // the search that may draw

function load(kind, number) {
  if (bundle[`${kind}_parts`].has(number)) return Promise.resolve(bundle[`${kind}_parts`].get(number));
  return new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = `data/${kind}-${number}.js`;
    script.addEventListener("load", () => done(bundle[`${kind}_parts`].get(number)));
    script.addEventListener("error", () => fail(new Error(`data/${kind}-${number}.js is missing: copy the whole folder`)));
    document.head.append(script);
  });
}

// An element with attributes and children; text is never read as HTML.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const wanted = () => new URLSearchParams(location.hash.slice(1));
const hash = (changes) => {
  const words = wanted();
  for (const [name, value] of Object.entries(changes)) value === null || value === "" ? words.delete(name) : words.set(name, value);
  return `#${words}`;
};

function fate(right) {
  const [sign, word, kind] = right === "1" ? ["✓", "right", " right"] : right === "0" ? ["✕", "wrong", " wrong"] : ["–", "not scored", ""];
  return make("span", { class: `fate${kind}` }, make("span", { "aria-hidden": "true" }, sign), make("span", { class: "aside" }, word));
}

const kept = {
  right: (said, right) => right === "1",
  wrong: (said, right) => right === "0",
  unanswered: (said) => said === null || said === undefined,
};

// The numbers of the examples that match, in the order of the data, or the worst first by the value of an audit.
async function find(words, told) {
  const { examples, perIndex } = bundle.about;
  const [text, model, kind, audit] = ["text", "model", "fate", "audit"].map((name) => words.get(name) ?? "");
  if (!text && !(model && (kind || audit))) return { total: examples, at: (n) => n };
  const found = [];
  const parts = Math.ceil(examples / perIndex);
  for (let number = 0; number < parts; number += 1) {
    told(`Searching: part ${number + 1} of ${parts}`);
    const part = await load("index", number);
    const values = part.values[model]?.[audit];
    part.id.forEach((id, row) => {
      const sought = text.toLowerCase();
      if (text && !(part.question[row] ?? "").toLowerCase().includes(sought) && (part.answer[row] ?? "").toLowerCase() !== sought && id.toLowerCase() !== sought) return;
      if (model && kind && !kept[kind]?.(part.said[model]?.[row], part.right[model]?.[row])) return;
      const value = values?.[row] ?? null;
      if (model && audit && value === null) return;
      found.push([number * perIndex + row, value]);
    });
  }
  const way = bundle.about.better[audit] === "higher" ? 1 : -1;
  if (model && audit) found.sort((one, other) => way * (one[1] - other[1]) || one[0] - other[0]);
  return { total: found.length, at: (n) => found[n][0] };
}

function pager(page, total) {
  const last = Math.max(1, Math.ceil(total / PAGE));
  const step = (to, rel, label) => to < 1 || to > last ? make("span", {}, label) : make("a", { rel, href: hash({ page: to }) }, label);
  const [from, until] = [total ? (page - 1) * PAGE + 1 : 0, Math.min(page * PAGE, total)];
  return make("nav", { class: "pager", "aria-label": "Pages of this list" }, step(page - 1, "prev", "← Previous"),
    make("p", {}, `${from.toLocaleString("en")} to ${until.toLocaleString("en")} of `, make("strong", {}, total.toLocaleString("en"))), step(page + 1, "next", "Next →"));
}

const address = (picture) => `pictures/${Math.floor(picture / 1000)}/${picture}.webp`;

async function list(words, told) {
  const { total, at } = await find(words, told);
  const page = Math.min(Math.max(1, Number(words.get("page")) || 1), Math.max(1, Math.ceil(total / PAGE)));
  const model = words.get("model") ?? "";
  const body = make("tbody");
  for (let place = (page - 1) * PAGE; place < Math.min(page * PAGE, total); place += 1) {
    const n = at(place);
    const part = await load("index", Math.floor(n / bundle.about.perIndex));
    const row = n % bundle.about.perIndex;
    const picture = part.picture[row];
    body.append(make("tr", {},
      make("td", { class: "small" }, picture === null ? null : make("a", { class: "thumb", href: `#n=${n}`, tabindex: "-1", "aria-hidden": "true" }, make("img", { src: address(picture), alt: "", loading: "lazy", width: "96", height: "72" }))),
      make("td", { class: "question" }, make("a", { href: `#n=${n}` }, part.question[row] || part.id[row]), make("small", {}, part.id[row])),
      make("td", { "data-label": "reference" }, part.answer[row] ?? ""),
      model ? make("td", { "data-label": "answer" }, fate(part.right[model]?.[row]), " ", part.said[model]?.[row] ?? "not asked") : null));
  }
  const heads = ["question", "reference", ...(model ? [model] : [])].map((name) => make("th", { scope: "col" }, name));
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, make("span", { class: "aside" }, "picture")), ...heads));
  return total ? [pager(page, total), make("table", { class: "list pictured" }, head, body), pager(page, total)]
    : [make("p", { class: "sentence nothing" }, "No example matches.")];
}

function drawHidden(boxes, width, height) {
  const space = "http://www.w3.org/2000/svg";
  const drawn = document.createElementNS(space, "svg");
  drawn.setAttribute("class", "boxes covered");
  drawn.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawn.setAttribute("aria-hidden", "true");
  for (const [left, top, right, bottom] of boxes) {
    const box = document.createElementNS(space, "rect");
    for (const [name, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) box.setAttribute(name, value);
    drawn.append(box);
  }
  return drawn;
}

function seen(part, row, condition) {
  const shown = part.shown[condition] ?? {};
  const other = shown.picture?.[row] ?? null; // a list: of the picture of another example, or of none
  const picture = other === null ? part.picture[row] : other[0] ?? null;
  const hidden = shown.hidden?.[row] ?? null;
  const notes = [];
  if (hidden?.length) notes.push(`${hidden.length} covered ${hidden.length === 1 ? "box was" : "boxes were"} hidden (${shown.removal?.[row] ?? "hidden"})`);
  else if (shown.removal?.[row]) notes.push(`edited: ${shown.removal[row]}; shown whole here`);
  const asked = shown.question?.[row] ?? null;
  if (asked !== null) notes.push(asked.length ? `asked instead: ${asked[0]}` : "the question is hidden");
  if (shown.offered?.[row]) notes.push(`options: ${shown.offered[row].join(" · ")}`);
  const [width, height] = [part.width?.[row], part.height?.[row]];
  const place = picture === null ? make("p", { class: "no-picture" }, other === null ? "No picture here." : "No picture is shown.")
    : make("figure", { class: "picture large" }, make("img", { src: address(picture), alt: `the picture under ${condition}`, width: other === null ? width : null, height: other === null ? height : null }));
  if (hidden?.length && width && height && other === null && picture !== null) place.append(drawHidden(hidden, width, height));
  return [place, make("p", { class: "note" }, notes.join("; "))];
}

async function example(n, words) {
  const { perShard, conditions, families } = bundle.about;
  const part = await load("shard", Math.floor(n / perShard));
  const row = n % perShard;
  const asked = conditions.filter((name) => part.shown[name]?.asked?.[row] || Object.values(part.given).some((own) => (own[name]?.said[row] ?? null) !== null));
  const condition = asked.includes(words.get("condition")) ? words.get("condition") : asked[0] ?? "plain";
  const named = (name) => [make("span", { class: `dot of-${families[name]}`, "aria-hidden": "true" }), name];
  const links = asked.map((name) => make("a", { href: hash({ condition: name }), "aria-current": name === condition ? "true" : null }, ...named(name)));
  const people = new Map();
  for (const text of part.answers?.[row] ?? []) people.set(text, (people.get(text) ?? 0) + 1);
  const facts = [["reference", part.answer[row]], ["options", part.choices?.[row]?.join(" · ")], ["people said", [...people].map(([text, count]) => `${text} × ${count}`).join(", ")],
    ["split", part.split?.[row]], ["question_type", part.question_type?.[row]]].filter(([, value]) => value);
  const models = Object.keys(part.given).filter((model) => asked.some((name) => name in part.given[model]));
  const rows = asked.map((name) => make("tr", { class: name === condition ? "here" : null }, make("th", { scope: "row" }, make("a", { href: hash({ condition: name }) }, ...named(name))),
    ...models.map((model) => {
      const given = part.given[model][name];
      const said = given?.said[row] ?? null;
      return make("td", { "data-label": model }, ...(said === null ? [] : [fate(given.right[row]), " ", part.texts[said]]));
    })));
  const table = make("table", { class: "list stacked" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "condition"), ...models.map((model) => make("th", { scope: "col" }, model)))), make("tbody", {}, ...rows));
  return [
    make("p", { class: "crumb" }, make("a", { href: "#" }, "Examples"), make("span", {}, part.id[row])),
    make("h2", { class: "sentence" }, part.question[row] || "(no question)"),
    make("div", { class: "example" },
      make("section", { "aria-label": "What is shown" }, ...seen(part, row, condition), links.length > 1 ? make("nav", { class: "switch", "aria-label": "Condition" }, ...links) : null),
      make("section", { "aria-label": "Facts" }, make("dl", { class: "settings plain" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))))),
    make("h2", {}, "What the models said"),
    models.length ? make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What the models said" }, table) : make("p", {}, "No model was asked about it."),
  ];
}

async function show() {
  const mine = latest += 1;
  const words = wanted();
  const progress = document.getElementById("progress");
  const form = document.querySelector("form.filters");
  for (const field of form.elements) if (field.name) field.value = words.get(field.name) ?? "";
  form.hidden = words.has("n");
  const told = (text) => { if (mine === latest) progress.textContent = text; };
  let content;
  try {
    content = words.has("n") ? await example(Math.min(Math.max(0, Number(words.get("n")) || 0), bundle.about.examples - 1), words) : await list(words, told);
    told("");
  } catch (error) {
    told(error.message);
    content = [];
  }
  if (mine === latest) document.getElementById("list").replaceChildren(...content);
}

addEventListener("hashchange", show);
const form = document.querySelector("form.filters");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const words = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  location.hash = words.toString();
});
for (const field of form.querySelectorAll("select")) field.addEventListener("change", () => form.requestSubmit());
