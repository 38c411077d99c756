// What stands beside the pictures: the figures of the run, the state of a body, verdicts, facts, the scene's text.

import { bytes, escaped, plain, power, quantity } from './format'
import { measure } from './motion'
import type { Frame, Recording } from './record'

/** Whether contacts are looked for at all. */
export function touching({ head }: Recording): boolean {
  return head.law !== 'none'
}

/** So many things. */
const many = (n: number, one: string, more = `${one}s`) => `${n} ${n === 1 ? one : more}`

/** The row of figures under the title. */
export function figures(recording: Recording): string {
  const { steps, head, tail, names } = recording
  const n = recording.rows
  let worst = -1
  for (let i = 0; i < n; i++) if (worst < 0 || steps.joule[i] > steps.joule[worst]) worst = i
  const bad = steps.accepted.filter((a) => !a).length
  const wrong = steps.velocity.reduce((a, b) => Math.max(a, b), 0)
  const deepest = steps.penetration.reduce((a, b) => Math.max(a, b), 0)
  const wall = steps.wall.reduce((a, b) => a + b, 0)
  const factor = wall > 0 && n ? steps.time[n - 1] / (tail?.wall_s ?? wall) : 0
  const cards: [string, string, string][] = [
    ['worst step', worst < 0 ? '–' : `${power(steps.joule[worst])} J`, worst < 0 ? '' : (names[steps.worst[worst]] ?? '')],
    ['verdict', bad ? `${bad} steps not accepted` : 'all accepted', touching(recording) ? `${head.law}, ${head.solver}` : head.solver],
    ['simulated', `${(n ? steps.time[n - 1] : 0).toPrecision(4)} s`, `${n ? steps.step[n - 1] : 0} steps of ${quantity(head.dt, 's')}`],
    ['real-time factor', factor ? String(+factor.toPrecision(3)) : '–', wall ? `${quantity(tail?.wall_s ?? wall, 's')} of computing` : ''],
    touching(recording) ? ['deepest overlap', quantity(deepest, 'm'), ''] : ['largest wrong velocity', quantity(wrong, 'm/s'), 'before correction'],
    ['recorded', `${recording.frames.length} frames`, `${bytes(recording.length)}${thinning(recording)}`],
  ]
  return cards.map(([label, value, more]) => `<div class="figure"><dt>${label}</dt><dd>${escaped(value)}</dd><p>${escaped(more)}</p></div>`).join('')
}

function thinning(recording: Recording): string {
  const { head, tail } = recording
  const every = head.every * (tail?.thinned ?? 1)
  const plots = head.step_every > 1 ? `, plots: the worst of every ${head.step_every} steps` : ''
  return (every > 1 ? `, every ${every} steps` : ', every step') + plots
}

/** The state of a body in a frame. */
export function stateOf(recording: Recording, body: number, frame: Frame | undefined): string {
  const { head } = recording
  const { name, kind, mass, color } = head.bodies[body]
  const rows: [string, string][] = [['kind', kind]]
  if (mass !== null) rows.push(['mass', quantity(mass * 1000, 'g')])
  const k = head.moving.indexOf(body)
  const soft = head.soft.findIndex((s) => s.name === name)
  if (frame && soft >= 0) rows.push(...softState(recording, soft, frame))
  else if (frame && k >= 0) {
    const triple = (list: Float32Array) => [...list.subarray(3 * k, 3 * k + 3)].map((x) => plain(x)).join('  ')
    rows.push(['position, m', triple(frame.position)], ['velocity, m/s', triple(frame.velocity)])
    rows.push(['speed', quantity(Math.hypot(...frame.velocity.subarray(3 * k, 3 * k + 3)), 'm/s')])
    rows.push(['spin, rad/s', triple(frame.spin)])
    rows.push(['forces, summed', quantity(measure(head, frame, 'force')[k], 'N')], ['error', `${power(frame.error[k])} J`])
  }
  const touches = frame ? contactsOf(recording, body, frame) : ''
  const list = rows.map(([label, value]) => `<tr><th>${label}</th><td>${escaped(value)}</td></tr>`).join('')
  return `<h2><span class="dot" style="background:${color}"></span>${escaped(name)}</h2><table class="state">${list}</table>${touches}`
}

/** What is known of a soft body in a frame: its nodes, how far they went, the number on them. */
function softState({ head, frames }: Recording, k: number, frame: Frame): [string, string][] {
  const { nodes, triangles, scalar } = head.soft[k]
  const [now, first] = [frame.soft[k].position, frames[0].soft[k].position]
  let far = 0
  for (let i = 0; i < nodes; i++) far = Math.max(far, Math.hypot(...[0, 1, 2].map((c) => now[3 * i + c] - first[3 * i + c])))
  const rows: [string, string][] = [['surface', `${nodes} nodes, ${triangles.length / 3} triangles`], ['largest displacement', quantity(far, 'm')]]
  const values = frame.soft[k].scalar
  if (scalar && values) rows.push([`${scalar.name}, largest`, quantity(values.reduce((a, b) => Math.max(a, b), 0), scalar.unit)])
  return rows
}

function contactsOf(recording: Recording, body: number, frame: Frame): string {
  const rows: [string, number, number][] = []
  for (let c = 0; c < frame.contacts; c++) {
    const [a, b] = [frame.pairs[2 * c], frame.pairs[2 * c + 1]]
    if (a !== body && b !== body) continue
    rows.push([recording.head.bodies[a === body ? b : a].name, Math.hypot(...frame.force.subarray(3 * c, 3 * c + 3)), frame.gap[c]])
  }
  if (rows.length === 0) return '<p class="quiet">touches nothing</p>'
  rows.sort((x, y) => y[1] - x[1])
  const list = rows.slice(0, 12).map(([name, force, gap]) => `<tr><td>${escaped(name)}</td><td>${quantity(force, 'N')}</td><td>${quantity(gap, 'm')}</td></tr>`)
  const more = rows.length > 12 ? `<p class="quiet">and ${rows.length - 12} more</p>` : ''
  return `<table class="touches"><thead><tr><th>touches</th><th>force</th><th>gap</th></tr></thead><tbody>${list.join('')}</tbody></table>${more}`
}

/** What to read while nothing is chosen. */
export function hint(recording: Recording): string {
  const { head } = recording
  const moving = head.moving.length
  const parts = [many(moving, 'moving body', 'moving bodies')]
  if (head.soft.length) parts.push(`${head.soft.length} of them soft`)
  if (head.joints.length) parts.push(many(head.joints.length, 'joint'))
  return `<h2>${escaped(head.name)}</h2><p>${escaped(head.about)}</p><p class="quiet">${parts.join(' · ')}</p>
    <p class="quiet">Click a body to see its state. Drag to turn, wheel to come closer, right button to shift. Space plays, arrow keys step.</p>`
}

/** The facts that the scene states. */
export function facts(recording: Recording): string {
  const list = recording.tail?.facts ?? []
  if (list.length === 0) return ''
  const short = (x: number) => String(+x.toPrecision(9)).replaceAll('-', '−')
  const wanted = (low: number | null, high: number | null, unit: string) =>
    (low === null ? `≤ ${short(high!)}` : high === null ? `≥ ${short(low)}` : `${short(low)} … ${short(high)}`) + ` ${unit}`
  const rows = list.map((fact) => {
    const f = { ...fact, unit: fact.unit === 'a pure number' ? '' : fact.unit }
    const verdict = f.found === null ? 'open' : f.holds ? 'holds' : 'fails'
    const found = f.found === null ? '–' : `${short(f.found)} ${f.unit}`
    return `<tr class="${verdict}"><td><b>${verdict}</b></td><td>${escaped(f.name)}</td><td class="n">${+f.time.toPrecision(6)} s</td><td class="n">${escaped(found)}</td><td class="n">${escaped(wanted(f.at_least, f.at_most, f.unit))}</td><td>${escaped(f.about)}</td></tr>`
  })
  return `<h2>Facts of the scene</h2><table class="wide"><thead><tr><th></th><th>fact</th><th class="n">at</th><th class="n">found</th><th class="n">wanted</th><th>why</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

/** The worst steps, and those that were not accepted. */
export function verdicts(recording: Recording): string {
  const { steps, names } = recording
  const order = steps.time.map((_, i) => i).sort((a, b) => steps.accepted[a] - steps.accepted[b] || steps.joule[b] - steps.joule[a])
  const rows = order.slice(0, 12).map((i) => {
    const cells = [steps.step[i], `${steps.time[i].toPrecision(5)} s`, `${power(steps.joule[i])} J`, power(steps.relative[i]), `${power(steps.estimate[i])} J`, quantity(steps.velocity[i], 'm/s'), Number.isFinite(steps.scheme_metre[i]) ? quantity(steps.scheme_metre[i], 'm') : '–']
    const texts = [names[steps.worst[i]] ?? '?', [names[steps.solver[i]] ?? '?', ...(steps.work[i] ? [steps.work[i]] : [])].join(' '), steps.accepted[i] ? 'accepted' : 'not accepted']
    return `<tr data-time="${steps.time[i]}" class="${steps.accepted[i] ? '' : 'fails'}">${cells.map((c) => `<td class="n">${c}</td>`).join('')}${texts.map((t) => `<td>${escaped(String(t))}</td>`).join('')}</tr>`
  })
  const heads = ['step', 'time', 'error', 'of the energy scale', 'estimate', 'largest wrong velocity', 'time step off by'].map((h) => `<th class="n">${h}</th>`).join('')
  return `<h2>Verdicts: the ${rows.length} worst of ${recording.rows} steps</h2><table class="wide pick"><thead><tr>${heads}<th>worst constraint</th><th>solver, work</th><th>verdict</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

/** The files that the scene was read from. */
export function texts(recording: Recording): string {
  return recording.head.texts.map((t) => `<details><summary>${escaped(t.name)}</summary><pre>${escaped(t.text)}</pre></details>`).join('')
}
