import { describe, expect, it } from 'vitest'
import { absent, interpolate } from '../src/motion'
import { choices, picked } from '../src/quantities'
import type { Frame, Head, Recording } from '../src/record'

/** Two frames of two moving bodies: the second one is there in the second frame only. */
function frame(time: number, x: number, there: boolean, forces: number[]): Frame {
  return {
    time,
    step: 0,
    position: Float32Array.from([x, 0, 0, 5, 0, 0]),
    turn: Float32Array.from([0, 0, 0, 1, 0, 0, 0, there ? 1 : 0]),
    velocity: Float32Array.from([3, 4, 0, 0, 0, 0]),
    contacts: forces.length / 3,
    pairs: Uint32Array.from(forces.length ? [0, 1] : []),
    force: Float32Array.from(forces),
  } as unknown as Frame
}

const head = {
  bodies: [{ name: 'floor' }, { name: 'crate' }, { name: 'part' }],
  moving: [1, 2],
  channels: [{ name: 'eye', unit: 'm' }],
} as unknown as Head
const frames = [frame(0, 1, false, [0, 0, 10]), frame(1, 2, true, [])]
const recording = { head, frames, channels: [[0.5, Infinity]] } as unknown as Recording

describe('quantities', () => {
  it('are channels, places, speeds and contact forces', () => {
    expect(picked(recording, 'eye')).toEqual([0.5, null])
    expect(picked(recording, 'crate.x')).toEqual([1, 2])
    expect(picked(recording, 'crate.speed')).toEqual([5, 5])
    expect(picked(recording, 'floor/crate.force')).toEqual([10, 0])
    expect(picked(recording, 'crate.force')).toEqual([10, 0])
    expect(picked(recording, 'part.x')).toEqual([null, 5])
    expect(choices(recording).get('floor/crate.force')).toBe('N')
  })

  it('a body that is not there has no orientation, and does not fly in', () => {
    expect(absent(frames[0], 1)).toBe(true)
    const out = { position: new Float32Array(9), turn: new Float32Array(12) }
    interpolate(head, frames, 0.5, out)
    expect([...out.turn.subarray(8, 12)]).toEqual([0, 0, 0, 0])
    expect(out.position[3]).toBe(1.5)
  })
})
