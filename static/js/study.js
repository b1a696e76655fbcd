/* What a question page can do beyond being read: contents that follow, a 30-second ring, ticks that stay,
   follow-ups opened together and before printing. Everything is there to read without it. */

function followContents(nav) {
  const links = [...nav.querySelectorAll("a[href^='#']")];
  const headings = links.map((link) => document.getElementById(link.hash.slice(1)));
  let shown = -1;
  const mark = () => {
    const line = window.innerHeight * 0.3;
    let current = 0;
    headings.forEach((heading, index) => {
      if (heading && heading.getBoundingClientRect().top <= line) current = index;
    });
    const end = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 4;
    if (end) current = links.length - 1;
    if (current === shown) return;
    shown = current;
    links.forEach((link, index) => {
      if (index === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    if (nav.scrollWidth > nav.clientWidth) {
      nav.scrollTo({ left: links[current].offsetLeft - nav.clientWidth / 3 });
    }
  };
  let waiting = false;
  document.addEventListener(
    "scroll",
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}

function ringTimer(button) {
  const seconds = Number(button.dataset.timer);
  const ring = button.querySelector(".ring-left");
  const label = button.querySelector("[data-timer-label]");
  const said = button.closest(".say").querySelector("[data-timer-said]");
  const idle = label.textContent;
  let frame = 0;
  let started = 0;

  const stop = (text) => {
    cancelAnimationFrame(frame);
    frame = 0;
    label.textContent = text;
    ring.setAttribute("stroke-dashoffset", "0");
  };
  const tick = () => {
    const gone = (performance.now() - started) / 1000;
    if (gone >= seconds) {
      stop(button.dataset.over);
      button.dataset.state = "over";
      said.textContent = button.dataset.over;
      return;
    }
    ring.setAttribute("stroke-dashoffset", String((gone / seconds) * 100));
    label.textContent = `${button.dataset.stop} · ${Math.ceil(seconds - gone)} s`;
    frame = requestAnimationFrame(tick);
  };
  button.addEventListener("click", () => {
    if (frame) {
      stop(idle);
      delete button.dataset.state;
      return;
    }
    button.dataset.state = "running";
    said.textContent = "";
    started = performance.now();
    tick();
  });
  button.hidden = false;
}

function keptTicks(list) {
  const key = `must:${list.dataset.check}`;
  const boxes = [...list.querySelectorAll("input")];
  const count = document.querySelector("[data-check-count]");
  const show = () => {
    const said = boxes.filter((box) => box.checked).length;
    count.textContent = `${said}${count.dataset.of}${boxes.length}${count.dataset.said}`;
  };
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "[]");
    for (const box of boxes) box.checked = kept.includes(box.value);
  } catch {
    localStorage.removeItem(key);
  }
  list.addEventListener("change", () => {
    localStorage.setItem(key, JSON.stringify(boxes.filter((box) => box.checked).map((box) => box.value)));
    show();
  });
  show();
}

function openTogether(button) {
  const parts = [...document.querySelectorAll(`.${button.dataset.openAll}`)];
  const open = button.textContent;
  const label = () => {
    button.textContent = parts.every((part) => part.open) ? button.dataset.close : open;
  };
  button.addEventListener("click", () => {
    const target = !parts.every((part) => part.open);
    for (const part of parts) part.open = target;
  });
  for (const part of parts) part.addEventListener("toggle", label);
  button.hidden = false;
}

function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
  const around = target && target.closest("details");
  if (around) around.open = true;
}

for (const nav of document.querySelectorAll("[data-spy]")) followContents(nav);
for (const button of document.querySelectorAll("[data-timer]")) ringTimer(button);
for (const list of document.querySelectorAll("[data-check]")) keptTicks(list);
for (const button of document.querySelectorAll("[data-open-all]")) openTogether(button);
openTarget();
window.addEventListener("hashchange", openTarget);
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.followup")) part.open = true;
});
