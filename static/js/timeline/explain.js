/* What a block is and why a gap is there: on hover, on focus, and said aloud on a click or Enter.

   Blocks and gaps form one tab stop; the arrow keys move along a lane and between lanes. */

import { written } from "./player.js";

const PART = "[data-op], [data-gap]";

export class Explainer {
  constructor(figure, svg, data, words, player) {
    this.figure = figure;
    this.svg = svg;
    this.data = data;
    this.words = words;
    this.player = player;
    this.tip = figure.querySelector("[data-tip]");
    this.now = figure.querySelector("[data-now]");
    this.prepare();
    this.listen();
  }

  /* Hover titles become names for screen readers: the tip says the same, and sooner. */
  prepare() {
    const root = this.svg.querySelector(":scope > title");
    if (root) {
      this.svg.setAttribute("aria-label", root.textContent);
      this.svg.removeAttribute("aria-labelledby");
      root.remove();
    }
    this.lanes = [];
    const found = new Map();
    for (const node of this.svg.querySelectorAll(PART)) {
      const title = node.querySelector(":scope > title");
      if (title) {
        if (!node.hasAttribute("aria-label")) node.setAttribute("aria-label", title.textContent);
        title.remove();
      }
      node.setAttribute("role", node.dataset.gap === undefined ? "img" : "button");
      node.setAttribute("tabindex", "-1");
      const { track, start, lane } = this.known(node);
      const key = `${track} ${lane}`;
      if (!found.has(key)) {
        found.set(key, []);
        this.lanes.push(found.get(key));
      }
      found.get(key).push({ node, start });
    }
    const height = (lane) => lane[0].node.getBBox().y;
    this.lanes.sort((one, other) => height(one) - height(other));
    for (const lane of this.lanes) lane.sort((one, other) => one.start - other.start);
    this.lanes[0]?.[0].node.setAttribute("tabindex", "0");
  }

  known(node) {
    const track = Number(node.closest("[data-track]").dataset.track);
    const { operations, gaps } = this.data.tracks[track];
    if (node.dataset.gap !== undefined) {
      const [start, end, lane, why] = gaps[node.dataset.gap];
      return { track, start, end, lane, why, isGap: true };
    }
    const [label, start, end, lane, needs, blocker, detail] = operations[node.dataset.op];
    return { track, label, start, end, lane, needs, blocker, detail, isGap: false };
  }

  listen() {
    const { svg } = this;
    /* Focus is heard by the box: an SVG with such a listener becomes a tab stop of its own in Chromium. */
    const box = svg.closest("[data-box]");
    svg.addEventListener("pointerover", (event) => {
      const part = event.target.closest(PART);
      if (part && event.pointerType === "mouse") this.show(part);
    });
    svg.addEventListener("pointerout", (event) => {
      if (!event.relatedTarget?.closest?.(PART)) this.hide();
    });
    box.addEventListener("focusin", (event) => {
      const part = event.target.closest(PART);
      if (!part) return;
      for (const other of svg.querySelectorAll(`${PART.split(", ").map((one) => `${one}[tabindex="0"]`).join(", ")}`)) {
        if (other !== part) other.setAttribute("tabindex", "-1");
      }
      part.setAttribute("tabindex", "0");
      if (part.matches(":focus-visible")) this.show(part);
    });
    box.addEventListener("focusout", () => this.hide());
    svg.addEventListener("click", (event) => {
      const part = event.target.closest(PART);
      if (part) this.say(part);
    });
    box.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const part = event.target.closest(PART);
    if (!part || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || (event.key === " " && part.dataset.gap !== undefined)) this.say(part);
    else if (event.key === "Escape") this.hide();
    else if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") this.walk(part, event.key);
    else return;
    event.preventDefault();
  }

  walk(part, key) {
    const row = this.lanes.findIndex((lane) => lane.some(({ node }) => node === part));
    const lane = this.lanes[row];
    const place = lane.findIndex(({ node }) => node === part);
    const { start, end } = this.known(part);
    const across = (other) => {
      if (!other) return null;
      const middle = (start + end) / 2;
      return other.find(({ node }) => this.known(node).end > middle) ?? other.at(-1);
    };
    const next = {
      ArrowRight: () => lane[place + 1],
      ArrowLeft: () => lane[place - 1],
      Home: () => lane[0],
      End: () => lane.at(-1),
      ArrowDown: () => across(this.lanes[row + 1]),
      ArrowUp: () => across(this.lanes[row - 1]),
    }[key]();
    next?.node.focus();
  }

  /* The tip beside a part, and a ring around what it waited for. */
  show(part) {
    this.hide();
    const { words } = this;
    const about = this.known(part);
    const lines = [];
    if (about.isGap) lines.push(["strong", words.gap], ["div", about.why]);
    else {
      lines.push(["strong", about.label]);
      const times = `${words.start} ${written(about.start)}${words.comma}${words.duration} ${written(about.end - about.start)}\u2009ms`;
      lines.push(["span", times], ["span", this.waited(about)], ["div", about.detail]);
    }
    this.tip.replaceChildren(
      ...lines.filter(([, text]) => text).map(([tag, text]) => {
        const line = document.createElement(tag);
        line.textContent = text;
        return line;
      }),
    );
    this.link(part, about);
    this.tip.hidden = false;
    this.place(part);
  }

  waited({ track, blocker }) {
    const { words } = this;
    if (blocker === null) return words.nothing;
    return `${words.waited} ${this.data.tracks[track].operations[blocker][0]}`;
  }

  link(part, about) {
    if (about.isGap || about.blocker === null) return;
    const before = part.closest("[data-track]").querySelector(`[data-op="${about.blocker}"]`);
    before?.setAttribute("data-linked", "");
  }

  place(part) {
    const frame = this.figure.getBoundingClientRect();
    const box = part.getBoundingClientRect();
    const tip = this.tip.getBoundingClientRect();
    const middle = Math.min(Math.max(box.left, frame.left) + Math.min(box.width, frame.width) / 2, frame.right);
    const left = Math.min(Math.max(8, middle - frame.left - tip.width / 2), frame.width - tip.width - 8);
    const picture = this.svg.getBoundingClientRect();
    const upper = box.top + box.height / 2 < picture.top + picture.height / 2;
    const above = box.top - frame.top - tip.height - 8;
    const top = above < 4 || !upper ? box.bottom - frame.top + 8 : above;
    this.tip.style.transform = `translate(${left}px, ${top}px)`;
  }

  hide() {
    this.tip.hidden = true;
    for (const linked of this.svg.querySelectorAll("[data-linked]")) linked.removeAttribute("data-linked");
  }

  /* The same in the line under the picture, which is read aloud. */
  say(part) {
    this.show(part);
    const about = this.known(part);
    this.now.textContent = about.isGap
      ? about.why
      : `${about.label} · ${written(about.start)}–${written(about.end)}\u2009ms · ${this.waited(about)}${this.words.stop}${about.detail}`;
  }
}
