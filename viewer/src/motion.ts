// Where everything is at a time: frames and what lies between them. No drawing here.

import type { Frame, Head, Recording } from './record'

/** The number of the last frame at or before a time. */
export function frameAt(frames: { time: number }[], time: number): number {
  let [low, high] = [0, frames.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (frames[middle].time <= time) low = middle
    else high = middle - 1
  }
  return low
}

/** Positions (3 each) and quaternions (4 each) of all bodies of the head. */
export interface Poses {
  position: Float32Array
  turn: Float32Array
}

export function initialPoses(head: Head): Poses {
  const out = { position: new Float32Array(3 * head.bodies.length), turn: new Float32Array(4 * head.bodies.length) }
  head.bodies.forEach((body, i) => {
    out.position.set(body.pose.slice(0, 3), 3 * i)
    out.turn.set(body.pose.slice(3), 4 * i)
  })
  return out
}

/** Whether a moving body is not in the scene in a frame: it has no orientation then. */
export function absent(frame: Frame, k: number): boolean {
  return frame.turn.subarray(4 * k, 4 * k + 4).every((x) => x === 0)
}

/** Writes the poses at a time between frames. */
export function interpolate(head: Head, frames: Frame[], time: number, out: Poses): void {
  if (frames.length === 0) return
  const i = frameAt(frames, time)
  const [a, b] = [frames[i], frames[Math.min(i + 1, frames.length - 1)]]
  const span = b.time - a.time
  const share = span > 0 ? Math.min(1, Math.max(0, (time - a.time) / span)) : 0
  head.moving.forEach((body, k) => {
    // Who comes or goes between two frames does not fly there.
    const s = absent(a, k) || absent(b, k) ? 0 : share
    for (let c = 0; c < 3; c++) out.position[3 * body + c] = (1 - s) * a.position[3 * k + c] + s * b.position[3 * k + c]
    // q and −q are the same rotation: the shorter way.
    let dot = 0
    for (let c = 0; c < 4; c++) dot += a.turn[4 * k + c] * b.turn[4 * k + c]
    const sign = dot < 0 ? -1 : 1
    let length = 0
    for (let c = 0; c < 4; c++) {
      const x = (1 - s) * a.turn[4 * k + c] + s * sign * b.turn[4 * k + c]
      out.turn[4 * body + c] = x
      length += x * x
    }
    length = Math.sqrt(length) || 1
    for (let c = 0; c < 4; c++) out.turn[4 * body + c] /= length
  })
}

export type Measure = 'body' | 'speed' | 'force' | 'error'

/** A number for each moving body in a frame: its speed (m/s), the forces on it added up (N), the error of its constraints (J). */
export function measure(head: Head, frame: Frame, what: Measure): Float32Array {
  const n = head.moving.length
  const out = new Float32Array(n)
  if (what === 'speed') for (let k = 0; k < n; k++) out[k] = Math.hypot(...frame.velocity.subarray(3 * k, 3 * k + 3))
  else if (what === 'error') out.set(frame.error)
  else if (what === 'force') {
    const place = new Map(head.moving.map((body, k) => [body, k]))
    for (let c = 0; c < frame.contacts; c++) {
      const force = Math.hypot(...frame.force.subarray(3 * c, 3 * c + 3))
      for (const body of [frame.pairs[2 * c], frame.pairs[2 * c + 1]]) {
        const k = place.get(body)
        if (k !== undefined) out[k] += force
      }
    }
  }
  return out
}

/** The span of a measure over a run: the highest hundredth is cut off, so that one blow does not pale everything else. */
export function spread(recording: Recording, what: Measure): [number, number] {
  const values: number[] = []
  const every = Math.max(1, Math.floor(recording.frames.length / 40))
  for (let i = 0; i < recording.frames.length; i += every) for (const x of measure(recording.head, recording.frames[i], what)) if (x > 0) values.push(x)
  if (values.length === 0) return [0, 1]
  values.sort((a, b) => a - b)
  const high = values[Math.min(values.length - 1, Math.floor(0.99 * values.length))]
  return what === 'error' ? [Math.max(values[Math.floor(0.01 * values.length)], high * 1e-12), high] : [0, high]
}

/** The force that the longest arrow stands for, N. */
export function strongest(frames: Frame[]): number {
  const values: number[] = []
  const every = Math.max(1, Math.floor(frames.length / 40))
  for (let i = 0; i < frames.length; i += every) {
    const { force, contacts } = frames[i]
    for (let c = 0; c < contacts; c++) values.push(Math.hypot(force[3 * c], force[3 * c + 1], force[3 * c + 2]))
  }
  values.sort((a, b) => a - b)
  return values.length ? values[Math.floor(0.98 * (values.length - 1))] || 1 : 1
}

const STOPS = ['#440154', '#482878', '#3e4a89', '#31688e', '#26828e', '#1f9e89', '#35b779', '#6dcd59', '#b4de2c', '#fde725']
const RGB = STOPS.map((s) => [1, 3, 5].map((i) => parseInt(s.slice(i, i + 2), 16) / 255))

/** A colour for a share between 0 and 1: viridis, which a printer and most eyes keep in order. */
export function viridis(share: number): [number, number, number] {
  const x = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0)) * (RGB.length - 1)
  const i = Math.min(RGB.length - 2, Math.floor(x))
  return [0, 1, 2].map((c) => RGB[i][c] + (x - i) * (RGB[i + 1][c] - RGB[i][c])) as [number, number, number]
}

/** The share of a value between the ends of a span; on a logarithmic scale for errors. */
export function share(value: number, [low, high]: [number, number], what: Measure): number {
  if (what !== 'error') return high > low ? (value - low) / (high - low) : 0
  return value > 0 ? Math.log(value / low) / Math.max(1e-9, Math.log(high / low)) : 0
}

export const UNITS: Record<Measure, string> = { body: '', speed: 'm/s', force: 'N', error: 'J' }
