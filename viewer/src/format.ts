// Numbers for people: units, prefixes, a few digits.

const PREFIXES: [number, string][] = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
  [1, ''],
  [1e-3, 'm'],
  [1e-6, 'µ'],
  [1e-9, 'n'],
  [1e-12, 'p'],
]

/** A number with a unit and the prefix that suits it: 0.0012 m → 1.20 mm. Below a picounit, in powers of ten. */
export function quantity(x: number, unit: string, digits = 3): string {
  if (!Number.isFinite(x)) return `${x} ${unit}`
  if (x === 0) return `0 ${unit}`
  const size = Math.abs(x)
  const found = PREFIXES.find(([factor]) => size >= factor * 0.9995)
  if (!found || size >= 1e12) return `${power(x)} ${unit}`
  return `${(x / found[0]).toPrecision(digits)} ${found[1]}${unit}`
}

/** A small or large number as 3.1·10⁻⁹. */
export function power(x: number): string {
  if (x === 0 || !Number.isFinite(x)) return String(x)
  let exponent = Math.floor(Math.log10(Math.abs(x)))
  // 9.99 is 10.0 with three digits.
  if (Math.abs(x / 10 ** exponent).toFixed(1) === '10.0') exponent++
  if (exponent >= -3 && exponent < 4) return String(+x.toPrecision(3))
  const mantissa = (x / 10 ** exponent).toFixed(1)
  return `${mantissa}·10${superscript(exponent)}`
}

/** A whole number in raised digits. */
export function superscript(n: number): string {
  return [...String(n)].map((c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)])).join('')
}

/** A number with as many digits as a panel has room for. */
export function plain(x: number): string {
  const size = Math.abs(x)
  if (size !== 0 && (size < 1e-4 || size >= 1e5)) return power(x)
  return x.toFixed(4)
}

/** Bytes. */
export function bytes(n: number): string {
  return n < 1e6 ? `${(n / 1e3).toFixed(0)} kB` : `${(n / 1e6).toFixed(1)} MB`
}

/** Text that may stand in HTML. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!)
}

/** A round number near x: 1, 2 or 5 times a power of ten. */
export function round(x: number): number {
  const base = 10 ** Math.floor(Math.log10(x))
  const lead = x / base
  return (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10) * base
}
