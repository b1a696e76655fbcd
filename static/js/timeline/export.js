/* Copies a text to the clipboard and saves the picture as PNG. */

const PIXELS = 2;

export async function copyText(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    /* No clipboard over plain http on another host: a selected text field does it the old way. */
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  const before = button.textContent;
  if (before === button.dataset.done) return;
  button.textContent = button.dataset.done;
  setTimeout(() => {
    button.textContent = before;
  }, 1600);
}

/* The colours that stand in the file are those of the light theme, so the paper is white. */
export async function savePng(svg, name) {
  const copy = svg.cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.querySelector('.tl-playhead[visibility="hidden"]')?.remove();
  const file = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  const address = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.min(16000, width * PIXELS);
    canvas.height = (height * canvas.width) / width;
    const brush = canvas.getContext("2d");
    brush.fillStyle = "#ffffff";
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(image, 0, 0, canvas.width, canvas.height);
    const picture = await new Promise((done) => canvas.toBlob(done, "image/png"));
    save(picture, name);
  } finally {
    URL.revokeObjectURL(address);
  }
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
