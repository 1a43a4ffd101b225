// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Pictures as tiles and back: as `eddy submit` cuts them, and as the outputs of a job are shown.

const GREY = [19595, 38470, 7471]; // ITU-R 601-2 luma in 65,536ths, as Pillow's
export const LABEL = "picture";
const MAX_PIXELS = 1 << 22, MIN_SIDE = 8;

// A file's picture as tiles of a buffer (shape [height, width]); scaled down where it takes more than `most`.
export async function cut(file, buffer, most) {
  const [height, width] = buffer.shape;
  const bitmap = await createImageBitmap(file).catch(() => { throw new Error(`${file.name} is no picture that this browser reads.`); });
  let scale = 1;
  while (Math.ceil(Math.round(bitmap.height * scale) / height) * Math.ceil(Math.round(bitmap.width * scale) / width) > most) scale *= 0.98;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(Math.round(bitmap.width * scale), 1);
  canvas.height = Math.max(Math.round(bitmap.height * scale), 1);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return parts(context.getImageData(0, 0, canvas.width, canvas.height), height, width);
}

// A picture made of nothing: rings, so that one sees what became of it.
export function pattern(buffer) {
  const [height, width] = buffer.shape;
  const image = new ImageData(2 * width, 2 * height);
  for (let at = 0; at < image.data.length; at += 4) {
    const x = (at / 4) % image.width - width, y = Math.floor(at / 4 / image.width) - height;
    image.data.fill(Math.round(127.5 + 127.5 * Math.cos(Math.hypot(x, y) / 6)), at, at + 3);
  }
  return parts(image, height, width);
}

// Beyond the picture its last row and column are repeated.
function parts(image, height, width) {
  const rows = Math.ceil(image.height / height), columns = Math.ceil(image.width / width);
  const bytes = new Uint8Array(rows * columns * height * width);
  let at = 0;
  for (let tile = 0; tile < rows * columns; tile += 1) {
    for (let y = 0; y < height; y += 1) {
      const line = Math.min(Math.floor(tile / columns) * height + y, image.height - 1);
      for (let x = 0; x < width; x += 1, at += 1) {
        const from = 4 * (line * image.width + Math.min((tile % columns) * width + x, image.width - 1));
        bytes[at] = (GREY[0] * image.data[from] + GREY[1] * image.data[from + 1] + GREY[2] * image.data[from + 2] + 32768) >> 16;
      }
    }
  }
  return { bytes, items: rows * columns, size: `${image.width}x${image.height}` };
}

// How an output of bytes is a picture: tiles of [height, width] or [height, width, 3]; null where it is none.
export function sheet(dtype, shape, items, label) {
  const [height, width, colours = 1] = shape;
  const fits = /^\|?u1$/.test(dtype) && (shape.length === 2 || (shape.length === 3 && colours === 3));
  if (!fits || Math.min(height, width) < MIN_SIDE) return null;
  const asked = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(label || "");
  const columns = asked ? Math.ceil(asked[1] / width) : Math.ceil(Math.sqrt(items));
  const rows = Math.ceil(items / columns);
  // A label is the tenant's own text: where it does not fit the tiles, they are laid out as if there were none.
  if (asked && rows * columns === items && Math.ceil(asked[2] / height) === rows) {
    return bounded({ height, width, colours, columns, items, across: Number(asked[1]), down: Number(asked[2]) });
  }
  const square = Math.ceil(Math.sqrt(items));
  return bounded({ height, width, colours, columns: square, items, across: square * width, down: Math.ceil(items / square) * height });
}

const bounded = (made) => (made.across * made.down <= MAX_PIXELS ? made : null);

// Bytes of an output as a picture.
export function draw(canvas, bytes, { height, width, colours, columns, items, across, down }) {
  canvas.width = across;
  canvas.height = down;
  const image = new ImageData(across, down);
  for (let tile = 0; tile < items; tile += 1) {
    const left = (tile % columns) * width, top = Math.floor(tile / columns) * height;
    for (let y = 0; y < height && top + y < down; y += 1) {
      for (let x = 0; x < width && left + x < across; x += 1) {
        const from = ((tile * height + y) * width + x) * colours, to = 4 * ((top + y) * across + left + x);
        for (let colour = 0; colour < 3; colour += 1) image.data[to + colour] = bytes[from + (colours === 3 ? colour : 0)];
        image.data[to + 3] = 255;
      }
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
