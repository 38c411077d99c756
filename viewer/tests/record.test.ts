import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeFrames, fromBase64, matched, Recording, type Head } from '../src/record'
import { add, fromPlanes } from '../src/words'

/** The difference of two words as the program writes it. */
const difference = (word: number, from: number) => {
  const d = (word - from) | 0
  return ((d << 1) ^ (d >> 31)) >>> 0
}

const planes = (words: number[]) => Uint8Array.from([0, 8, 16, 24].flatMap((shift) => words.map((w) => (w >>> shift) & 255)))

const bits = (x: number) => new Uint32Array(Float32Array.of(x).buffer)[0]

const head = {
  format: 2,
  quantum: 0.001,
  moving: [1],
  bodies: [{ name: 'ground' }, { name: 'ball' }],
  soft: [{ nodes: 1, scalar: { name: 'stress', unit: 'Pa' } }],
  columns: ['time', 'joule'],
} as unknown as Head

/** A frame with the ball at height z, one contact if `touching`, and a soft node at x = 5 mm. */
function frameWords(z: number, touching: boolean, before: number[] | null): { words: number[]; state: number[] } {
  const body = [0, 0, z, 0, 0, 0, 32767, bits(0) >>> 13, 0, bits(-2) >>> 13, 0, 0, 0, bits(1e-9) >>> 18]
  const soft = [5, 0, 0, bits(1024) >>> 13]
  const contact = touching ? [0, 0, 3, 0, 0, 127, 0, 0, bits(9.5) >>> 15, bits(-1e-6) >>> 15, bits(1e-12) >>> 18] : []
  const state = [...body, ...soft]
  const deltas = state.map((w, i) => difference(w, before ? before[i] : 0))
  const time = new Uint32Array(Float64Array.of(0.25).buffer)
  const pair = touching ? [difference(0, 0), difference(1, 0)] : []
  return { words: [time[0], time[1], 7, touching ? 1 : 0, ...deltas.slice(0, 14), ...pair, ...contact.map((w) => difference(w, 0)), ...deltas.slice(14)], state }
}

const chunk = (tag: string, raw: Uint8Array) => {
  const packed = deflateSync(raw)
  const out = new Uint8Array(12 + packed.length)
  out.set(new TextEncoder().encode(tag))
  new DataView(out.buffer).setUint32(4, raw.length, true)
  new DataView(out.buffer).setUint32(8, packed.length, true)
  out.set(packed, 12)
  return out
}

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((p) => [...p]))
const magic = new TextEncoder().encode('signrec1')

describe('words', () => {
  it('come back from differences', () => {
    for (const a of [0, 1, 255, 0x80000000, 0xffffffff]) for (const b of [0, 3, 0xfffffffe]) expect(add(difference(a, b), b)).toBe(a)
  })
  it('come back from planes of bytes', () => {
    const words = [0, 1, 0x12345678, 0xffffffff]
    expect([...fromPlanes(planes(words))]).toEqual(words)
  })
})

describe('frames', () => {
  it('are what was written, in metres and newtons', () => {
    const first = frameWords(100, false, null)
    const second = frameWords(40, true, first.state)
    const { frames, last } = decodeFrames(Uint32Array.from([2, ...first.words, ...second.words]), head, null)
    expect(frames.map((f) => f.time)).toEqual([0.25, 0.25])
    expect(frames[0].position[2]).toBeCloseTo(0.1, 6)
    expect(frames[1].position[2]).toBeCloseTo(0.04, 6)
    expect(frames[1].turn[3]).toBeCloseTo(1, 6)
    expect(frames[1].velocity[2]).toBe(-2)
    // 5 bits of mantissa are left of an error: one part in 32.
    expect(Math.abs(frames[1].error[0] - 1e-9)).toBeLessThan(1e-9 / 32)
    expect([...frames[1].pairs]).toEqual([0, 1])
    expect(frames[1].force[2]).toBeCloseTo(9.5, 1)
    expect(frames[1].normal[2]).toBeCloseTo(1, 6)
    expect(frames[1].soft[0].position[0]).toBeCloseTo(0.005, 6)
    expect(frames[1].soft[0].scalar![0]).toBe(1024)
    // A chunk that goes on where this one ended.
    const third = Uint32Array.from([0x80000001, ...frameWords(30, false, second.state).words])
    expect(decodeFrames(third, head, last).frames[0].position[2]).toBeCloseTo(0.03, 6)
    expect(() => decodeFrames(third, head, null)).toThrow('missing')
  })
  it('that end too early are refused', () => {
    expect(() => decodeFrames(Uint32Array.from([1, 0, 0, 0, 0xffffffff]), head, null)).toThrow('damaged')
  })
  it('find the same contact again', () => {
    expect([...matched(Uint32Array.from([0, 2, 1, 2, 1, 2]), Uint32Array.from([0, 1, 1, 2, 1, 2, 1, 2]))]).toEqual([-1, 1, 2, -1])
  })
})

describe('a recording', () => {
  const steps = planes([2, ...[bits(0.1), bits(0.2)].map((w, i, all) => difference(w, i ? all[i - 1] : 0)), ...[bits(1e-9), bits(1e-9)].map((w, i, all) => difference(w, i ? all[i - 1] : 0))])
  const whole = join(magic, chunk('HEAD', json(head)), chunk('NAME', json(['a', 'b'])), chunk('STEP', steps), chunk('LATE', json(1)), chunk('TAIL', json({ ended: 'complete' })))

  it('is read whole', async () => {
    const recording = new Recording()
    await recording.take(whole)
    expect(recording.steps.time.map((t) => +t.toFixed(6))).toEqual([0.1, 0.2])
    expect(recording.names).toEqual(['a', 'b'])
    expect(recording.tail!.ended).toBe('complete')
    expect(recording.length).toBe(whole.length)
  })

  it('is read in pieces of any length', async () => {
    for (const size of [1, 7, 50]) {
      const recording = new Recording()
      for (let guard = 0; recording.length < whole.length && guard < 9999; guard++) {
        const seen = Math.min(whole.length, (guard + 1) * size)
        if (seen > recording.length) await recording.take(whole.slice(recording.length, seen))
      }
      expect(recording.rows).toBe(2)
      expect(recording.tail).not.toBeNull()
    }
  })

  it('that is damaged says where', async () => {
    const broken = whole.slice()
    broken[8 + 12 + 20] ^= 0xff
    await expect(new Recording().take(broken)).rejects.toThrow('damaged at byte 8')
    await expect(new Recording().take(new TextEncoder().encode('something else'))).rejects.toThrow('not a record')
    const huge = whole.slice()
    new DataView(huge.buffer).setUint32(12, 0xffffffff, true)
    await expect(new Recording().take(huge)).rejects.toThrow('damaged at byte 8')
  })

  it('comes back from base64', () => {
    expect([...fromBase64('Zm9vYmFy')]).toEqual([...new TextEncoder().encode('foobar')])
  })
})
