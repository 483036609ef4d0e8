// Screenshots, which must show something and fit a narrow window.
import { writeFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

/** Taller pages are shown as far as this, in CSS pixels. */
const HEIGHT_MAX = 6000;
/** Rows of pixels that differ from the row above: a line of text has about 10. */
const DRAWN_ROWS_MIN = 20;

/** Writes a screenshot of a tab to `file`, and returns why it is not good. */
export async function screenshotProblems(tab, file) {
  const { width, visible, height } = await tab.evaluate(() => ({
    width: document.documentElement.scrollWidth,
    visible: document.documentElement.clientWidth,
    height: document.documentElement.scrollHeight,
  }));
  const clip = { x: 0, y: 0, width: visible, height: Math.min(height, HEIGHT_MAX) };
  const image = await tab.screenshot({ clip, captureBeyondViewport: true });
  writeFileSync(file, image);
  const problems = [];
  if (width > visible) problems.push(`the page is ${width} pixels wide in a window of ${visible}`);
  if (drawnRows(Buffer.from(image)) < DRAWN_ROWS_MIN) problems.push(`${file} is blank`);
  return problems;
}

/** Counts the rows of a PNG image that differ from the row above, filters included. */
function drawnRows(image) {
  const width = image.readUInt32BE(16);
  const channels = image[25] === 6 ? 4 : 3;
  const parts = [];
  for (let at = 8; at < image.length; at += image.readUInt32BE(at) + 12) {
    if (image.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(image.subarray(at + 8, at + 8 + image.readUInt32BE(at)));
  }
  const rows = inflateSync(Buffer.concat(parts));
  const rowBytes = width * channels + 1;
  let drawn = 0;
  for (let at = rowBytes; at < rows.length; at += rowBytes) {
    if (rows.compare(rows, at - rowBytes, at, at, at + rowBytes) !== 0) drawn++;
  }
  return drawn;
}
