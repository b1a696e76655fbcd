/* Draws the formulas: every `.math` element holds LaTeX as text, which stays readable when this script cannot run.
   KaTeX is fetched only by pages that have a formula. It sets styles through the DOM, which the content security
   policy allows, and leaves MathML with the LaTeX source in it for screen readers. */

const base = new URL("../vendor/katex/dist/", import.meta.url);
let library;

/** KaTeX, fetched once. */
function katex() {
  library ??= new Promise((resolve, reject) => {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("katex.min.css", base) });
    const script = Object.assign(document.createElement("script"), { src: new URL("katex.min.js", base) });
    script.addEventListener("load", () => resolve(window.katex));
    script.addEventListener("error", () => reject(new Error("KaTeX is not installed: run make setup")));
    document.head.append(style, script);
  });
  return library;
}

/** The LaTeX of an element, without the delimiters that mark it in plain text. */
function source(element) {
  const text = element.textContent.trim();
  const inside = /^(?:\\\((.*)\\\)|\\\[(.*)\\\]|\$\$(.*)\$\$|\$(.*)\$)$/s.exec(text);
  return inside ? inside.slice(1).find((part) => part !== undefined) : text;
}

/** Draws every formula below `root` that is not drawn yet. */
export async function draw(root) {
  const waiting = [...root.querySelectorAll(".math:not([data-drawn])")];
  if (root.matches?.(".math:not([data-drawn])")) waiting.push(root);
  if (waiting.length === 0) return;
  for (const element of waiting) element.dataset.drawn = "wait";
  let engine;
  try {
    engine = await katex();
  } catch {
    return;
  }
  for (const element of waiting) {
    const latex = (element.dataset.size === "large" ? "\\displaystyle " : "") + source(element);
    const kept = element.textContent;
    try {
      engine.render(latex, element, { displayMode: element.dataset.display === "true", throwOnError: true, strict: "ignore" });
      element.dataset.drawn = "true";
      element.dataset.latex = latex;
    } catch {
      element.textContent = kept;
      element.dataset.drawn = "failed";
    }
  }
}

draw(document.body);
document.addEventListener("htmx:load", (event) => draw(event.detail.elt));
