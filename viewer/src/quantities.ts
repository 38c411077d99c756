// Quantities over time that a reader picks: sensors, joints, motors, bodies, contact forces.

import { absent } from './motion'
import type { Frame, Recording } from './record'

const OF_BODY: [string, string, (frame: Frame, k: number) => number][] = [
  ['x', 'm', (f, k) => f.position[3 * k]],
  ['y', 'm', (f, k) => f.position[3 * k + 1]],
  ['z', 'm', (f, k) => f.position[3 * k + 2]],
  ['vx', 'm/s', (f, k) => f.velocity[3 * k]],
  ['vy', 'm/s', (f, k) => f.velocity[3 * k + 1]],
  ['vz', 'm/s', (f, k) => f.velocity[3 * k + 2]],
  ['speed', 'm/s', (f, k) => Math.hypot(f.velocity[3 * k], f.velocity[3 * k + 1], f.velocity[3 * k + 2])],
]

/** Bodies that the list names at most; others can be typed. */
const LISTED = 300

/** The names that can be picked, each with its unit. */
export function choices(recording: Recording): Map<string, string> {
  const { head, frames } = recording
  const out = new Map<string, string>((head.channels ?? []).map((c) => [c.name, c.unit]))
  for (const body of head.moving.slice(0, LISTED)) {
    for (const [word, unit] of OF_BODY) out.set(`${head.bodies[body].name}.${word}`, unit)
    out.set(`${head.bodies[body].name}.force`, 'N')
  }
  const pairs = new Set<string>()
  const every = Math.max(1, Math.floor(frames.length / 20))
  for (let i = 0; i < frames.length && pairs.size < LISTED; i += every)
    for (let c = 0; c < frames[i].contacts; c++) pairs.add(`${head.bodies[frames[i].pairs[2 * c]].name}/${head.bodies[frames[i].pairs[2 * c + 1]].name}.force`)
  for (const pair of [...pairs].slice(0, LISTED)) out.set(pair, 'N')
  return out
}

/** The values of a quantity, one per frame; nothing where it is not known. */
export function picked(recording: Recording, name: string): (number | null)[] {
  const { head, frames, channels } = recording
  const column = (head.channels ?? []).findIndex((c) => c.name === name)
  if (column >= 0) return frames.map((_, i) => finite(channels[column][i]))
  const dot = name.lastIndexOf('.')
  const [thing, word] = [name.slice(0, dot), name.slice(dot + 1)]
  const number = (text: string) => head.bodies.findIndex((b) => b.name === text)
  const body = number(thing)
  const k = head.moving.indexOf(body)
  const measure = OF_BODY.find(([w]) => w === word)?.[2]
  if (k >= 0 && measure) return frames.map((f) => (absent(f, k) ? null : finite(measure(f, k))))
  if (word !== 'force') return frames.map(() => null)
  const [a, b] = body >= 0 ? [body, -1] : thing.split('/').map(number)
  return frames.map((f) => contactForce(f, a, b))
}

/** The contact force on body `a` from `b`, or from all if b is negative, N. */
function contactForce(frame: Frame, a: number, b: number): number {
  const sum = [0, 0, 0]
  for (let c = 0; c < frame.contacts; c++) {
    const [first, second] = [frame.pairs[2 * c], frame.pairs[2 * c + 1]]
    const sign = second === a && (b < 0 || first === b) ? 1 : first === a && (b < 0 || second === b) ? -1 : 0
    for (let i = 0; i < 3; i++) sum[i] += sign * frame.force[3 * c + i]
  }
  return Math.hypot(...sum)
}

const finite = (x: number | undefined) => (x !== undefined && Number.isFinite(x) ? x : null)

/** A field in which quantities are picked, and the list of those that are. */
export class Picker {
  readonly element = document.createElement('div')
  names: string[]
  private known: Map<string, string>

  constructor(recording: Recording, private changed: () => void) {
    this.known = choices(recording)
    // What someone put a sensor there for is what one wants to see first.
    const sensors = (recording.head.channels ?? []).filter((c) => !c.name.includes('.')).map((c) => c.name)
    this.names = sensors.slice(0, 4)
    this.element.className = 'picker'
    const field = document.createElement('input')
    field.placeholder = 'plot: crate.x, a sensor, left/part.force …'
    field.setAttribute('list', 'quantities')
    field.setAttribute('aria-label', 'Add a quantity to the plots')
    field.addEventListener('change', () => {
      for (const name of field.value.split(',').map((n) => n.trim())) if (this.known.has(name) && !this.names.includes(name)) this.names.push(name)
      field.value = ''
      this.show()
    })
    const list = document.createElement('datalist')
    list.id = 'quantities'
    for (const name of this.known.keys()) list.append(new Option(name))
    this.element.append(field, list, document.createElement('span'))
    this.show(false)
  }

  unit(name: string): string {
    return this.known.get(name) ?? ''
  }

  private show(tell = true): void {
    const place = this.element.querySelector('span')!
    place.replaceChildren(
      ...this.names.map((name) => {
        const chip = document.createElement('button')
        chip.textContent = `${name} ×`
        chip.title = 'Take it away'
        chip.addEventListener('click', () => {
          this.names = this.names.filter((n) => n !== name)
          this.show()
        })
        return chip
      }),
    )
    if (tell) this.changed()
  }
}
