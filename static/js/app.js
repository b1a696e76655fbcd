/* The shell's enhancements: the `/` key, the theme without a reload, plain words when the server is gone,
   and the browser's time zone for the server, which counts study days in it. */

const YEAR_SECONDS = 365 * 24 * 3600;

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) document.cookie = `tz=${encodeURIComponent(zone)}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`;

const typing = (event) =>
  event.isComposing ||
  event.keyCode === 229 ||
  (event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]") !== null);

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event)) return;
  const box = [...document.querySelectorAll("[data-search]")].find((input) => input.checkVisibility());
  if (box) {
    event.preventDefault();
    box.focus();
    box.select();
  } else {
    event.preventDefault();
    window.location.assign("/search");
  }
});

/* The answer to the theme form names the theme in `HX-Trigger`; without htmx the form reloads the page. */
document.addEventListener("theme", (event) => {
  const { value } = event.detail;
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  for (const button of document.querySelectorAll("button[name=theme]")) {
    button.setAttribute("aria-pressed", String(button.value === value));
  }
});

/* A live form changes the address after the page was written: the other language takes over what stands there now. */
for (const link of document.querySelectorAll(".switch a[hreflang]")) {
  const follow = () => {
    const here = new URL(window.location.href);
    const there = new URL(link.href);
    if (here.pathname !== there.pathname) return;
    here.searchParams.set("lang", there.searchParams.get("lang"));
    link.href = here.pathname + here.search + here.hash;
  };
  for (const event of ["pointerdown", "focus", "click"]) link.addEventListener(event, follow);
}

/* A request that got no answer at all: say so where every message stands. */
document.addEventListener("htmx:sendError", () => {
  const chinese = document.documentElement.lang.startsWith("zh");
  const box = document.createElement("div");
  box.className = "notice";
  box.dataset.kind = "error";
  const text = document.createElement("p");
  text.textContent = chinese
    ? "服务器没有响应。请确认它仍在运行，然后重试；页面上的内容没有丢失。"
    : "The server does not answer. Check that it is still running and try again; nothing on this page is lost.";
  box.append(text);
  document.getElementById("notice").replaceChildren(box);
});

/* A message goes away once something works again. */
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful && event.detail.target?.id !== "notice") document.getElementById("notice").replaceChildren();
});

/* A part that is fetched anew keeps open what a reader opened: the log of a run under way, every second. */
let unfolded = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  unfolded = [...event.detail.target.querySelectorAll("details[id]")].map(({ id, open }) => ({ id, open }));
});
document.addEventListener("htmx:afterSwap", () => {
  for (const { id, open } of unfolded.splice(0)) {
    const details = document.getElementById(id);
    if (details) details.open = open;
  }
});

/* Arrow keys walk from the search box through its results and back. */
document.addEventListener("keydown", (event) => {
  if ((event.key !== "ArrowDown" && event.key !== "ArrowUp") || event.isComposing) return;
  const box = document.querySelector("[data-results]");
  const list = box && document.querySelector(box.dataset.results);
  if (!list || !(event.target === box || list.contains(event.target))) return;
  const stops = [box, ...list.querySelectorAll("a")];
  const next = stops[stops.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) {
    event.preventDefault();
    next.focus();
  }
});
