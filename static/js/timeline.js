/* Brings the timelines of a page to life: playing, scrubbing, explanations, copies, PNG. The picture, its numbers
   and its table come from the server and are complete without this. */

import { copyText, savePng } from "./timeline/export.js";
import { Explainer } from "./timeline/explain.js";
import { Player } from "./timeline/player.js";

const figures = new WeakMap();

class Timeline {
  constructor(figure) {
    this.figure = figure;
    this.words = JSON.parse(figure.querySelector("[data-timeline-words]").textContent);
    this.data = JSON.parse(figure.querySelector("[data-timeline-data]").textContent);
    for (const part of figure.querySelectorAll("[data-controls], [data-clock], [data-now], [data-copy], [data-png]")) {
      part.hidden = false;
    }
    this.attach();
    figure.addEventListener("click", (event) => this.click(event));
    figure.querySelector("[data-speed]").addEventListener("change", (event) => {
      this.player.speed = Number(event.target.value);
    });
    figure.dataset.ready = "";
  }

  /* Takes hold of the picture, again after it was swapped for another zoom. */
  attach() {
    const svg = this.figure.querySelector("svg.tl-svg");
    if (svg === this.svg) return;
    const time = this.player?.time ?? 0;
    this.player?.pause();
    this.svg = svg;
    this.player = new Player(this.figure, svg, this.data, this.words);
    this.player.speed = Number(this.figure.querySelector("[data-speed]").value);
    this.explainer = new Explainer(this.figure, svg, this.data, this.words, this.player);
    if (time > 0) this.player.moveTo(time);
  }

  click(event) {
    const button = event.target.closest("button");
    if (!button) return;
    if ("play" in button.dataset) this.player.toggle();
    else if (button.dataset.step) this.player.step(Number(button.dataset.step));
    else if (button.dataset.copy !== undefined) {
      const link = button.dataset.copyKind === "link";
      copyText(button, link ? window.location.origin + button.dataset.copy : button.dataset.copy);
    } else if (button.dataset.png) savePng(this.svg, button.dataset.png);
  }
}

function start(root) {
  const own = root.closest?.("[data-timeline]");
  if (own) (figures.get(own) ?? remember(own)).attach();
  for (const figure of root.querySelectorAll?.("[data-timeline]") ?? []) figures.get(figure)?.attach() ?? remember(figure);
}

function remember(figure) {
  const timeline = new Timeline(figure);
  figures.set(figure, timeline);
  return timeline;
}

/* A new figure takes over what was open and switched on in the old one. */
let kept = null;

document.addEventListener("htmx:beforeSwap", (event) => {
  const figure = event.detail.target.querySelector?.("[data-timeline]");
  if (!figure) return;
  kept = {
    id: figure.id,
    critical: figure.querySelector(".timeline-critical").checked,
    open: [...figure.querySelectorAll("details[open]")].map((details) => details.className),
  };
});

document.addEventListener("htmx:load", (event) => {
  const root = event.detail.elt;
  start(root);
  const figure = kept && (root.id === kept.id ? root : root.querySelector?.(`[id="${CSS.escape(kept.id)}"]`));
  if (!figure?.matches("[data-timeline]")) return;
  figure.querySelector(".timeline-critical").checked = kept.critical;
  for (const details of figure.querySelectorAll("details")) {
    if (kept.open.includes(details.className)) details.open = true;
  }
  kept = null;
});

document.addEventListener("htmx:beforeCleanupElement", (event) => {
  figures.get(event.detail.elt)?.player.pause();
});

start(document);
