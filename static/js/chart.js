/* Draws the charts: `<div class="chart" data-chart="ID">` shows the Plotly figure in the JSON script element `ID`.
   Figures are built on the server. Colours in them are written `var(--compute)` and resolved here, again whenever the
   theme changes. A chart that htmx keeps in place is redrawn in place when its data was replaced; call
   `refresh(root)` after changing the JSON by script. */

const base = new URL("../vendor/plotly.js-basic-dist-min/", import.meta.url);
const drawn = new Map();
const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: "reset" };
let library;

/** Plotly, fetched once. Its rules stand in our own style sheet, because the policy forbids it to insert them. */
function plotly() {
  library ??= new Promise((resolve, reject) => {
    const marker = Object.assign(document.createElement("meta"), { id: "plotly.js-style-global", className: "no-inline-styles" });
    const script = Object.assign(document.createElement("script"), { src: new URL("plotly-basic.min.js", base) });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => reject(new Error("Plotly is not installed: run make setup")));
    document.head.append(marker, script);
  });
  return library;
}

/** The figure with every `var(--name)` replaced by the colour it has for `element` now. */
function coloured(value, style) {
  if (typeof value === "string") {
    return value.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  }
  if (Array.isArray(value)) return value.map((item) => coloured(item, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item, style)]));
  }
  return value;
}

async function show(element) {
  const data = document.getElementById(element.dataset.chart);
  if (!data) return;
  const text = data.textContent;
  const theme = getComputedStyle(element).getPropertyValue("--ink");
  const key = `${theme}\n${text}`;
  if (drawn.get(element) === key) return;
  drawn.set(element, key);
  let engine;
  try {
    engine = await plotly();
  } catch {
    element.dataset.state = "missing";
    return;
  }
  if (!element.isConnected || drawn.get(element) !== key) return;
  const figure = coloured(JSON.parse(text), getComputedStyle(element));
  await engine.react(element, figure.data, figure.layout, CONFIG);
  element.dataset.state = "drawn";
}

/** Draws the charts at or below `root`, and those whose data stands there. */
export function refresh(root = document) {
  for (const element of document.querySelectorAll(".chart[data-chart]")) {
    if (root === document || root.contains(element) || root.contains(document.getElementById(element.dataset.chart))) {
      if (drawn.has(element)) show(element);
      else seen.observe(element);
    }
  }
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      show(entry.target);
    }
  },
  { rootMargin: "200px" },
);

refresh();
document.addEventListener("htmx:load", (event) => refresh(event.detail.elt));
document.addEventListener("htmx:afterSwap", () => refresh());
document.addEventListener("htmx:beforeCleanupElement", (event) => {
  const element = event.detail.elt ?? event.target;
  if (element.matches?.(".chart[data-chart]") && !element.hasAttribute("hx-preserve")) {
    window.Plotly?.purge(element);
    drawn.delete(element);
  }
});
const retint = () => drawn.forEach((_, element) => (element.isConnected ? show(element) : drawn.delete(element)));
new MutationObserver(retint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retint);
