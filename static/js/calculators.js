/* Small comforts of the calculator pages: copy buttons, and `aria-invalid` kept in step with the messages that htmx
   puts at the fields. Everything else is the form itself. */

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text, className: "visually-hidden" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.dataset.done = "true";
  setTimeout(() => delete button.dataset.done, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy], [data-copy-link]");
  if (!button) return;
  const { copy: from, copyLink } = button.dataset;
  copy(button, copyLink ? new URL(copyLink, location.href).href : document.querySelector(from).value);
});

function enhance(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden], [data-copy-link][hidden]")) button.hidden = false;
}

function mark() {
  for (const message of document.querySelectorAll(".calculator-field .field-error")) {
    const box = document.getElementById(message.id.replace(/-error$/, ""));
    if (!box) continue;
    if (message.textContent.trim()) box.setAttribute("aria-invalid", "true");
    else box.removeAttribute("aria-invalid");
  }
}

enhance(document);
document.addEventListener("htmx:load", (event) => enhance(event.detail.elt));
document.addEventListener("htmx:afterRequest", () => requestAnimationFrame(mark));
