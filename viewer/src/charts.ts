// Plots over time: every figure that a step says of itself.

import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { plain, power, quantity, superscript } from './format'
import { touching } from './panels'
import { Picker, picked } from './quantities'
import type { Recording } from './record'

type Column = (number | null)[]

interface Line {
  label: string
  values: Column
  color: string
  points?: boolean
}

/** A plot: what it is called, its lines over x, and what its tooltip says of one place. */
interface Plot {
  title: string
  unit: string
  log?: boolean
  /** Powers of ten that a logarithmic axis shows at most: what is smaller stands at its foot. */
  decades?: number
  x: number[]
  xUnit: string
  lines: Line[]
  say: (i: number) => string
}

const PALETTE = ['#3f7cc4', '#d9822b', '#3a9d78', '#c2526a', '#8a6bc1', '#a38a2f', '#3aa0b8', '#7d8590']
/** What is drawn of zero on a logarithmic axis if there is nothing else. */
const FLOOR = 1e-20
const DECADES = 12
/** Height of a plot, px. */
const HEIGHT = 200

/** One plot on the page. */
class Chart {
  private plot: uPlot
  readonly element: HTMLElement
  private tip: HTMLElement
  private current: Plot
  private now: number | null = null
  private shape: string

  constructor(first: Plot, name: string, private seek: (x: number) => void) {
    this.current = first
    this.element = document.createElement('figure')
    this.element.className = 'chart'
    this.element.dataset.chart = name
    this.element.innerHTML = `<figcaption>${first.title} <span class="unit">${first.unit}</span></figcaption><div class="plot"></div><div class="tip" hidden></div>`
    this.tip = this.element.querySelector('.tip')!
    this.shape = shapeOf(first)
    this.plot = this.make()
    this.count()
  }

  set(plot: Plot): void {
    this.current = plot
    // Lines that come or go need a new plot; more points do not.
    if (shapeOf(plot) !== this.shape) {
      this.shape = shapeOf(plot)
      this.plot.destroy()
      this.plot = this.make()
    } else this.plot.setData(this.data())
    this.count()
  }

  /** Draws the line of the present time. */
  mark(x: number): void {
    this.now = x
    this.plot.redraw(false)
  }

  /** Fits the page's width and colours. */
  fit(): void {
    const place = this.element.querySelector<HTMLElement>('.plot')!
    this.plot.setSize({ width: Math.max(200, place.clientWidth), height: HEIGHT })
  }

  recolor(): void {
    this.plot.destroy()
    this.plot = this.make()
  }

  private count(): void {
    this.element.dataset.points = String(this.current.x.length)
  }

  private data(): uPlot.AlignedData {
    const { log, x, lines } = this.current
    const foot = log ? footOf(lines, this.current.decades ?? DECADES) : 0
    const floor = (v: number | null) => (log && v !== null ? Math.max(v, foot) : v)
    return [x, ...lines.map((l) => l.values.map(floor))] as uPlot.AlignedData
  }

  private make(): uPlot {
    const place = this.element.querySelector<HTMLElement>('.plot')!
    const style = getComputedStyle(document.documentElement)
    const [ink, rule] = [style.getPropertyValue('--muted').trim() || '#666', style.getPropertyValue('--rule').trim() || '#ddd']
    const { lines, log, xUnit } = this.current
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1, size: 4 }, font: '11px system-ui, sans-serif' }
    const logValues = (_: uPlot, ticks: number[]) => ticks.map((v) => (v === null || !isDecade(v) ? '' : superTen(v)))
    const options: uPlot.Options = {
      width: Math.max(200, place.clientWidth || 420),
      height: HEIGHT,
      legend: { show: lines.length > 1, live: false },
      cursor: { sync: xUnit === 's' ? { key: 'time', setSeries: false } : undefined, drag: { x: true, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: log ? { distr: 3, range: decades } : { range: padded } },
      axes: [
        { ...axis, size: 26, values: (_, ticks) => ticks.map((v) => `${+v.toFixed(6)}`), label: xUnit === 's' ? 'time, s' : xUnit, labelFont: axis.font, labelSize: 16, labelGap: 0 },
        { ...axis, size: 62, splits: log ? powers : undefined, filter: log ? (_, ticks) => ticks : undefined, values: log ? logValues : (_, ticks) => ticks.map((v) => shortNumber(v)) },
      ],
      series: [{}, ...lines.map((l) => this.series(l))],
      hooks: { setCursor: [(u) => this.hover(u)], draw: [(u) => this.drawNow(u)], ready: [(u) => this.listen(u)] },
    }
    return new uPlot(options, this.data(), place)
  }

  private series(line: Line): uPlot.Series {
    const points = line.points || this.current.x.length < 2
    return { label: line.label, stroke: line.color, width: 1.4, paths: line.points ? () => null : undefined, points: { show: points, size: 4, fill: line.color } }
  }

  /** A click goes to that time; a drag zooms, a double click shows everything again. */
  private listen(u: uPlot): void {
    let from = 0
    u.over.addEventListener('mousedown', (e) => (from = e.offsetX))
    u.over.addEventListener('click', (e) => {
      if (Math.abs(e.offsetX - from) < 4) this.seek(u.posToVal(e.offsetX, 'x'))
    })
    u.over.addEventListener('mouseleave', () => (this.tip.hidden = true))
  }

  private hover(u: uPlot): void {
    const { idx, left, top } = u.cursor
    const inside = idx !== null && idx !== undefined && left !== undefined && left >= 0 && u.over.matches(':hover')
    this.tip.hidden = !inside
    if (!inside) return
    this.tip.innerHTML = this.current.say(idx!)
    const x = u.over.offsetLeft + left!
    const right = x > this.element.clientWidth / 2
    this.tip.style.left = right ? '' : `${x + 14}px`
    this.tip.style.right = right ? `${this.element.clientWidth - x + 14}px` : ''
    this.tip.style.top = `${28 + Math.max(0, top! - 10)}px`
  }

  private drawNow(u: uPlot): void {
    if (this.now === null || this.current.xUnit !== 's') return
    const x = u.valToPos(this.now, 'x', true)
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return
    u.ctx.save()
    u.ctx.strokeStyle = '#ff6a3d'
    u.ctx.lineWidth = devicePixelRatio
    u.ctx.beginPath()
    u.ctx.moveTo(x, u.bbox.top)
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height)
    u.ctx.stroke()
    u.ctx.restore()
  }
}

/** All plots of a recording. */
export class Charts {
  private charts = new Map<string, Chart>()
  private picker: Picker

  constructor(private recording: Recording, private place: HTMLElement, private seek: (time: number) => void) {
    this.picker = new Picker(recording, () => this.refresh())
    place.append(this.picker.element)
    this.refresh()
    new ResizeObserver(() => this.charts.forEach((c) => c.fit())).observe(place)
  }

  /** Shows what has been recorded so far. */
  refresh(): void {
    this.quantities()
    for (const [name, plot] of Object.entries(plots(this.recording))) this.show(name, plot)
  }

  /** The quantities that are picked, one plot for each unit. */
  private quantities(): void {
    const groups = new Map<string, string[]>()
    for (const name of this.picker.names) {
      const unit = this.picker.unit(name)
      groups.set(unit, [...(groups.get(unit) ?? []), name])
    }
    for (const [key, chart] of this.charts) {
      if (!key.startsWith('quantity ') || groups.has(key.slice(9))) continue
      chart.element.remove()
      this.charts.delete(key)
    }
    const x = this.recording.frames.map((f) => f.time)
    for (const [unit, names] of groups) {
      const lines = names.map((name, k) => ({ label: name, values: picked(this.recording, name), color: PALETTE[k % PALETTE.length] }))
      const say = (i: number) => `t = ${x[i].toPrecision(6)} s<br>${lines.map((l) => `${escape(l.label)} <b>${quantity(l.values[i] ?? NaN, unit)}</b>`).join('<br>')}`
      this.show(`quantity ${unit}`, { title: 'Over time', unit, x, xUnit: 's', lines, say }, this.picker.element)
    }
  }

  mark(time: number): void {
    this.charts.forEach((c) => c.mark(time))
  }

  recolor(): void {
    this.charts.forEach((c) => c.recolor())
  }

  /** How the solver came to its answer in the recorded step nearest to a step. */
  convergence(step: number): void {
    const { histories } = this.recording
    if (histories.length === 0) return
    const nearest = histories.reduce((best, h) => (Math.abs(h.step - step) < Math.abs(best.step - step) ? h : best))
    const { work, joule } = nearest
    const x = work.map((_, i) => i)
    this.show('convergence', {
      title: `Convergence of step ${nearest.step}, ${nearest.solver || 'solver'}`,
      unit: 'J, island after island',
      log: true,
      decades: 40,
      x,
      xUnit: 'sample',
      lines: [{ label: 'error', values: joule, color: PALETTE[0] }],
      say: (i) => `sample ${i}, work ${work[i]}<br><b>${power(joule[i])} J</b>`,
    })
    this.charts.get('convergence')!.element.querySelector('figcaption')!.firstChild!.textContent = `Convergence of step ${nearest.step}, ${nearest.solver || 'solver'} `
  }

  private show(name: string, plot: Plot, after?: Element): void {
    const known = this.charts.get(name)
    if (known) return known.set(plot)
    const chart = new Chart(plot, name, plot.xUnit === 's' ? this.seek : () => {})
    this.charts.set(name, chart)
    if (after) after.after(chart.element)
    else this.place.append(chart.element)
    chart.fit()
  }
}

const escape = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')

/** The plots by name. */
export function plots(recording: Recording): Record<string, Plot> {
  const { steps, names, head } = recording
  const x = steps.time
  const name = (column: string, i: number) => names[steps[column][i]] ?? '?'
  const when = (i: number) => `step ${steps.step[i]}, t = ${x[i].toPrecision(6)} s`
  const base = { x, xUnit: 's' }
  const solvers = [...new Set(steps.solver)].sort((a, b) => a - b)
  const known = (value: number) => (Number.isFinite(value) ? value : null)
  const timed = steps.scheme_metre.some(Number.isFinite)
  const accepted = (i: number) => (steps.accepted[i] ? '' : '<br><b class="bad">not accepted</b>')
  return {
    error: {
      ...base,
      title: 'Error of each step',
      unit: 'J',
      log: true,
      lines: [
        ...(touching(recording) ? [{ label: 'estimated energy of the velocity error', values: steps.estimate, color: '#a8b0ba' }] : []),
        { label: 'local errors, summed', values: steps.joule, color: PALETTE[0], points: x.length < 400 },
        ...(timed ? [{ label: 'error of the time step', values: steps.scheme_joule.map(known), color: PALETTE[1] }] : []),
      ],
      say: (i) =>
        `${when(i)}<br><b>${power(steps.joule[i])} J</b>, ${power(steps.relative[i])} of the energy scale<br>worst: ${name('worst', i)}<br>${name('solver', i)}, work ${steps.work[i]}${accepted(i)}`,
    },
    ...(timed
      ? {
          time: {
            ...base,
            title: 'Error of the time step',
            unit: 'm, each step',
            log: true,
            lines: [{ label: 'positions', values: steps.scheme_metre.map(known), color: PALETTE[1], points: x.length < 400 }],
            say: (i: number) =>
              `${when(i)}<br>${Number.isFinite(steps.scheme_metre[i]) ? `<b>${quantity(steps.scheme_metre[i], 'm')}</b>, ${power(steps.scheme_joule[i])} J` : 'not known'}${steps.event[i] ? '<br>an event in the step' : ''}`,
          },
        }
      : {}),
    iterations: {
      ...base,
      title: 'Solver and its work',
      unit: touching(recording) ? 'iterations, sweeps or pivots' : 'evaluations',
      lines: solvers.map((s, k) => ({
        label: names[s] ?? '?',
        values: steps.work.map((w, i) => (steps.solver[i] === s ? w : null)),
        color: PALETTE[k % PALETTE.length],
        points: true,
      })),
      say: (i) => `${when(i)}<br><b>${name('solver', i)}</b>, work ${steps.work[i]}<br>${steps.rows[i]} rows, ${steps.contacts[i]} contacts`,
    },
    energy: { ...base, title: 'Energy ledger', unit: 'J, since the beginning', lines: ledger(recording), say: (i) => sayLedger(recording, i, when(i)) },
    penetration: touching(recording)
      ? {
          ...base,
          title: 'Deepest overlap',
          unit: 'm',
          lines: [{ label: 'overlap', values: steps.penetration, color: PALETTE[3] }],
          say: (i) => `${when(i)}<br><b>${quantity(steps.penetration[i], 'm')}</b>`,
        }
      : {
          ...base,
          title: 'Largest wrong velocity',
          unit: 'm/s or rad/s, before it is taken away',
          log: true,
          lines: [{ label: 'velocity', values: steps.velocity, color: PALETTE[3] }],
          say: (i) => `${when(i)}<br><b>${quantity(steps.velocity[i], 'm/s')}</b><br>${name('worst', i)}`,
        },
    contacts: {
      ...base,
      title: 'Size of the problem',
      unit: '',
      lines: [
        ...(touching(recording) ? [{ label: 'contacts', values: steps.contacts, color: PALETTE[2] }] : []),
        { label: 'rows', values: steps.rows, color: PALETTE[4] },
      ],
      say: (i) => `${when(i)}<br>${steps.contacts[i]} contacts, ${steps.rows[i]} rows`,
    },
    speed: {
      ...base,
      title: 'Real-time factor',
      unit: 'simulated seconds per second',
      log: true,
      lines: [{ label: 'factor', values: steps.wall.map((w) => head.dt / Math.max(w, 1e-9)), color: PALETTE[6] }],
      say: (i) => `${when(i)}<br><b>${plain(head.dt / Math.max(steps.wall[i], 1e-9))}</b> × real time<br>${quantity(steps.wall[i], 's')} per step`,
    },
  }
}

const TERMS: [string, string][] = [
  ['kinetic', 'kinetic'],
  ['potential', 'potential, change'],
  ['friction', 'taken by friction'],
  ['impact', 'taken by impacts'],
  ['dampers', 'taken by dampers'],
  ['motors', 'given by motors'],
  ['applied', 'given by forces'],
  ['scheme', 'given by the time step'],
  ['defect', 'given by the solver'],
  ['events', 'brought by events'],
]

function term(recording: Recording, name: string): number[] {
  const values = recording.steps[name] ?? recording.steps.kinetic.map(() => 0)
  return name === 'potential' && values.length ? values.map((v) => v - values[0]) : values
}

/** The terms that amount to something: a thousandth of the largest, at least. */
function ledger(recording: Recording): Line[] {
  const all = TERMS.map(([key, label]) => ({ label, values: term(recording, key) as Column }))
  const size = (line: { values: Column }) => line.values.reduce<number>((m, v) => Math.max(m, Math.abs(v ?? 0)), 0)
  const largest = Math.max(...all.map(size))
  const shown = all.map((line, i) => ({ ...line, color: PALETTE[i % PALETTE.length] })).filter((line) => size(line) > 1e-3 * largest)
  return shown.length ? shown : [{ ...all[0], color: PALETTE[0] }]
}

function sayLedger(recording: Recording, i: number, when: string): string {
  const rows = TERMS.map(([key, label]) => [label, term(recording, key)[i]] as const).filter(([, v]) => v !== 0)
  return `${when}<br>${rows.map(([label, v]) => `${label} <b>${quantity(v, 'J')}</b>`).join('<br>')}`
}

function shapeOf(plot: Plot): string {
  return plot.title.split(' of step')[0] + plot.lines.map((l) => `${l.label}${l.points}`).join()
}

function isDecade(v: number): boolean {
  const e = Math.log10(v)
  return Math.abs(e - Math.round(e)) < 1e-6
}

function superTen(v: number): string {
  const e = Math.round(Math.log10(v))
  return e >= -2 && e <= 3 ? String(+(10 ** e).toFixed(2)) : `10${superscript(e)}`
}

function shortNumber(v: number): string {
  const size = Math.abs(v)
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? power(v).replace('.0·', '·') : String(+v.toPrecision(6))
}

/** The least number that a logarithmic axis shows. */
function footOf(lines: Line[], decades: number): number {
  let [low, high] = [Infinity, 0]
  for (const { values } of lines)
    for (const v of values)
      if (v !== null && v > 0) {
        low = Math.min(low, v)
        high = Math.max(high, v)
      }
  return high > 0 ? Math.max(low, high * 10 ** -decades) : FLOOR
}

function decades(_: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(high > 0)) return [FLOOR, 1]
  const top = 10 ** Math.ceil(Math.log10(high) + 0.05)
  return [Math.min(10 ** Math.floor(Math.log10(Math.max(low, Number.MIN_VALUE))), top / 10), top]
}

/** Powers of ten, six of them or so. */
function powers(_: uPlot, __: number, low: number, high: number): number[] {
  const [a, b] = [Math.round(Math.log10(low)), Math.round(Math.log10(high))]
  const every = Math.max(1, Math.ceil((b - a) / 6))
  return Array.from({ length: Math.floor((b - a) / every) + 1 }, (___, k) => 10 ** (a + k * every))
}

function padded(_: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1]
  const span = high - low || Math.abs(high) || 1
  return [low >= 0 && low < 0.5 * span ? 0 : low - 0.06 * span, high + 0.06 * span]
}
