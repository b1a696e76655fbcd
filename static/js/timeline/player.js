/* The playhead: where it is, what runs there, and how it moves by clock, key and pointer. */

const PLAY_SECONDS = { least: 5, most: 20, perEvent: 0.45 };
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/* A time with at most four significant digits, as the server writes them. */
export const written = (time) => String(Number(time.toPrecision(4)));

export class Player {
  constructor(figure, svg, data, words) {
    this.figure = figure;
    this.svg = svg;
    this.words = words;
    this.left = Number(svg.dataset.left);
    this.scale = Number(svg.dataset.scale);
    this.makespan = Number(svg.dataset.makespan);
    this.head = svg.querySelector(".tl-playhead");
    this.clock = figure.querySelector("[data-clock]");
    this.now = figure.querySelector("[data-now]");
    this.button = figure.querySelector("[data-play]");
    this.box = figure.querySelector("[data-box]");
    this.speed = 1;
    this.time = 0;
    this.frame = 0;
    this.collect(data);
    this.listen();
    this.showClock();
  }

  get playing() {
    return this.frame !== 0;
  }

  /* Everything that begins and ends, and the moments at which something does. */
  collect(data) {
    const several = data.tracks.length > 1;
    this.parts = [];
    this.operations = [];
    const moments = new Set([0, this.makespan]);
    data.tracks.forEach((track, place) => {
      const group = this.svg.querySelector(`[data-track="${place}"]`);
      for (const node of group.querySelectorAll("[data-op], [data-gap]")) {
        const isGap = node.dataset.gap !== undefined;
        const known = isGap ? track.gaps[node.dataset.gap] : track.operations[node.dataset.op];
        const [start, end] = isGap ? known : known.slice(1, 3);
        this.parts.push({ node, start, end });
        moments.add(start).add(end);
        if (!isGap) this.operations.push({ start, end, label: known[0], track: several ? place : null });
      }
    });
    for (const node of this.svg.querySelectorAll(".tl-frame")) {
      const start = Number(node.dataset.start);
      const end = Number(node.dataset.end);
      this.parts.push({ node, start, end: end > start ? end : Infinity });
    }
    this.moments = [...moments].sort((one, other) => one - other);
    this.byStart = [...this.parts].sort((one, other) => one.start - other.start);
    this.begun = 0;
    this.running = new Set();
  }

  listen() {
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("pointerdown", (event) => this.grab(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onPart = event.target.closest("[data-op], [data-gap]");
    const fine = this.makespan / 100;
    const action = {
      " ": () => this.toggle(),
      ArrowRight: () => (event.shiftKey ? this.seek(this.time + fine) : this.step(1)),
      ArrowLeft: () => (event.shiftKey ? this.seek(this.time - fine) : this.step(-1)),
      Home: () => this.seek(0),
      End: () => this.seek(this.makespan),
    }[event.key];
    /* Arrows walk from part to part there, and space presses a gap, which is a button. */
    if (!action || (onPart && (event.key !== " " || onPart.dataset.gap !== undefined))) return;
    event.preventDefault();
    action();
  }

  grab(event) {
    if (event.button !== 0 || event.target.closest("[data-op], [data-gap]")) return;
    const knob = event.target.closest(".tl-playhead");
    if (event.pointerType !== "mouse" && !knob) {
      this.svg.addEventListener("click", (click) => this.seek(this.timeAt(click.clientX)), { once: true });
      return;
    }
    event.preventDefault();
    this.box.focus({ preventScroll: true });
    this.pause();
    this.moveTo(this.timeAt(event.clientX));
    const move = (moved) => this.moveTo(this.timeAt(moved.clientX));
    const drop = () => {
      window.removeEventListener("pointermove", move);
      this.announce();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", drop, { once: true });
    window.addEventListener("pointercancel", drop, { once: true });
  }

  timeAt(clientX) {
    const inverse = this.svg.getScreenCTM().inverse();
    return (clientX * inverse.a + inverse.e - this.left) / (this.scale || 1);
  }

  toggle() {
    if (this.playing) {
      this.pause();
      this.announce();
    } else this.play();
  }

  play() {
    if (this.makespan === 0) return;
    if (this.time >= this.makespan) this.moveTo(0);
    /* Read aloud only when it stops: a playing timeline would talk without end. */
    this.now.setAttribute("aria-live", "off");
    this.button.setAttribute("aria-pressed", "true");
    this.button.querySelector("[data-play-text]").textContent = this.button.dataset.pauseLabel;
    if (still.matches) this.playBySteps();
    else this.playSmoothly();
    this.moveTo(this.time);
  }

  playSmoothly() {
    const { least, most, perEvent } = PLAY_SECONDS;
    const seconds = Math.min(most, Math.max(least, this.moments.length * perEvent));
    let before = null;
    const tick = (now) => {
      const passed = before === null ? 0 : (now - before) / 1000;
      before = now;
      this.frame = requestAnimationFrame(tick);
      this.moveTo(this.time + (passed / seconds) * this.makespan * this.speed);
      if (this.time >= this.makespan) this.finish();
    };
    this.frame = requestAnimationFrame(tick);
  }

  /* Without motion the playhead goes from moment to moment, slowly enough to read. */
  playBySteps() {
    const tick = () => {
      this.moveTo(this.moments.find((moment) => moment > this.time + 1e-12) ?? this.makespan);
      this.announce();
      if (this.time >= this.makespan) this.finish();
      else this.frame = -setTimeout(tick, 1000 / this.speed);
    };
    this.frame = -setTimeout(tick, 600 / this.speed);
  }

  pause() {
    if (this.frame > 0) cancelAnimationFrame(this.frame);
    if (this.frame < 0) clearTimeout(-this.frame);
    this.frame = 0;
    this.now.setAttribute("aria-live", "polite");
    this.button.setAttribute("aria-pressed", "false");
    this.button.querySelector("[data-play-text]").textContent = this.button.dataset.playLabel;
  }

  finish() {
    this.pause();
    this.moveTo(this.makespan);
    this.announce();
  }

  step(direction) {
    const later = this.moments.find((moment) => moment > this.time + 1e-12);
    const earlier = this.moments.findLast((moment) => moment < this.time - 1e-12);
    this.seek(direction > 0 ? (later ?? this.makespan) : (earlier ?? 0));
  }

  seek(time) {
    this.pause();
    this.moveTo(time);
    this.announce();
  }

  moveTo(wanted) {
    const time = Math.min(this.makespan, Math.max(0, wanted));
    const x = this.left + time * this.scale;
    this.head.setAttribute("transform", `translate(${x.toFixed(2)} 0)`);
    this.head.setAttribute("visibility", time > 0 || this.playing ? "visible" : "hidden");
    this.mark(time);
    this.time = time;
    const moving = this.playing || (time > 0 && time < this.makespan);
    this.svg.toggleAttribute("data-playing", moving);
    this.showClock();
    if (this.playing) this.announce();
    this.follow(x);
  }

  /* What has begun and what runs at `time`. Going on is cheap; going back starts over. */
  mark(time) {
    if (time < this.time) {
      for (const { node } of this.byStart.slice(0, this.begun)) node.removeAttribute("data-begun");
      for (const { node } of this.running) node.removeAttribute("data-here");
      this.begun = 0;
      this.running.clear();
    }
    while (this.begun < this.byStart.length && this.byStart[this.begun].start <= time) {
      const part = this.byStart[this.begun++];
      part.node.setAttribute("data-begun", "");
      part.node.setAttribute("data-here", "");
      this.running.add(part);
    }
    for (const part of this.running) {
      if (part.end > time) continue;
      part.node.removeAttribute("data-here");
      this.running.delete(part);
    }
  }

  showClock() {
    this.clock.textContent = `${written(this.time)} / ${written(this.makespan)}\u2009ms`;
  }

  /* Keeps the playhead in sight where the picture is wider than its box. */
  follow(x) {
    const { box } = this;
    if (box.scrollWidth <= box.clientWidth) return;
    const place = x * (this.svg.getBoundingClientRect().width / this.svg.viewBox.baseVal.width);
    if (place < box.scrollLeft + 40 || place > box.scrollLeft + box.clientWidth - 40) {
      box.scrollLeft = place - box.clientWidth * 0.4;
    }
  }

  announce() {
    const { words } = this;
    const here = this.operations.filter(({ start, end }) => start <= this.time && this.time < end);
    const labels = here.slice(0, 8).map(({ label, track }) => (track === null ? label : `${"AB"[track]}: ${label}`));
    const more = here.length > labels.length ? ` + ${here.length - labels.length}` : "";
    const what = here.length ? labels.join(", ") + more : this.time >= this.makespan ? words.end : words.idle;
    const text = this.playing ? what : `${written(this.time)}\u2009ms · ${what}`;
    if (this.now.textContent !== text) this.now.textContent = text;
  }
}
