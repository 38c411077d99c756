// The page: reads the record that it carries, or the one that `signorini view` serves, and shows it.

import './style.css'
import { Charts } from './charts'
import { escaped, power, quantity } from './format'
import { UNITS, viridis, type Measure } from './motion'
import { facts, figures, hint, stateOf, texts, touching, verdicts } from './panels'
import { fromBase64, Recording } from './record'
import { Stage, type Arrows } from './stage'

/** How often a page that is served asks for more, ms. */
const PATIENCE = 400
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4]

const app = document.getElementById('app')!
const need = <T extends HTMLElement>(selector: string): T => document.querySelector<T>(selector)!

class Page {
  private recording = new Recording()
  private stage: Stage | null = null
  private charts!: Charts
  private playing = false
  private speed = 1
  private time = 0
  /** The page stays at the end while a run goes on, unless the user looks elsewhere. */
  private follow = false
  private last = 0
  private shownFrame = -1

  async start(): Promise<void> {
    const carried = document.getElementById('record')!.textContent!.trim()
    if (carried && !carried.startsWith('@@')) {
      await this.recording.take(fromBase64(carried))
      // The text is not needed any more; it may be large.
      document.getElementById('record')!.textContent = ''
      this.build()
    } else {
      this.follow = true
      await this.listen()
    }
  }

  /** Asks for what is new until the run has ended. */
  private async listen(): Promise<void> {
    for (;;) {
      const answer = await fetch(`record?from=${this.recording.length}`, { cache: 'no-store' })
      // The folder holds another run now.
      if (answer.status === 409) return location.reload()
      if (!answer.ok) throw new Error(await answer.text())
      const before = this.recording.length
      await this.recording.take(new Uint8Array(await answer.arrayBuffer()))
      if (this.recording.ready && this.recording.frames.length && !this.charts) this.build()
      else if (this.charts && this.recording.length > before) this.grown()
      if (this.recording.tail) return
      await new Promise((go) => setTimeout(go, PATIENCE))
    }
  }

  private build(): void {
    const { head } = this.recording
    if (!this.recording.ready || this.recording.frames.length === 0) throw new Error('the record holds no frames')
    document.title = `${head.name} · Signorini`
    app.innerHTML = LAYOUT
    need('#title').textContent = head.name
    need('#about').textContent = head.about
    need('#files').innerHTML = texts(this.recording)
    need('#version').textContent = `Signorini ${head.version}`
    this.theme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light', false)
    this.openStage()
    this.charts = new Charts(this.recording, need('#charts'), (t) => this.go(t, true))
    this.speed = SPEEDS.filter((s) => this.end / s >= 3).pop() ?? SPEEDS[0]
    if (this.end / this.speed > 30) this.speed = SPEEDS.find((s) => this.end / s <= 30) ?? 4
    this.speed = Math.min(this.speed, 1) || 1
    need<HTMLSelectElement>('#speed').innerHTML = SPEEDS.map((s) => `<option value="${s}" ${s === this.speed ? 'selected' : ''}>${s}×</option>`).join('')
    this.wire()
    this.grown()
    this.go(this.follow ? this.end : 0)
    app.dataset.ready = 'yes'
    const tick = (now: number) => {
      this.tick(now)
      requestAnimationFrame(tick)
    }
    requestAnimationFrame(tick)
  }

  private openStage(): void {
    try {
      this.stage = new Stage(this.recording, need('#canvas'))
    } catch (fault) {
      need('#stage').insertAdjacentHTML('beforeend', '<p class="nothing">This browser draws no WebGL; plots and tables are below.</p>')
      console.warn(String(fault))
      return
    }
    new ResizeObserver(() => this.stage!.resize(need('#stage').clientWidth, need('#stage').clientHeight)).observe(need('#stage'))
    this.stage.resize(need('#stage').clientWidth, need('#stage').clientHeight)
    this.stage.setTheme(document.documentElement.dataset.theme as 'light' | 'dark')
    need('#grid').textContent = this.stage.grid ? `grid ${quantity(this.stage.grid, 'm')}` : ''
    const { joints } = this.recording.head
    if (joints.length === 0) need('#joints').parentElement!.hidden = true
    // A few joints are worth seeing, many hide what they hold.
    need<HTMLInputElement>('#joints').checked = joints.length > 0 && joints.length <= 60
    this.stage.setLook({ joints: joints.length <= 60 })
    if (!touching(this.recording)) {
      need('#arrows').parentElement!.hidden = true
      need('#color option[value=force]').remove()
    }
    if (!this.recording.head.shapes.some((s) => s.look === 'hidden')) need('#collision').parentElement!.hidden = true
    if (!this.recording.head.shapes.some((s) => s.look === 'glass')) need('#glass').parentElement!.hidden = true
  }

  /** Something was recorded since the last look. */
  private grown(): void {
    const { recording } = this
    need('#figures').innerHTML = figures(recording)
    need('#facts').innerHTML = facts(recording)
    need('#verdicts').innerHTML = verdicts(recording)
    const state = recording.tail ? (recording.tail.complete ? '' : recording.tail.ended) : this.follow ? 'running' : 'the run broke off'
    need('#live').textContent = state
    need('#live').hidden = state === ''
    need<HTMLInputElement>('#scrub').max = String(this.end)
    this.charts.refresh()
    if (this.follow && !this.playing) this.go(this.end)
    else this.show()
  }

  private get end(): number {
    const { frames } = this.recording
    return frames[frames.length - 1].time
  }

  private go(time: number, byUser = false): void {
    this.time = Math.min(this.end, Math.max(0, time))
    if (byUser) this.follow = this.time >= this.end && !this.recording.tail
    this.stage?.seek(this.time)
    this.show()
  }

  private show(): void {
    need<HTMLInputElement>('#scrub').value = String(this.time)
    need('#clock').textContent = `${this.time.toFixed(3)} s`
    this.charts.mark(this.time)
    const frame = this.stage?.frame()
    if (frame && frame.step !== this.shownFrame) {
      this.shownFrame = frame.step
      this.charts.convergence(frame.step)
      this.panel()
    }
    this.stage?.touch()
  }

  private panel(): void {
    const body = this.stage?.selected ?? null
    need('#panel').innerHTML = body === null ? hint(this.recording) : stateOf(this.recording, body, this.stage!.frame())
  }

  private tick(now: number): void {
    const passed = Math.min(0.1, (now - this.last) / 1000)
    this.last = now
    if (this.playing) {
      const next = this.time + passed * this.speed
      if (next >= this.end) this.play(false)
      this.go(next)
    }
    if (this.stage?.draw()) {
      this.label()
      this.legend()
    }
  }

  private play(on: boolean): void {
    if (on && this.time >= this.end) this.time = 0
    this.playing = on
    need('#play').textContent = on ? '❚❚' : '▶'
    need('#play').setAttribute('aria-label', on ? 'pause' : 'play')
  }

  /** The name of the chosen body beside it. */
  private label(): void {
    const label = need('#label')
    const body = this.stage!.selected
    const at = body === null ? null : this.stage!.project(body)
    label.hidden = !at
    if (!at) return
    label.textContent = this.recording.head.bodies[body!].name
    label.style.transform = `translate(${at[0] + 12}px, ${at[1] - 30}px)`
  }

  private legend(): void {
    const { look, span, arrowForce, softSpans } = this.stage!
    const bar = need('#legend')
    const parts: string[] = []
    const stops = [0, 0.25, 0.5, 0.75, 1].map((s) => `rgb(${viridis(s).map((c) => Math.round(255 * c)).join(' ')})`)
    const scale = (name: string, ends: string[]) =>
      parts.push(`<span>${escaped(name)} ${ends[0]}</span><i style="background:linear-gradient(90deg, ${stops.join(', ')})"></i><span>${ends[1]}</span>`)
    if (look.color !== 'body') scale('', look.color === 'error' ? span.map((x) => `${power(x)} J`) : span.map((x) => quantity(x, UNITS[look.color])))
    this.recording.head.soft.forEach((s, k) => s.scalar && scale(`${s.scalar.name} of ${s.name}`, softSpans[k].map((x) => quantity(x, s.scalar!.unit))))
    if (look.arrows === 'forces') parts.push(`<span>arrow of full length: ${quantity(arrowForce, 'N')}</span>`)
    const html = parts.join('')
    if (bar.innerHTML !== html) bar.innerHTML = html
  }

  private theme(theme: 'light' | 'dark', redraw = true): void {
    document.documentElement.dataset.theme = theme
    need('#theme').textContent = theme === 'dark' ? 'light' : 'dark'
    this.stage?.setTheme(theme)
    if (redraw) this.charts?.recolor()
  }

  private wire(): void {
    need('#play').addEventListener('click', () => this.play(!this.playing))
    need('#scrub').addEventListener('input', (e) => {
      this.play(false)
      this.go(Number((e.target as HTMLInputElement).value), true)
    })
    need('#speed').addEventListener('change', (e) => (this.speed = Number((e.target as HTMLSelectElement).value)))
    need('#theme').addEventListener('click', () => this.theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'))
    need('#color').addEventListener('change', (e) => this.stage?.setLook({ color: (e.target as HTMLSelectElement).value as Measure }))
    need('#arrows').addEventListener('change', (e) => this.stage?.setLook({ arrows: (e.target as HTMLSelectElement).value as Arrows }))
    for (const name of ['joints', 'glass', 'collision'] as const)
      need(`#${name}`).addEventListener('change', (e) => this.stage?.setLook({ [name]: (e.target as HTMLInputElement).checked }))
    need('#fit').addEventListener('click', () => this.stage?.frameAll())
    need('#verdicts').addEventListener('click', (e) => {
      const row = (e.target as HTMLElement).closest<HTMLElement>('tr[data-time]')
      if (row) this.go(Number(row.dataset.time), true)
    })
    window.addEventListener('keydown', (e) => this.key(e))
    this.pointer()
  }

  private key(e: KeyboardEvent): void {
    if (/INPUT|SELECT|TEXTAREA/.test((e.target as HTMLElement).tagName) && e.key !== ' ') return
    const { frames } = this.recording
    const i = this.stage?.frame() ? frames.indexOf(this.stage.frame()!) : 0
    const jump = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: frames.length - 1 }[e.key]
    if (e.key === ' ') this.play(!this.playing)
    else if (jump !== undefined) this.go(frames[Math.min(frames.length - 1, Math.max(0, jump))].time, true)
    else if (e.key === 'Escape') this.choose(null)
    else return
    e.preventDefault()
  }

  private choose(body: number | null): void {
    this.stage?.select(body)
    this.panel()
  }

  private pointer(): void {
    const canvas = need('#canvas')
    let from: [number, number] = [0, 0]
    let hovered = 0
    canvas.addEventListener('pointerdown', (e) => (from = [e.clientX, e.clientY]))
    canvas.addEventListener('click', (e) => {
      // The end of a drag is no click.
      if (Math.hypot(e.clientX - from[0], e.clientY - from[1]) < 5) this.choose(this.stage!.pick(e.offsetX, e.offsetY))
    })
    const tip = need('#hover')
    canvas.addEventListener('pointermove', (e) => {
      if (e.buttons || performance.now() - hovered < 60) return
      hovered = performance.now()
      const body = this.stage!.pick(e.offsetX, e.offsetY)
      tip.hidden = body === null || body === this.stage!.selected
      if (body === null) return
      tip.textContent = this.recording.head.bodies[body].name
      tip.style.transform = `translate(${e.offsetX + 14}px, ${e.offsetY + 14}px)`
    })
    canvas.addEventListener('pointerleave', () => (tip.hidden = true))
  }
}

const LAYOUT = `
  <header>
    <div><h1 id="title"></h1><p id="about"></p></div>
    <span id="live" hidden></span>
    <button id="theme" class="plain" title="light or dark"></button>
  </header>
  <dl id="figures"></dl>
  <section class="scene">
    <div class="frame">
      <div id="stage"><canvas id="canvas"></canvas>
        <div id="hover" class="name" hidden></div><div id="label" class="name chosen" hidden></div>
        <div id="legend"></div><div id="grid"></div>
      </div>
      <div class="bar">
        <button id="play" aria-label="play">▶</button>
        <input id="scrub" type="range" min="0" step="any" value="0" aria-label="time" />
        <output id="clock"></output>
        <select id="speed" aria-label="speed"></select>
      </div>
      <div class="bar options">
        <label>colour <select id="color"><option value="body">by body</option><option value="speed">by speed</option><option value="force">by contact force</option><option value="error">by error</option></select></label>
        <label>contacts <select id="arrows"><option value="none">hidden</option><option value="forces">forces</option><option value="normals">normals</option></select></label>
        <label><input id="glass" type="checkbox" checked /> see through walls</label>
        <label><input id="joints" type="checkbox" /> joints</label>
        <label><input id="collision" type="checkbox" /> collision shapes</label>
        <button id="fit" class="plain">whole scene</button>
      </div>
    </div>
    <aside id="panel"></aside>
  </section>
  <section id="charts"></section>
  <section id="facts"></section>
  <section id="verdicts"></section>
  <section><h2>The scene as it was read</h2><div id="files"></div></section>
  <footer><span id="version"></span> · every step says how wrong it is, in joules, and which constraint is to blame</footer>`

new Page().start().catch((fault) => {
  app.innerHTML = '<div class="fault"><h1>This run cannot be shown</h1><p></p></div>'
  app.querySelector('p')!.textContent = fault instanceof Error ? fault.message : String(fault)
  app.dataset.ready = 'fault'
})
