# MuJoCo. As shipped: Euler, Newton, soft contacts with the default time constant, pyramidal friction.
# Tuned: elliptic friction, impratio 10, 20 noslip iterations, tolerance 1e-14; Runge-Kutta where
# nothing touches, otherwise implicit. The time constant stays: with a shorter one boxes hop as they
# slide.
class MuJoCo:
    def __init__(self, task, solver, tuned=False):
        import mujoco
        self.mj, self.task = mujoco, task
        self.model = mujoco.MjModel.from_xml_string(self.xml(solver, tuned))
        self.data = mujoco.MjData(self.model)
        self.tree = {joint["child"]: joint for joint in spanning(task["joints"])[0]}
        self.free = [i for i, b in enumerate(task["bodies"]) if b["mass"]]
        self.ids = [self.model.body(f"b{i}").id for i in self.free]
        for i, at in zip(self.free, self.ids):
            body, first = task["bodies"][i], self.model.body_dofadr[at]
            if i in self.tree:
                count = 3 if self.tree[i]["kind"] == "spherical" else 1
                self.data.qvel[first:first + count] = joint_rate(task, self.tree[i])
            else:
                spin = rotation(body["orientation"]).T @ np.array(body["angular"])
                self.data.qvel[first:first + 6] = [*body["linear"], *spin]
        for push in task["forces"]:
            at = self.model.body(f"b{push['body']}").id
            self.data.xfrc_applied[at, :3] += push["force"]

    def xml(self, solver, tuned):
        task = self.task
        text = lambda values: " ".join(repr(float(x)) for x in values)
        tree, loops = spanning(task["joints"])
        children, jointed, meshes = {}, {joint["child"] for joint in tree}, {}
        for joint in tree:
            children.setdefault(joint["parent"], []).append(joint)

        def inside(i):
            body, out = task["bodies"][i], ""
            if body["mass"]:
                out += (f'<inertial pos="0 0 0" mass="{body["mass"]["mass"]!r}" '
                        f'diaginertia="{text(body["mass"]["inertia"])}"/>')
            for k, shape in enumerate(body["shapes"]):
                q = shape["orientation"]
                out += (f'<geom name="b{i}g{k}" pos="{text(shape["position"])}" '
                        f'quat="{text([q[3], *q[:3]])}" '
                        f'friction="{own_friction(task, body) or 1} 0 0" ')
                if shape["kind"] == "hull":
                    points = text(np.ravel(shape["points"]))
                    meshes[points] = f"m{len(meshes)}" if points not in meshes else meshes[points]
                    out += f'type="mesh" mesh="{meshes[points]}"/>'
                elif shape["kind"] == "half_space":
                    out += 'type="plane" size="0 0 1"/>'
                else:
                    out += f'type="{shape["kind"]}" size="{text(shape["size"])}"/>'
            return out

        def hung(joint):
            body, base = task["bodies"][joint["child"]], task["bodies"][joint["parent"]]
            turned, own = rotation(base["orientation"]), rotation(body["orientation"])
            place = turned.T @ np.subtract(body["position"], base["position"])
            axes = turned.T @ own
            kind = dict(revolute="hinge", prismatic="slide", spherical="ball")[joint["kind"]]
            at = own.T @ np.subtract(joint["anchor"], body["position"])
            return (f'<body name="b{joint["child"]}" pos="{text(place)}" '
                    f'xyaxes="{text(axes[:, 0])} {text(axes[:, 1])}">'
                    f'<joint type="{kind}" axis="{text(own.T @ np.array(joint["axis"]))}" '
                    f'pos="{text(at)}"/>{inside(joint["child"])}'
                    + "".join(map(hung, children.get(joint["child"], []))) + "</body>")

        parts = []
        for i, body in enumerate(task["bodies"]):
            if i in jointed:
                continue
            q = body["orientation"]
            parts.append(f'<body name="b{i}" pos="{text(body["position"])}" '
                         f'quat="{text([q[3], *q[:3]])}">'
                         + ("<freejoint/>" if body["mass"] else "") + inside(i)
                         + ("".join(map(hung, children.get(i, [])))) + "</body>")
        equal = ""
        for joint in loops:
            for side in (-0.1, 0.1):
                body = task["bodies"][joint["child"]]
                point = np.add(joint["anchor"], side * np.array(joint["axis"]))
                at = rotation(body["orientation"]).T @ (point - body["position"])
                equal += (f'<connect body1="b{joint["child"]}" body2="b{joint["parent"]}" '
                          f'anchor="{text(at)}"/>')
        mu = max(mu for row in task["surfaces"] for mu, _ in row)
        assets = "".join(f'<mesh name="{n}" vertex="{p}"/>' for p, n in meshes.items())
        option = f'timestep="{task["dt"]!r}" solver="{solver}" gravity="{text(task["gravity"])}"'
        if tuned:
            touches = any(body["shapes"] for body in task["bodies"])
            option += (f' integrator="{"implicit" if touches else "RK4"}" cone="elliptic" '
                       'impratio="10" noslip_iterations="20" tolerance="1e-14" iterations="200"')
        return (f'<mujoco><size memory="1G"/><option {option}/><asset>{assets}</asset>'
                f'<default><geom condim="{3 if mu else 1}" {self.softness()}/></default>'
                f'<worldbody>{"".join(parts)}</worldbody><equality>{equal}</equality>'
                f'<contact>{self.pairs()}</contact></mujoco>')

    def softness(self):
        """Restitution is that of a spring and damper: half a period of ten steps."""
        e, dt = restitution(self.task), self.task["dt"]
        if e > 0:
            omega, log = np.pi / (10 * dt), np.log(e)
            damping = -2 * omega * log / np.hypot(np.pi, log)
            return f'solref="{float(-omega ** 2)!r} {float(-damping)!r}"'
        return ""

    def pairs(self):
        """Contacts whose friction is not the larger one of two geoms, which is its rule."""
        out, bodies = "", self.task["bodies"]
        for i, a in enumerate(bodies):
            for j, b in enumerate(bodies[:i]):
                mu = self.task["surfaces"][a["material"]][b["material"]][0]
                rule = max(own_friction(self.task, a), own_friction(self.task, b))
                if mu == rule or not (a["mass"] or b["mass"]):
                    continue
                for k in range(len(a["shapes"])):
                    for l in range(len(b["shapes"])):
                        out += (f'<pair geom1="b{i}g{k}" geom2="b{j}g{l}" condim="3" '
                                f'friction="{mu!r} {mu!r} 0 0 0" {self.softness()}/>')
        return out

    @staticmethod
    def version():
        import mujoco
        return mujoco.__version__

    def steps(self, count):
        self.mj.mj_step(self.model, self.data, nstep=count)

    def contacts(self):
        return int(self.data.ncon)

    def moving(self):
        mj, model = self.mj, self.model
        view = mj.MjData(model)
        view.qpos[:], view.qvel[:] = self.data.qpos, self.data.qvel
        mj.mj_kinematics(model, view), mj.mj_comPos(model, view), mj.mj_comVel(model, view)
        out, twist = [], np.empty(6)
        for i in self.ids:
            mj.mj_objectVelocity(model, view, mj.mjtObj.mjOBJ_XBODY, i, twist, 0)
            w, x, y, z = view.xquat[i]
            out.append(dict(position=list(view.xpos[i]), orientation=[x, y, z, w],
                            linear=list(twist[3:]), angular=list(twist[:3])))
        return out
