// A choice searches at once, addresses stay short, and lists can be paged from the keyboard. All of it works without, too.

for (const form of document.querySelectorAll("form.filters")) {
  form.addEventListener("submit", () => {
    for (const field of form.elements) {
      if (field.name && !field.value) field.disabled = true; // what says nothing need not stand in the address
    }
  });
  for (const field of form.querySelectorAll("select")) {
    field.addEventListener("change", () => form.requestSubmit());
  }
}

// Back from another page: what was left out of the address can be chosen again.
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
  } else {
    const option = document.querySelector(`.option input[data-key="${CSS.escape(event.key.toUpperCase())}"]`);
    if (option) {
      option.checked = true;
      option.focus();
    }
  }
});

// A picture that cannot be opened leaves its place empty rather than broken.
for (const image of document.querySelectorAll("img[src^='/picture']")) {
  const leave = () => image.closest(".picture, .thumb")?.classList.add("lost");
  if (image.complete && !image.naturalWidth) leave();
  image.addEventListener("error", leave);
}

// What takes a while comes after the page.
for (const place of document.querySelectorAll("[data-load]")) {
  fetch(place.dataset.load)
    .then((answer) => answer.text())
    .then((text) => {
      const found = new DOMParser().parseFromString(text, "text/html").querySelector("#paired-table");
      if (found) place.replaceChildren(...found.childNodes);
    })
    .catch(() => {}); // the link stays
}
