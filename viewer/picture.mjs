// A picture of a report in a browser, such as docs/report.png: npm run picture -- report.html 0.62 report.png ball
// (the file, the time in s, the picture, and the body to be chosen, if any).

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const [file, time, output, body] = process.argv.slice(2)
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
})
const page = await browser.newPage({ viewport: { width: 1280, height: 1270 } })
page.setDefaultTimeout(120_000)
await page.goto(pathToFileURL(resolve(file)).href, { waitUntil: 'commit' })
await page.waitForSelector('#canvas[data-time]', { state: 'attached' })
await page.selectOption('#arrows', 'forces')
await page.$eval('#scrub', (e, t) => { e.value = String(t); e.dispatchEvent(new Event('input')) }, Number(time))
await page.waitForFunction((t) => Math.abs(Number(document.querySelector('#canvas').dataset.time) - t) < 1e-6, Number(time))
const box = await page.locator('#canvas').boundingBox()
// From the middle outwards until that body answers.
for (let k = 0; body && k < 400; k++) {
  const [turn, far] = [2.399963 * k, 0.02 * Math.sqrt(k)]
  await page.mouse.click(box.x + (0.5 + far * Math.cos(turn)) * box.width, box.y + (0.5 + far * Math.sin(turn)) * box.height)
  if ((await page.locator('#panel h2').innerText()) === body) break
}
await page.mouse.move(5, 5)
await page.screenshot({ path: output })
await browser.close()
