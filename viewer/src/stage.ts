// The 3D stage: shapes, soft bodies, arrows, camera, picking.

import * as three from 'three'
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js'
import { mergeGeometries } from 'three/examples/jsm/utils/BufferGeometryUtils.js'
import { round } from './format'
import { frameAt, initialPoses, interpolate, measure, share, spread, strongest, viridis, type Measure, type Poses } from './motion'
import type { Frame, Pose, Recording } from './record'

export type Arrows = 'none' | 'forces' | 'normals'

export interface Look {
  color: Measure
  arrows: Arrows
  glass: boolean
  joints: boolean
  /** What touches is shown in place of what bodies are drawn by. */
  collision: boolean
}

/** Shapes that share a mesh and a material, drawn at once. */
interface Batch {
  mesh: three.InstancedMesh
  shapes: number[]
}

const ACCENT = new three.Color('#ff6a3d')
const THEMES = {
  light: { sky: '#f4f5f7', ground: '#e4e7eb', line: '#c6ccd4', glass: '#5b7fa6' },
  dark: { sky: '#14171c', ground: '#1d2229', line: '#343c47', glass: '#8fb3d9' },
}

export class Stage {
  readonly renderer: three.WebGLRenderer
  readonly scene = new three.Scene()
  readonly camera = new three.PerspectiveCamera(38, 1, 0.001, 1000)
  readonly controls: OrbitControls
  look: Look = { color: 'body', arrows: 'none', glass: true, joints: false, collision: false }
  selected: number | null = null
  /** The length of the side of a square of the grid, m; 0 without a floor. */
  grid = 0
  /** Newtons that the longest arrow stands for. */
  arrowForce = 1
  span: [number, number] = [0, 1]
  /** Least and greatest number on the nodes of each soft body. */
  softSpans: [number, number][] = []
  time = 0

  private batches: Batch[] = []
  private softs: three.Mesh[] = []
  private arrows: three.InstancedMesh
  private joints: three.Points
  /** From the one side of each joint to the other: rods and open gaps. */
  private rods: three.LineSegments
  private poses: Poses
  private size: number
  private center: three.Vector3
  /** Bodies that are drawn by other shapes than those that touch. */
  private visualized: Set<number>
  private half: three.Vector3
  /** Whether somebody turned the camera. */
  private moved = false
  private sun = new three.DirectionalLight('#ffffff', 2.2)
  private grounds: three.MeshStandardMaterial[] = []
  private lines: three.LineBasicMaterial[] = []
  private glasses: three.MeshStandardMaterial[] = []
  private dirty = true
  private known = -1

  constructor(
    private recording: Recording,
    canvas: HTMLCanvasElement,
  ) {
    const { head } = recording
    const software = isSoftware()
    // Smooth edges and shadows draw everything several times: a processor has not the time for many.
    const many = head.shapes.length >= (software ? 150 : 3000)
    this.renderer = new three.WebGLRenderer({ canvas, antialias: !many, preserveDrawingBuffer: true })
    this.renderer.setPixelRatio(software ? 1 : Math.min(2, window.devicePixelRatio))
    const [low, high] = (recording.tail?.bounds ?? head.bounds).map((b) => new three.Vector3(...b))
    this.center = low.clone().add(high).multiplyScalar(0.5)
    this.half = high.clone().sub(low).multiplyScalar(0.5)
    this.size = Math.max(high.distanceTo(low), 1e-6)
    this.poses = initialPoses(head)
    this.visualized = new Set(head.shapes.filter((s) => s.look === 'hidden').map((s) => s.body))
    this.renderer.shadowMap.enabled = !many
    this.renderer.shadowMap.type = three.PCFShadowMap
    this.camera.up.set(...head.up)
    this.controls = new OrbitControls(this.camera, canvas)
    this.controls.addEventListener('change', () => this.touch())
    this.controls.addEventListener('start', () => (this.moved = true))
    this.light()
    this.place()
    this.soften()
    this.arrows = this.arrowBatch()
    this.joints = this.jointPoints()
    this.rods = this.jointRods()
    this.frameAll()
  }

  /** Puts the camera where everything that moves is seen. */
  frameAll(): void {
    const { up } = this.recording.head
    const top = new three.Vector3(...up)
    const side = Math.abs(top.y) > 0.9 ? new three.Vector3(0.55, 0, 1) : new three.Vector3(0.55, -1, 0)
    const from = side.addScaledVector(top, 0.42).normalize()
    this.controls.target.copy(this.center)
    this.camera.position.copy(this.center).addScaledVector(from, this.distance(from))
    this.camera.near = this.size / 500
    this.camera.far = this.size * 60
    this.camera.updateProjectionMatrix()
    this.controls.update()
    this.touch()
  }

  /** How far away all corners of the room are seen, with a margin: the twin of `camera` in crates/record/src/picture/mod.rs. */
  private distance(from: three.Vector3): number {
    const right = new three.Vector3(...this.recording.head.up).cross(from).normalize()
    const up = from.clone().cross(right)
    const slope = 0.85 * Math.tan((this.camera.fov / 360) * Math.PI)
    let far = 0.5 * this.size
    for (let corner = 0; corner < 8; corner++) {
      const p = new three.Vector3(...([0, 1, 2].map((c) => (corner & (1 << c) ? this.half.getComponent(c) : -this.half.getComponent(c))) as [number, number, number]))
      const off = Math.max(Math.abs(p.dot(right)) / this.camera.aspect, Math.abs(p.dot(up)))
      far = Math.max(far, p.dot(from) + off / slope)
    }
    return far
  }

  setTheme(theme: 'light' | 'dark'): void {
    const colors = THEMES[theme]
    this.scene.background = new three.Color(colors.sky)
    this.grounds.forEach((m) => m.color.set(colors.ground))
    this.lines.forEach((m) => m.color.set(colors.line))
    this.glasses.forEach((m) => m.color.set(colors.glass))
    this.touch()
  }

  resize(width: number, height: number): void {
    this.renderer.setSize(width, height, false)
    this.camera.aspect = width / Math.max(1, height)
    this.camera.updateProjectionMatrix()
    if (!this.moved) this.frameAll()
    this.touch()
  }

  /** Something changed: the next frame is drawn. */
  touch(): void {
    this.dirty = true
  }

  /** Draws if something changed; true if it did. */
  draw(): boolean {
    if (!this.dirty) return false
    this.dirty = false
    this.update()
    this.renderer.render(this.scene, this.camera)
    this.renderer.domElement.dataset.time = String(this.time)
    return true
  }

  seek(time: number): void {
    this.time = time
    this.touch()
  }

  setLook(look: Partial<Look>): void {
    Object.assign(this.look, look)
    this.known = -1
    this.touch()
  }

  select(body: number | null): void {
    this.selected = body
    this.touch()
  }

  /** The frame at or before the present time. */
  frame(): Frame | undefined {
    const { frames } = this.recording
    return frames[frameAt(frames, this.time)]
  }

  /** Where a body is on the canvas, in CSS pixels; none if it is behind the camera. */
  project(body: number): [number, number] | null {
    const soft = this.softs.find((mesh) => mesh.userData.body === body)
    const point = soft ? soft.geometry.boundingSphere!.center.clone() : new three.Vector3().fromArray(this.poses.position, 3 * body)
    point.project(this.camera)
    if (point.z > 1) return null
    const { clientWidth, clientHeight } = this.renderer.domElement
    return [((point.x + 1) / 2) * clientWidth, ((1 - point.y) / 2) * clientHeight]
  }

  /** The body under a point of the canvas, or none. */
  pick(x: number, y: number): number | null {
    const { clientWidth, clientHeight } = this.renderer.domElement
    const ray = new three.Raycaster()
    ray.setFromCamera(new three.Vector2((2 * x) / clientWidth - 1, 1 - (2 * y) / clientHeight), this.camera)
    const { shapes } = this.recording.head
    const solid = this.batches
      .filter((b) => b.mesh.visible && !(b.mesh.userData.look === 'glass' && this.look.glass))
      .flatMap((b) => ray.intersectObject(b.mesh).map(({ distance, instanceId }) => ({ distance, body: shapes[b.shapes[instanceId!]].body })))
    const soft = this.softs.flatMap((mesh) => ray.intersectObject(mesh).map(({ distance }) => ({ distance, body: mesh.userData.body as number })))
    return [...solid, ...soft].sort((a, b) => a.distance - b.distance)[0]?.body ?? null
  }

  private light(): void {
    const top = new three.Vector3(...this.recording.head.up)
    const sky = new three.HemisphereLight('#ffffff', '#8a8f98', 1.5)
    sky.position.copy(top)
    const across = Math.abs(top.x) > 0.9 ? new three.Vector3(0, 1, 0) : new three.Vector3(1, 0, 0)
    this.sun.position.copy(this.center).addScaledVector(top, 2 * this.size).addScaledVector(across, 1.1 * this.size)
    this.sun.position.addScaledVector(new three.Vector3().crossVectors(top, across), -1.1 * this.size)
    this.sun.target.position.copy(this.center)
    this.sun.castShadow = true
    this.sun.shadow.mapSize.set(2048, 2048)
    const reach = 1.3 * this.size
    Object.assign(this.sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * this.size, far: 6 * this.size })
    this.sun.shadow.bias = -0.0005
    this.sun.shadow.normalBias = 0.004 * this.size
    this.scene.add(sky, this.sun, this.sun.target)
  }

  private place(): void {
    const { head } = this.recording
    const geometries = head.meshes.map((m) => {
      const geometry = new three.BufferGeometry()
      geometry.setAttribute('position', new three.Float32BufferAttribute(m.positions, 3))
      geometry.setIndex(m.triangles)
      geometry.computeVertexNormals()
      return geometry
    })
    const groups = new Map<string, number[]>()
    head.shapes.forEach((shape, i) => {
      // Bodies with other shapes for contact are shown one way or the other.
      const key = `${shape.mesh} ${shape.look} ${this.visualized.has(shape.body)}`
      groups.set(key, [...(groups.get(key) ?? []), i])
    })
    for (const shapes of groups.values()) {
      const { mesh, look } = head.shapes[shapes[0]]
      const batch = new three.InstancedMesh(geometries[mesh], this.material(look), shapes.length)
      batch.frustumCulled = false
      batch.castShadow = look === 'solid' || look === 'hidden'
      batch.receiveShadow = look !== 'glass'
      batch.userData.look = look
      batch.userData.visualized = this.visualized.has(head.shapes[shapes[0]].body)
      batch.renderOrder = look === 'glass' ? 1 : 0
      this.batches.push({ mesh: batch, shapes })
      this.scene.add(batch)
      if (look === 'ground') shapes.forEach((i) => this.gridOn(head.bodies[head.shapes[i].body].pose, head.shapes[i].pose, head.shapes[i].scale[0]))
    }
    if (this.grid === 0) this.gridBelow()
  }

  /** Lines where nothing stands on a floor: just below everything. */
  private gridBelow(): void {
    const up = new three.Vector3(...this.recording.head.up)
    const reach = Math.abs(up.x * this.half.x) + Math.abs(up.y * this.half.y) + Math.abs(up.z * this.half.z)
    const at = this.center.clone().addScaledVector(up, -1.05 * reach - 0.02 * this.size)
    const turn = new three.Quaternion().setFromUnitVectors(new three.Vector3(0, 0, 1), up)
    this.gridOn([...at.toArray(), ...turn.toArray()] as Pose, [0, 0, 0, 0, 0, 0, 1], 1.2 * this.size)
  }

  private material(look: string): three.MeshStandardMaterial {
    if (look === 'ground') {
      const material = new three.MeshStandardMaterial({ roughness: 1, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 })
      this.grounds.push(material)
      return material
    }
    if (look === 'glass') {
      const material = new three.MeshStandardMaterial({ transparent: true, opacity: 0.13, depthWrite: false, side: three.DoubleSide })
      this.glasses.push(material)
      return material
    }
    return new three.MeshStandardMaterial({ roughness: 0.62, metalness: 0.05 })
  }

  /** Lines on a floor: one sees how large things are. */
  private gridOn(body: Pose, pose: Pose, half: number): void {
    this.grid = round(this.size / 8)
    const count = Math.min(200, 2 * Math.ceil(half / this.grid))
    const reach = (count / 2) * this.grid
    const points: number[] = []
    for (let i = 0; i <= count; i++) {
      const x = i * this.grid - reach
      points.push(x, -reach, 0, x, reach, 0, -reach, x, 0, reach, x, 0)
    }
    const geometry = new three.BufferGeometry().setAttribute('position', new three.Float32BufferAttribute(points, 3))
    const material = new three.LineBasicMaterial({ transparent: true, opacity: 0.7 })
    this.lines.push(material)
    const lines = new three.LineSegments(geometry, material)
    lines.applyMatrix4(matrixOf(pose))
    lines.applyMatrix4(matrixOf(body))
    this.scene.add(lines)
  }

  private soften(): void {
    for (const soft of this.recording.head.soft) {
      const geometry = new three.BufferGeometry()
      geometry.setAttribute('position', new three.Float32BufferAttribute(3 * soft.nodes, 3))
      geometry.setAttribute('color', new three.Float32BufferAttribute(3 * soft.nodes, 3))
      geometry.setIndex(soft.triangles)
      const mesh = new three.Mesh(geometry, new three.MeshStandardMaterial({ roughness: 0.6, vertexColors: true, side: three.DoubleSide }))
      mesh.frustumCulled = false
      mesh.castShadow = mesh.receiveShadow = true
      mesh.userData.body = this.recording.head.bodies.findIndex((b) => b.name === soft.name)
      this.softs.push(mesh)
      this.scene.add(mesh)
    }
  }

  private arrowBatch(): three.InstancedMesh {
    const shaft = new three.CylinderGeometry(0.022, 0.022, 0.78, 8).translate(0, 0.39, 0)
    const tip = new three.ConeGeometry(0.065, 0.22, 12).translate(0, 0.89, 0)
    const arrow = mergeGeometries([shaft, tip])!
    const most = Math.max(1, ...this.recording.frames.map((f) => f.contacts))
    const batch = new three.InstancedMesh(arrow, new three.MeshStandardMaterial({ color: '#d1495b', roughness: 0.5 }), most)
    batch.frustumCulled = false
    batch.count = 0
    this.scene.add(batch)
    return batch
  }

  private jointPoints(): three.Points {
    const { joints } = this.recording.head
    const geometry = new three.BufferGeometry().setAttribute('position', new three.Float32BufferAttribute(3 * joints.length, 3))
    const points = new three.Points(geometry, new three.PointsMaterial({ color: '#e0a030', size: 9, sizeAttenuation: false, depthTest: false }))
    points.frustumCulled = false
    this.scene.add(points)
    return points
  }

  private jointRods(): three.LineSegments {
    const { joints } = this.recording.head
    const geometry = new three.BufferGeometry().setAttribute('position', new three.Float32BufferAttribute(6 * joints.length, 3))
    const rods = new three.LineSegments(geometry, new three.LineBasicMaterial({ color: '#e0a030' }))
    rods.frustumCulled = false
    this.scene.add(rods)
    return rods
  }

  private update(): void {
    const { head, frames } = this.recording
    interpolate(head, frames, this.time, this.poses)
    if (this.known !== frames.length) {
      this.known = frames.length
      this.span = spread(this.recording, this.look.color)
      this.arrowForce = this.look.arrows === 'forces' ? strongest(frames) : 1
      this.softSpans = head.soft.map((_, k) => extremes(frames.flatMap((f) => (f.soft[k].scalar ? [f.soft[k].scalar!] : []))))
    }
    const frame = this.frame()
    const values = frame && this.look.color !== 'body' ? measure(head, frame, this.look.color) : null
    const place = new Map(head.moving.map((body, k) => [body, k]))
    const colors = head.bodies.map((body, i) => {
      if (i === this.selected) return ACCENT
      const k = place.get(i)
      if (!values || k === undefined) return new three.Color(body.color)
      return new three.Color().setRGB(...viridis(share(values[k], this.span, this.look.color)), three.SRGBColorSpace)
    })
    for (const batch of this.batches) this.updateBatch(batch, colors)
    this.updateSoft()
    this.updateArrows(frame)
    this.updateJoints()
  }

  private updateBatch(batch: Batch, colors: three.Color[]): void {
    const { shapes } = this.recording.head
    const { look, visualized } = batch.mesh.userData
    batch.mesh.visible = look === 'hidden' ? this.look.collision : !(visualized && this.look.collision)
    if (look === 'glass') {
      const material = batch.mesh.material as three.MeshStandardMaterial
      material.opacity = this.look.glass ? 0.13 : 1
      material.depthWrite = !this.look.glass
    }
    const [body, inner] = [new three.Matrix4(), new three.Matrix4()]
    const own = this.look.color === 'body'
    batch.shapes.forEach((i, k) => {
      const shape = shapes[i]
      this.bodyMatrix(shape.body, body)
      inner.copy(matrixOf(shape.pose)).scale(new three.Vector3(...shape.scale))
      batch.mesh.setMatrixAt(k, body.multiply(inner))
      if (look === 'hidden') batch.mesh.setColorAt(k, colors[shape.body])
      if (look === 'solid') batch.mesh.setColorAt(k, own && shape.color && shape.body !== this.selected ? new three.Color(shape.color) : colors[shape.body])
    })
    batch.mesh.instanceMatrix.needsUpdate = true
    batch.mesh.boundingSphere = null
    if (batch.mesh.instanceColor) batch.mesh.instanceColor.needsUpdate = true
  }

  private bodyMatrix(body: number, out: three.Matrix4): void {
    const { position, turn } = this.poses
    const at = new three.Vector3().fromArray(position, 3 * body)
    // A body without orientation is not there.
    const size = turn.subarray(4 * body, 4 * body + 4).every((x) => x === 0) ? 0 : 1
    out.compose(at, new three.Quaternion().fromArray(turn, 4 * body), new three.Vector3(size, size, size))
  }

  /** Nodes between two frames; colours by the number on each node, on one scale for the whole run. */
  private updateSoft(): void {
    const { frames, head } = this.recording
    const i = frameAt(frames, this.time)
    const [a, b] = [frames[i], frames[Math.min(i + 1, frames.length - 1)]]
    const s = b && b.time > a.time ? Math.min(1, Math.max(0, (this.time - a.time) / (b.time - a.time))) : 0
    this.softs.forEach((mesh, k) => {
      const [from, to] = [a?.soft[k], b?.soft[k]]
      if (!from) return
      const positions = mesh.geometry.getAttribute('position') as three.BufferAttribute
      const colors = mesh.geometry.getAttribute('color') as three.BufferAttribute
      const plain = new three.Color(head.soft[k].color)
      const [low, high] = this.softSpans[k]
      for (let n = 0; n < 3 * head.soft[k].nodes; n++) positions.array[n] = (1 - s) * from.position[n] + s * to.position[n]
      for (let n = 0; n < head.soft[k].nodes; n++) {
        const value = from.scalar ? (from.scalar[n] - low) / (high - low || 1) : 0
        const color = from.scalar ? new three.Color().setRGB(...viridis(value), three.SRGBColorSpace) : plain
        colors.setXYZ(n, color.r, color.g, color.b)
      }
      positions.needsUpdate = colors.needsUpdate = true
      mesh.geometry.computeVertexNormals()
      mesh.geometry.computeBoundingSphere()
      const material = mesh.material as three.MeshStandardMaterial
      material.emissive.copy(ACCENT)
      material.emissiveIntensity = mesh.userData.body === this.selected ? 0.35 : 0
    })
  }

  private updateArrows(frame: Frame | undefined): void {
    const shown = this.look.arrows === 'none' || !frame ? 0 : frame.contacts
    if (shown > this.arrows.instanceMatrix.count) {
      this.scene.remove(this.arrows)
      this.arrows.dispose()
      this.arrows = this.arrowBatch()
    }
    this.arrows.count = Math.min(shown, this.arrows.instanceMatrix.count)
    const [turn, at, direction, y] = [new three.Quaternion(), new three.Vector3(), new three.Vector3(), new three.Vector3(0, 1, 0)]
    const matrix = new three.Matrix4()
    for (let c = 0; c < this.arrows.count; c++) {
      const source = this.look.arrows === 'forces' ? frame!.force : frame!.normal
      direction.fromArray(source, 3 * c)
      const strength = this.look.arrows === 'forces' ? Math.min(1.5, direction.length() / this.arrowForce) : 0.35
      const length = 0.22 * this.size * strength
      turn.setFromUnitVectors(y, direction.normalize())
      const width = Math.min(0.22 * this.size, Math.max(length, 0.05 * this.size))
      matrix.compose(at.fromArray(frame!.point, 3 * c), turn, new three.Vector3(width, Math.max(length, 1e-9), width))
      this.arrows.setMatrixAt(c, matrix)
    }
    this.arrows.instanceMatrix.needsUpdate = true
  }

  private updateJoints(): void {
    this.joints.visible = this.rods.visible = this.look.joints && this.recording.head.joints.length > 0
    if (!this.joints.visible) return
    const positions = this.joints.geometry.getAttribute('position') as three.BufferAttribute
    const ends = this.rods.geometry.getAttribute('position') as three.BufferAttribute
    const matrix = new three.Matrix4()
    this.recording.head.joints.forEach((joint, i) => {
      for (const [k, [body, place]] of [joint.a, joint.b].entries()) {
        this.bodyMatrix(body, matrix)
        const point = new three.Vector3(...place).applyMatrix4(matrix)
        ends.setXYZ(2 * i + k, point.x, point.y, point.z)
        if (k === 1) positions.setXYZ(i, point.x, point.y, point.z)
      }
    })
    positions.needsUpdate = ends.needsUpdate = true
  }
}

function matrixOf(pose: Pose): three.Matrix4 {
  const [x, y, z, a, b, c, d] = pose
  return new three.Matrix4().compose(new three.Vector3(x, y, z), new three.Quaternion(a, b, c, d), new three.Vector3(1, 1, 1))
}

function extremes(lists: Float32Array[]): [number, number] {
  let [low, high] = [Infinity, -Infinity]
  for (const list of lists)
    for (const x of list) {
      if (x < low) low = x
      if (x > high) high = x
    }
  return high >= low ? [low, high] : [0, 1]
}

/** Whether a processor draws instead of a graphics card. */
function isSoftware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2')
  const extension = gl?.getExtension('WEBGL_debug_renderer_info')
  const name = extension ? String(gl!.getParameter(extension.UNMASKED_RENDERER_WEBGL)) : ''
  gl?.getExtension('WEBGL_lose_context')?.loseContext()
  return /swiftshader|llvmpipe|software|basic render/i.test(name)
}
