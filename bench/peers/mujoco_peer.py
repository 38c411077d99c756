# MuJoCo as shipped: Euler, soft contacts with the default time constant, pyramidal friction.
import numpy as np


def rotation(q):
    x, y, z, w = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def spanning(joints):
    """The first joint of a child is part of the tree, others close loops."""
    seen, tree, loops = set(), [], []
    for joint in joints:
        (loops if joint["child"] in seen else tree).append(joint)
        seen.add(joint["child"])
    return tree, loops


def joint_rate(task, joint):
    key = "angular" if joint["kind"] == "revolute" else "linear"
    parent, child = (task["bodies"][joint[k]] for k in ("parent", "child"))
    return float(np.dot(np.subtract(child[key], parent[key]), joint["axis"]))


class MuJoCo:
    def __init__(self, task, solver):
        import mujoco
        self.mj, self.task = mujoco, task
        self.model = mujoco.MjModel.from_xml_string(self.xml(solver))
        self.data = mujoco.MjData(self.model)
        self.tree = {joint["child"]: joint for joint in spanning(task["joints"])[0]}
        self.free = [i for i, b in enumerate(task["bodies"]) if b["mass"]]
        self.ids = [self.model.body(f"b{i}").id for i in self.free]
        for i, at in zip(self.free, self.ids):
            body, first = task["bodies"][i], self.model.body_dofadr[at]
            if i in self.tree:
                self.data.qvel[first] = joint_rate(task, self.tree[i])
            else:
                spin = rotation(body["orientation"]).T @ np.array(body["angular"])
                self.data.qvel[first:first + 6] = [*body["linear"], *spin]

    def xml(self, solver):
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
            shape = body["shape"]
            if shape and shape["kind"] == "hull":
                points = text(np.ravel(shape["points"]))
                meshes[points] = f"m{len(meshes)}" if points not in meshes else meshes[points]
                out += f'<geom type="mesh" mesh="{meshes[points]}"/>'
            elif shape:
                out += f'<geom type="{shape["kind"]}" size="{text(shape["size"])}"/>'
            return out

        def hung(joint):
            body, base = task["bodies"][joint["child"]], task["bodies"][joint["parent"]]
            turned, own = rotation(base["orientation"]), rotation(body["orientation"])
            place = turned.T @ np.subtract(body["position"], base["position"])
            axes = turned.T @ own
            kind = {"revolute": "hinge", "prismatic": "slide"}[joint["kind"]]
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
        mu = task["friction"]
        assets = "".join(f'<mesh name="{n}" vertex="{p}"/>' for p, n in meshes.items())
        return (f'<mujoco><size memory="1G"/><option timestep="{task["dt"]}" solver="{solver}" '
                f'gravity="{text(task["gravity"])}"/><asset>{assets}</asset>'
                f'<default><geom condim="{3 if mu else 1}" friction="{mu or 1} 0 0"/></default>'
                f'<worldbody>{"".join(parts)}</worldbody><equality>{equal}</equality></mujoco>')

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
