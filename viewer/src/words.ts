// Words: 32-bit numbers, differences, planes of bytes; the twin of crates/record/src/record/words.rs.

/** The word whose difference from `from` is `d`; the sign of the difference is its lowest bit. */
export function add(d: number, from: number): number {
  return (from + ((d >>> 1) ^ -(d & 1))) >>> 0
}

/** Four planes of bytes, the lowest first, as words. */
export function fromPlanes(bytes: Uint8Array): Uint32Array {
  const n = Math.floor(bytes.length / 4)
  const out = new Uint32Array(n)
  for (let i = 0; i < n; i++) out[i] = (bytes[i] | (bytes[n + i] << 8) | (bytes[2 * n + i] << 16) | (bytes[3 * n + i] << 24)) >>> 0
  return out
}

/** Takes words one after the other. */
export class Taker {
  private at = 0
  constructor(private words: Uint32Array) {}

  one(): number {
    return this.many(1)[0]
  }

  many(n: number): Uint32Array {
    if (this.at + n > this.words.length) throw new Error('the record is damaged: a chunk ends too early')
    return this.words.subarray(this.at, (this.at += n))
  }
}
