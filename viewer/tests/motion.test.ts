import { describe, expect, it } from 'vitest'
import { plain, power, quantity, round } from '../src/format'
import { frameAt, initialPoses, interpolate, measure, share, viridis } from '../src/motion'
import { plots } from '../src/charts'
import { facts, stateOf, verdicts } from '../src/panels'
import { Recording, type Frame, type Head } from '../src/record'

const head = {
  name: 'test',
  dt: 0.1,
  moving: [1],
  bodies: [
    { name: 'ground', kind: 'fixed', mass: null, color: '#888888', pose: [0, 0, 0, 0, 0, 0, 1] },
    { name: 'ball <1>', kind: 'rigid', mass: 2, color: '#336699', pose: [0, 0, 0, 0, 0, 0, 1] },
  ],
  soft: [],
} as unknown as Head

const frame = (time: number, x: number, turn: number[]): Frame =>
  ({
    time,
    position: Float32Array.of(x, 0, 0),
    turn: Float32Array.from(turn),
    velocity: Float32Array.of(3, 4, 0),
    spin: Float32Array.of(0, 0, 1),
    error: Float32Array.of(1e-9),
    contacts: 1,
    pairs: Uint32Array.of(0, 1),
    force: Float32Array.of(0, 0, 20),
    gap: Float32Array.of(-1e-6),
  }) as unknown as Frame

describe('between frames', () => {
  const frames = [frame(0, 0, [0, 0, 0, 1]), frame(1, 2, [0, 0, -1, 0]), frame(2, 2, [0, 0, 0, -1])]

  it('the last one before a time is found', () => {
    expect([-1, 0, 0.99, 1, 5].map((t) => frameAt(frames, t))).toEqual([0, 0, 0, 1, 2])
  })

  it('bodies move along, and turn the shorter way', () => {
    const poses = initialPoses(head)
    interpolate(head, frames, 0.5, poses)
    expect(poses.position[3]).toBeCloseTo(1)
    expect(Math.hypot(...poses.turn.subarray(4, 8))).toBeCloseTo(1)
    // Half of a half turn about z: a quarter turn, on either side.
    expect(Math.abs(poses.turn[6])).toBeCloseTo(Math.SQRT1_2)
    interpolate(head, frames, 99, poses)
    expect(poses.position[3]).toBeCloseTo(2)
  })

  it('speeds, forces and errors are those of the frame', () => {
    expect(measure(head, frames[0], 'speed')[0]).toBeCloseTo(5)
    expect(measure(head, frames[0], 'force')[0]).toBeCloseTo(20)
    expect(measure(head, frames[0], 'error')[0]).toBeCloseTo(1e-9)
  })
})

describe('colours', () => {
  it('keep their order', () => {
    const light = [0, 0.25, 0.5, 0.75, 1].map((s) => viridis(s).reduce((a, b) => a + b))
    expect(light).toEqual([...light].sort((a, b) => a - b))
    expect(viridis(NaN)).toEqual(viridis(0))
  })
  it('of errors are logarithmic', () => {
    expect(share(1e-6, [1e-9, 1e-3], 'error')).toBeCloseTo(0.5)
    expect(share(0, [1e-9, 1e-3], 'error')).toBe(0)
    expect(share(1, [0, 4], 'speed')).toBe(0.25)
  })
})

describe('numbers for people', () => {
  it('have units and few digits', () => {
    expect(quantity(0.00123, 'm')).toBe('1.23 mm')
    expect(quantity(-4.5e-7, 'm')).toBe('-450 nm')
    expect(quantity(0, 'J')).toBe('0 J')
    expect(quantity(3e-17, 'm')).toBe('3.0·10⁻¹⁷ m')
    expect(power(3.14e-9)).toBe('3.1·10⁻⁹')
    expect(power(9.99e-10)).toBe('1.0·10⁻⁹')
    expect(power(2021)).toBe('2020')
    expect(power(250)).toBe('250')
    expect(plain(12.34567)).toBe('12.3457')
    expect([0.13, 2.4, 60].map(round)).toEqual([0.1, 2, 50])
  })
})

describe('plots and tables', () => {
  const recording = new Recording()
  recording.head = head
  recording.names = ['contact a/b', 'newton', 'psor']
  const column = (f: (i: number) => number) => Array.from({ length: 5 }, (_, i) => f(i))
  for (const name of ['estimate', 'velocity', 'scheme_metre', 'scheme_joule', 'event', 'penetration', 'contacts', 'rows', 'potential', 'friction', 'impact', 'dampers', 'motors', 'applied', 'scheme', 'defect', 'relative', 'worst'])
    recording.steps[name] = column(() => 0)
  Object.assign(recording.steps, {
    step: column((i) => i + 1),
    time: column((i) => 0.1 * (i + 1)),
    joule: column((i) => (i === 3 ? 1e-3 : 1e-9)),
    solver: column((i) => 1 + (i % 2)),
    work: column((i) => i),
    accepted: column((i) => (i === 1 ? 0 : 1)),
    kinetic: column((i) => i),
    wall: column(() => 0.05),
  })

  it('have as many points as there are steps', () => {
    for (const plot of Object.values(plots(recording))) {
      expect(plot.x.length).toBe(5)
      for (const line of plot.lines) expect(line.values.length).toBe(5)
      expect(plot.say(3)).toContain('step 4')
    }
    expect(plots(recording).iterations.lines.map((l) => l.label)).toEqual(['newton', 'psor'])
    expect(plots(recording).speed.lines[0].values[0]).toBeCloseTo(2)
  })

  it('show the refused and the worst steps first', () => {
    const rows = [...verdicts(recording).matchAll(/data-time="([^"]*)"/g)].map((m) => +(+m[1]).toFixed(3))
    expect(rows.slice(0, 2)).toEqual([0.2, 0.4])
  })

  it('say of a body what it does, with its name escaped', () => {
    const html = stateOf(recording, 1, frame(0, 1, [0, 0, 0, 1]))
    expect(html).toContain('ball &lt;1&gt;')
    expect(html).toContain('2.00 kg')
    expect(html).toContain('20.0 N')
  })

  it('show facts as they came out', () => {
    recording.tail = { facts: [{ name: 'x', time: 1, about: '', unit: 'm', found: 2, at_least: 1, at_most: null, holds: true }] } as never
    expect(facts(recording)).toContain('holds')
  })
})
