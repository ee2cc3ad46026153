// Search as soon as something is chosen, keep addresses short, and page through lists from the keyboard. Everything works without this script too.

for (const form of document.querySelectorAll("form.filters[action]")) {
  form.addEventListener("submit", () => {
    for (const field of form.elements) {
      if (field.name && !field.value) field.disabled = true; // keep empty fields out of the address
    }
  });
  for (const field of form.querySelectorAll("select")) {
    field.addEventListener("change", () => form.requestSubmit());
  }
}

// When coming back from another page, let the fields left out of the address be chosen again.
addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form.filters :disabled")) field.disabled = false;
});

const keys = { n: "a[rel=next]", p: "a[rel=prev]" };

addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=radio]), select, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    document.querySelector("input[type=search]")?.focus();
    event.preventDefault();
  } else if (event.key in keys) {
    document.querySelector(keys[event.key])?.click();
  } else if (document.getElementById(`scene-${event.key}`)) {
    document.getElementById(`scene-${event.key}`).click(); // what is shown of the example
  } else {
    const option = document.querySelector(`.option input[data-key="${CSS.escape(event.key.toUpperCase())}"]`);
    if (option) {
      option.checked = true;
      option.focus();
    }
  }
});

// Show an empty place instead of a broken picture.
for (const image of document.querySelectorAll("img[src^='/picture']")) {
  const leave = () => image.closest(".picture, .thumb")?.classList.add("lost");
  if (image.complete && !image.naturalWidth) leave();
  image.addEventListener("error", leave);
}

// Load slow parts after the page.
for (const place of document.querySelectorAll("[data-load]")) {
  fetch(place.dataset.load)
    .then((answer) => answer.text())
    .then((text) => {
      const found = new DOMParser().parseFromString(text, "text/html").querySelector("#loaded");
      if (found) place.replaceChildren(...found.childNodes);
    })
    .catch(() => {}); // the link stays
}
