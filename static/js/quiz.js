/* Keys for the quiz.

   A key presses the control that names it in `data-key`; without this file the same controls are links and buttons.
   Keys do nothing while one types, composes with an input method, or holds a modifier. After a swap the
   focus goes to what is new, so that neither the keyboard nor a screen reader loses its place. */

const isTyping = (event) =>
  event.isComposing ||
  event.keyCode === 229 ||
  (event.target instanceof Element && event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null);

const nameOf = (event) => (event.key === " " ? "Space" : event.key.length === 1 ? event.key.toLowerCase() : event.key);

/* Space and Enter belong to the control that has the focus, where there is one. */
const isOwnKey = (event, name) =>
  (name === "Space" || name === "Enter") && event.target instanceof Element && event.target.closest("button, a, summary, input") !== null;

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
  const name = nameOf(event);
  if (isOwnKey(event, name)) return;
  const control = [...document.querySelectorAll("[data-key]")].find((element) => element.dataset.key.split(" ").includes(name));
  if (!control || control.disabled || !control.checkVisibility()) return;
  event.preventDefault();
  control.click();
});

const card = () => document.getElementById("quiz-card");

const focusCard = () => {
  const box = card()?.querySelector("[data-focus-first]");
  /* On a touch screen a focused box opens the keyboard over the question. */
  const target = box && matchMedia("(pointer: fine)").matches ? box : [...(card()?.querySelectorAll("[data-focus]") ?? [])].pop();
  target?.focus({ preventScroll: true });
  target?.scrollIntoView({ block: "nearest" });
};

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target instanceof Element && (event.target.id === "quiz-card" || card()?.contains(event.target))) focusCard();
});

if (card()) focusCard();
