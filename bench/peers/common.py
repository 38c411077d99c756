# What all engines need. A task is a scene: dt, steps, samples, gravity, bodies with shapes and mass,
# joints, constant forces, and the friction and restitution of any two materials (`surfaces`).
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
    key = "linear" if joint["kind"] == "prismatic" else "angular"
    parent, child = (task["bodies"][joint[k]] for k in ("parent", "child"))
    rate = np.subtract(child[key], parent[key])
    if joint["kind"] == "spherical":
        return rotation(child["orientation"]).T @ rate
    return float(np.dot(rate, joint["axis"]))


def own_friction(task, body):
    return task["surfaces"][body["material"]][body["material"]][0]


def restitution(task):
    """The coefficient of all contacts of free bodies."""
    return max((e for row in task["surfaces"] for _, e in row), default=0.0)


def one_friction(task):
    """The coefficient of all contacts, for engines that are not told of pairs here."""
    used = sorted({body["material"] for body in task["bodies"] if body["shapes"]})
    found = {task["surfaces"][a][b][0] for a in used for b in used}
    if len(found) > 1:
        raise ValueError("friction that differs by pairs")
    return found.pop() if found else 0.0


def friction_roots(task):
    """A number per material whose product is the friction of a pair."""
    bodies = [body for body in task["bodies"] if body["shapes"]]
    moving = sorted({body["material"] for body in bodies if body["mass"]})
    resting = sorted({body["material"] for body in bodies} - set(moving))
    mu = lambda a, b: task["surfaces"][a][b][0]
    roots = {m: mu(m, m) ** 0.5 for m in moving}
    for m in resting:
        near = moving[0]
        roots[m] = mu(m, near) / roots[near] if roots[near] else 0.0
    for a in moving:
        for b in moving + resting:
            if abs(roots[a] * roots[b] - mu(a, b)) > 1e-12:
                raise ValueError("friction that is no product of two numbers")
    return roots
