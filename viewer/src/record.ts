// The recorded form of a run, read piece by piece: see crates/record/src/record/mod.rs for the format.

import { add, fromPlanes, Taker } from './words'

export type Vector = [number, number, number]
export type Pose = [number, number, number, number, number, number, number]

export interface Body {
  name: string
  kind: 'rigid' | 'fixed' | 'imposed' | 'soft'
  mass: number | null
  color: string
  pose: Pose
}

export interface Placed {
  body: number
  mesh: number
  pose: Pose
  scale: Vector
  /** `hidden`: it touches, but its body is drawn by other shapes. */
  look: 'solid' | 'glass' | 'ground' | 'hidden'
  /** The colour of the body without this. */
  color?: string
}

export interface Soft {
  name: string
  color: string
  nodes: number
  triangles: number[]
  scalar: { name: string; unit: string } | null
}

export interface Head {
  format: number
  version: string
  name: string
  about: string
  dt: number
  t_end: number
  steps: number
  every: number
  step_every: number
  solver: string
  law: string
  quantum: number
  up: Vector
  bounds: [Vector, Vector]
  bodies: Body[]
  moving: number[]
  meshes: { positions: number[]; triangles: number[] }[]
  shapes: Placed[]
  joints: { name: string; a: [number, Vector]; b: [number, Vector] }[]
  soft: Soft[]
  texts: { name: string; text: string }[]
  columns: string[]
  /** What is measured at each frame: sensors, joints, motors. */
  channels?: { name: string; unit: string }[]
}

export interface History {
  step: number
  solver: string
  work: number[]
  joule: number[]
}

export interface Fact {
  name: string
  time: number
  about: string
  unit: string
  found: number | null
  at_least: number | null
  at_most: number | null
  holds: boolean
}

/** What the program says at the end of a run. */
export interface Tail {
  ended: string
  complete: boolean
  facts: Fact[]
  thinned: number
  /** The corners of the room that all pass through that joints hold. */
  bounds?: [Vector, Vector]
  wall_s: number
  steps_per_s: number
  not_accepted: number
  hash: string
  error: { worst_joule: number; worst_relative: number; worst_name: string }
  solvers: Record<string, number>
  penetration_max: number
  [more: string]: unknown
}

/** One moment: bodies in the order of `head.moving`, contacts sorted by their bodies. */
export interface Frame {
  time: number
  step: number
  /** Positions, m: 3 each. */
  position: Float32Array
  /** Quaternions x y z w: 4 each. */
  turn: Float32Array
  /** Velocities, world, m/s: 3 each. */
  velocity: Float32Array
  /** Angular velocities, body axes, rad/s: 3 each. */
  spin: Float32Array
  /** Error of the constraints on each body, J. */
  error: Float32Array
  contacts: number
  /** The two bodies of each contact. */
  pairs: Uint32Array
  /** Points, m: 3 each. */
  point: Float32Array
  /** Normals, from the first body to the second: 3 each. */
  normal: Float32Array
  /** Forces on the second body, N: 3 each. */
  force: Float32Array
  /** Gaps, m. */
  gap: Float32Array
  /** Errors, J. */
  contactError: Float32Array
  /** Nodes of each soft body, m: 3 each, and a number on each node. */
  soft: { position: Float32Array; scalar: Float32Array | null }[]
}

const MAGIC = 'signrec1'
const RAW_MOST = 1 << 26
const BODY = 14
const CONTACT = 11
const UNIT = 32767
const NORMAL = 127
const COARSER = 64
/** Bits dropped from velocities and scalars, from forces and gaps, from errors. */
const [DROP_VELOCITY, DROP_FORCE, DROP_ERROR] = [13, 15, 18]
const CONTINUES = 0x80000000

/** A record that grows as bytes arrive. */
export class Recording {
  head!: Head
  tail: Tail | null = null
  names: string[] = []
  frames: Frame[] = []
  histories: History[] = []
  /** Columns of the steps by name. */
  steps: Record<string, number[]> = {}
  /** The channels of the head, one value per frame. */
  channels: number[][] = []
  /** How many bytes were understood. */
  length = 0
  ready = false
  private last: Words | null = null

  /** Takes bytes that follow those understood so far; what is not whole at their end is left for the next time. */
  async take(bytes: Uint8Array): Promise<void> {
    let at = 0
    if (this.length === 0) {
      if (bytes.length < 8) return
      if (text(bytes.subarray(0, 8)) !== MAGIC) throw new Error('not a record of a run')
      at = 8
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    while (at + 12 <= bytes.length) {
      const tag = text(bytes.subarray(at, at + 4))
      const raw = view.getUint32(at + 4, true)
      const packed = view.getUint32(at + 8, true)
      const place = this.length + at
      if (raw > RAW_MOST || !/^[A-Z]{4}$/.test(tag)) throw new Error(`the record is damaged at byte ${place}`)
      if (at + 12 + packed > bytes.length) break
      let chunk: Uint8Array
      try {
        chunk = await inflate(bytes.subarray(at + 12, at + 12 + packed))
      } catch {
        throw new Error(`the record is damaged at byte ${place}`)
      }
      if (chunk.length !== raw) throw new Error(`the record is damaged at byte ${place}`)
      this.chunk(tag, chunk)
      at += 12 + packed
    }
    this.length += at
  }

  private chunk(tag: string, raw: Uint8Array): void {
    if (tag === 'HEAD') {
      this.head = JSON.parse(text(raw))
      if (this.head.format !== 2) throw new Error(`a record of format ${this.head.format}; this page reads 2`)
      for (const column of this.head.columns) this.steps[column] = []
      this.channels = (this.head.channels ?? []).map(() => [])
      this.ready = true
    } else if (!this.ready) throw new Error('the head of the record must come first')
    else if (tag === 'TAIL') this.tail = JSON.parse(text(raw))
    else if (tag === 'NAME') this.names.push(...JSON.parse(text(raw)))
    else if (tag === 'HIST') this.histories.push(...JSON.parse(text(raw)))
    else if (tag === 'STEP') rows(fromPlanes(raw), this.head.columns.map((c) => this.steps[c]))
    else if (tag === 'CHAN') rows(fromPlanes(raw), this.channels)
    else if (tag === 'FRAM') {
      const { frames, last } = decodeFrames(fromPlanes(raw), this.head, this.last)
      this.frames.push(...frames)
      this.last = last
    }
  }

  /** How many rows of steps there are. */
  get rows(): number {
    return this.steps.time?.length ?? 0
  }
}

/** Appends rows of single-precision numbers, column by column. */
function rows(words: Uint32Array, columns: number[][]): void {
  const n = words[0]
  const bits = new Uint32Array(1)
  const float = new Float32Array(bits.buffer)
  columns.forEach((list, c) => {
    let last = 0
    for (let k = 0; k < n; k++) {
      last = add(words[1 + c * n + k], last)
      bits[0] = last
      list.push(float[0])
    }
  })
}

/** The words of a frame, which the next one is told by. */
export type Words = Record<'bodies' | 'pairs' | 'contacts' | 'soft', Uint32Array>

/** The frames of a chunk, and the words of the last one; `last` are those of the chunk before. */
export function decodeFrames(words: Uint32Array, head: Head, last: Words | null): { frames: Frame[]; last: Words } {
  const take = new Taker(words)
  const first = take.one()
  const count = first & ~CONTINUES
  if (first & CONTINUES && !last) throw new Error('the record is damaged: a chunk is missing')
  const n = head.moving.length
  const time = new DataView(new ArrayBuffer(8))
  const out: Frame[] = []
  const none = new Uint32Array(0)
  let before: Words = first & CONTINUES ? last! : { bodies: none, pairs: none, contacts: none, soft: none }
  for (let k = 0; k < count; k++) {
    time.setUint32(0, take.one(), true)
    time.setUint32(4, take.one(), true)
    const step = take.one()
    const m = take.one()
    const bodies = restored(take.many(n * BODY), before.bodies)
    const deltas = take.many(2 * m)
    const pairs = new Uint32Array(2 * m)
    let body = 0
    for (let i = 0; i < m; i++) {
      body = add(deltas[i], body)
      pairs[2 * i] = body
      pairs[2 * i + 1] = add(deltas[m + i], body)
    }
    const places = matched(before.pairs, pairs)
    const columns = take.many(m * CONTACT)
    const contacts = new Uint32Array(m * CONTACT)
    const old = before.pairs.length / 2
    for (let c = 0; c < CONTACT; c++)
      for (let i = 0; i < m; i++) {
        const j = places[i]
        contacts[c * m + i] = add(columns[c * m + i], j < 0 ? 0 : before.contacts[c * old + j])
      }
    const soft = restored(take.many(softWords(head)), before.soft)
    before = { bodies, pairs, contacts, soft }
    out.push(
      lazily({ time: time.getFloat64(0, true), step, contacts: m, pairs }, {
        position: () => lengths(bodies, n, 0, head.quantum),
        turn: () => scaled(bodies, n, 3, 4, 1 / UNIT),
        velocity: () => floats(bodies, n, 7, 3, DROP_VELOCITY),
        spin: () => floats(bodies, n, 10, 3, DROP_VELOCITY),
        error: () => floats(bodies, n, 13, 1, DROP_ERROR),
        point: () => lengths(contacts, m, 0, head.quantum * COARSER),
        normal: () => scaled(contacts, m, 3, 3, 1 / NORMAL),
        force: () => floats(contacts, m, 6, 3, DROP_FORCE),
        gap: () => floats(contacts, m, 9, 1, DROP_FORCE),
        contactError: () => floats(contacts, m, 10, 1, DROP_ERROR),
        soft: () => softFrames(soft, head),
      }),
    )
  }
  return { frames: out, last: before }
}

/** Adds fields that are computed when they are first asked for: most frames of a long run are never looked at. */
function lazily<A extends object, B extends object>(target: A, fields: { [K in keyof B]: () => B[K] }): A & B {
  for (const name of Object.keys(fields) as (keyof B)[]) {
    const get = () => {
      const value = fields[name]()
      Object.defineProperty(target, name, { value, enumerable: true })
      return value
    }
    Object.defineProperty(target, name, { get, configurable: true, enumerable: true })
  }
  return target as A & B
}

function softWords(head: Head): number {
  return head.soft.reduce((sum, s) => sum + s.nodes * (s.scalar ? 4 : 3), 0)
}

function softFrames(words: Uint32Array, head: Head): Frame['soft'] {
  let at = 0
  return head.soft.map((s) => {
    const part = words.subarray(at, (at += s.nodes * (s.scalar ? 4 : 3)))
    return { position: lengths(part, s.nodes, 0, head.quantum), scalar: s.scalar ? floats(part, s.nodes, 3, 1, DROP_VELOCITY) : null }
  })
}

const lengths = (words: Uint32Array, n: number, column: number, unit: number) => scaled(words, n, column, 3, unit)

/** Columns of whole numbers, times a unit, interleaved. */
function scaled(words: Uint32Array, n: number, column: number, width: number, unit: number): Float32Array {
  const out = new Float32Array(n * width)
  for (let c = 0; c < width; c++) for (let i = 0; i < n; i++) out[i * width + c] = (words[(column + c) * n + i] | 0) * unit
  return out
}

/** Columns of floats whose last bits were dropped, interleaved. */
function floats(words: Uint32Array, n: number, column: number, width: number, drop: number): Float32Array {
  const bits = new Uint32Array(n * width)
  for (let c = 0; c < width; c++) for (let i = 0; i < n; i++) bits[i * width + c] = words[(column + c) * n + i] << drop
  return new Float32Array(bits.buffer)
}

function restored(words: Uint32Array, before: Uint32Array): Uint32Array {
  const out = new Uint32Array(words.length)
  for (let i = 0; i < words.length; i++) out[i] = add(words[i], i < before.length ? before[i] : 0)
  return out
}

/** For each pair, the place of the same one a frame before, or −1: both lists are sorted. */
export function matched(before: Uint32Array, now: Uint32Array): Int32Array {
  const out = new Int32Array(now.length / 2).fill(-1)
  let j = 0
  for (let i = 0; i < out.length; i++) {
    const [a, b] = [now[2 * i], now[2 * i + 1]]
    while (2 * j < before.length && (before[2 * j] < a || (before[2 * j] === a && before[2 * j + 1] < b))) j++
    if (2 * j < before.length && before[2 * j] === a && before[2 * j + 1] === b) out[i] = j++
  }
  return out
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

/** Unpacks zlib with what the browser brings along. */
export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** Base64 as bytes. */
export function fromBase64(coded: string): Uint8Array {
  const plain = atob(coded)
  const out = new Uint8Array(plain.length)
  for (let i = 0; i < plain.length; i++) out[i] = plain.charCodeAt(i)
  return out
}
