import type { Locator } from 'playwright-core'

/**
 * Counts, in each of `bands` equal parts of a canvas from left to right, the pixels that have a colour of the style sheet
 * (`power`, `mpa`, …), nearly. A chart without its line has none anywhere.
 */
export async function countAlong(canvas: Locator, colour: string, bands = 10): Promise<number[]> {
  await canvas.waitFor()
  return await canvas.evaluate(COUNT, { colour, bands })
}

// In the browser's words: Node's types know no canvas.
const COUNT = new Function(
  'canvas',
  'asked',
  `
  const probe = document.createElement('canvas').getContext('2d')
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--' + asked.colour)
  probe.fillRect(0, 0, 1, 1)
  const wanted = probe.getImageData(0, 0, 1, 1).data
  const { width, height } = canvas
  const copy = document.createElement('canvas')
  Object.assign(copy, { width, height })
  copy.getContext('2d', { willReadFrequently: true }).drawImage(canvas, 0, 0)
  const pixels = copy.getContext('2d').getImageData(0, 0, width, height).data
  const counts = new Array(asked.bands).fill(0)
  for (let at = 0; at < width * height; at++) {
    const near = [0, 1, 2].every((part) => Math.abs(pixels[at * 4 + part] - wanted[part]) < 24)
    if (near && pixels[at * 4 + 3] > 200) counts[Math.floor(((at % width) / width) * asked.bands)]++
  }
  return counts`,
) as (canvas: unknown, asked: { colour: string; bands: number }) => number[]
