// The program, a browser, and what every page must fulfil. Nothing here waits for a time: only for what is to be seen.

import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type Page } from 'playwright-core'
import { expect } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const built = ['debug', 'release'].map((profile) => join(root, 'target', profile, 'signorini')).find(existsSync)

/** The program: that of the environment, or the one that cargo built. */
export const program = process.env.SIGNORINI ?? built ?? 'signorini'
export const folder = mkdtempSync(join(tmpdir(), 'signorini-viewer-'))
export const clean = () => rmSync(folder, { recursive: true, force: true })

export const run = (...args: string[]) => execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' })
export const start = (...args: string[]): ChildProcess => spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })

/** How long a page may take before something is wrong with it: machines may be slow and busy. */
const PATIENCE = 120_000

/** The browser: that of the environment, by path or by name, or Debian's. */
function chromiumPath(): string {
  const name = process.env.CHROMIUM ?? 'chromium'
  return name.includes('/') ? name : execFileSync('sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8' }).trim()
}

/** Chromium with a software renderer: as slow as the slowest machine that the page must serve. */
export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath(),
    timeout: PATIENCE,
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--use-gl=angle',
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
    ],
  })

export interface Watched {
  page: Page
  complaints: string[]
  requests: string[]
}

/** Opens a page, notes everything that it complains of and asks for, and waits until it shows something. */
export async function open(browser: Browser, url: string): Promise<Watched> {
  const page = await browser.newPage({ viewport: { width: 1000, height: 640 } })
  page.setDefaultTimeout(PATIENCE)
  const [complaints, requests]: [string[], string[]] = [[], []]
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()))
  page.on('pageerror', (e) => complaints.push(e.message))
  page.on('request', (r) => requests.push(r.url()))
  await page.goto(url, { waitUntil: 'commit', timeout: PATIENCE })
  await page.waitForSelector('#app[data-ready=fault], #app[data-ready=yes] #canvas[data-time]', { state: 'attached' })
  return { page, complaints, requests }
}

/** The colours of the canvas at 160 × 100 places, as numbers. */
export const canvas = (page: Page): Promise<number[]> =>
  page.evaluate(() => {
    const source = document.querySelector<HTMLCanvasElement>('#canvas')!
    const copy = document.createElement('canvas')
    ;[copy.width, copy.height] = [160, 100]
    const context = copy.getContext('2d')!
    context.drawImage(source, 0, 0, 160, 100)
    const { data } = context.getImageData(0, 0, 160, 100)
    return Array.from({ length: 160 * 100 }, (_, i) => (data[4 * i] << 16) | (data[4 * i + 1] << 8) | data[4 * i + 2])
  })

/** How many of the places differ visibly. */
export const differing = (a: number[], b: number[]) =>
  a.filter((x, i) => [0, 8, 16].some((s) => Math.abs(((x >> s) & 255) - ((b[i] >> s) & 255)) > 12)).length

/** Moves the slider, and waits until that moment is drawn. */
export async function scrub(page: Page, time: number): Promise<void> {
  await page.$eval('#scrub', (e, t) => { (e as HTMLInputElement).value = String(t); e.dispatchEvent(new Event('input')) }, time)
  await page.waitForFunction((t) => Math.abs(Number(document.querySelector<HTMLElement>('#canvas')!.dataset.time) - t) < 1e-6, time)
}

export const points = (page: Page, chart = 'error') => page.$eval(`[data-chart=${chart}]`, (e) => Number((e as HTMLElement).dataset.points))

/** Clicks around the middle of the picture, outwards, until a body answers; returns the name that the page gives it. */
export async function clickBody(page: Page, wanted: RegExp): Promise<string> {
  const box = (await page.locator('#canvas').boundingBox())!
  for (let k = 0; k < 120; k++) {
    const [turn, far] = [2.399963 * k, 0.035 * Math.sqrt(k)]
    await page.mouse.click(box.x + (0.5 + far * Math.cos(turn)) * box.width, box.y + (0.5 + far * Math.sin(turn)) * box.height)
    const name = await page.locator('#panel h2').innerText()
    if (wanted.test(name)) return name
  }
  return ''
}

/** The canvas shows something: many shades, and no single one nearly everywhere (thin rods leave much of the sky). */
export function notBlank(colors: number[]): void {
  const counts = new Map<number, number>()
  colors.forEach((c) => counts.set(c, (counts.get(c) ?? 0) + 1))
  expect(counts.size).toBeGreaterThan(50)
  expect(Math.max(...counts.values())).toBeLessThan(0.97 * colors.length)
}
