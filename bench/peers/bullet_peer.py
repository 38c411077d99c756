# Bullet. As shipped: 50 iterations, nothing sleeps. Tuned: 1000 iterations, none left out. It
# multiplies friction and restitution: bodies get roots.


class Bullet:
    def __init__(self, task, tuned=False):
        import pybullet as pb
        self.pb, self.task = pb, task
        if not pb.isConnected():
            pb.connect(pb.DIRECT)
        pb.resetSimulation()
        pb.setPhysicsEngineParameter(fixedTimeStep=task["dt"], numSubSteps=0)
        pb.setPhysicsEngineParameter(restitutionVelocityThreshold=task["rebound_speed"])
        if tuned:
            pb.setPhysicsEngineParameter(numSolverIterations=1000, solverResidualThreshold=0)
        pb.setGravity(*task["gravity"])
        balls = [joint for joint in task["joints"] if joint["kind"] == "spherical"]
        tree, loops = spanning([joint for joint in task["joints"] if joint not in balls])
        loops += balls
        parent = {joint["child"]: joint for joint in tree}
        self.where, shapes, groups = {}, {}, {}

        def shape(body):
            if not body["shapes"]:
                return -1
            if len(body["shapes"]) > 1:
                raise ValueError("several shapes of one body")
            s = body["shapes"][0]
            key = repr(s)
            if key not in shapes:
                make = {"sphere": lambda: dict(shapeType=pb.GEOM_SPHERE, radius=s["size"][0]),
                        "box": lambda: dict(shapeType=pb.GEOM_BOX, halfExtents=s["size"]),
                        "capsule": lambda: dict(shapeType=pb.GEOM_CAPSULE, radius=s["size"][0],
                                                height=2 * s["size"][1]),
                        "cylinder": lambda: dict(shapeType=pb.GEOM_CYLINDER, radius=s["size"][0],
                                                 height=2 * s["size"][1]),
                        "half_space": lambda: dict(shapeType=pb.GEOM_PLANE, planeNormal=[0, 0, 1]),
                        "hull": lambda: dict(shapeType=pb.GEOM_MESH, vertices=s["points"])}
                shapes[key] = pb.createCollisionShape(
                    collisionFramePosition=s["position"], collisionFrameOrientation=s["orientation"],
                    **make[s["kind"]]())
            return shapes[key]

        def root(i):
            while i in parent:
                i = parent[i]["parent"]
            return i

        for i, body in enumerate(task["bodies"]):
            if i in parent:
                # Trees on the ground hang on its body; each other one has its own base.
                top = root(i)
                own = top if task["bodies"][top]["mass"] else (top, self.first(parent, i))
                groups.setdefault(own, []).append(i)
        for i, body in enumerate(task["bodies"]):
            if i in parent or i in groups:
                continue
            self.where[i] = (self.base(body, shape(body)), -1)
        for own, members in groups.items():
            self.hang(own, members, parent, shape)
        roots, bounce = friction_roots(task), restitution(task) ** 0.5
        for i, (at, link) in self.where.items():
            friction = roots.get(task["bodies"][i]["material"], 0.0)
            pb.changeDynamics(at, link, lateralFriction=friction, restitution=bounce,
                              linearDamping=0, angularDamping=0, rollingFriction=0,
                              spinningFriction=0,
                              activationState=pb.ACTIVATION_STATE_DISABLE_SLEEPING)
        for joint in loops:
            self.close(joint)
        self.free = [i for i, b in enumerate(task["bodies"]) if b["mass"]]

    def first(self, parent, i):
        while parent[i]["parent"] in parent:
            i = parent[i]["parent"]
        return i

    def base(self, body, shape, **links):
        pb = self.pb
        mass = body["mass"]["mass"] if body["mass"] else 0
        maximal = 0 if self.task["joints"] else 1
        at = pb.createMultiBody(mass, shape, basePosition=body["position"],
                                baseOrientation=body["orientation"],
                                useMaximalCoordinates=maximal, **links)
        if body["mass"]:
            pb.changeDynamics(at, -1, mass=mass, localInertiaDiagonal=body["mass"]["inertia"])
            pb.resetBaseVelocity(at, body["linear"], body["angular"])
        return at

    def hang(self, own, members, parent, shape):
        """One multibody: a floating base, or a fixed one for each tree on the ground."""
        pb, task = self.pb, self.task
        bodies, floating = task["bodies"], isinstance(own, int)
        order = [j for j in parent if j in members]
        names = ("linkMasses linkCollisionShapeIndices linkVisualShapeIndices linkPositions "
                 "linkOrientations linkInertialFramePositions linkInertialFrameOrientations "
                 "linkParentIndices linkJointTypes linkJointAxis").split()
        links = {name: [] for name in names}
        for i in order:
            body, joint = bodies[i], parent[i]
            base = joint["parent"]
            turned, at = np.eye(3), np.zeros(3)
            if base in order:
                turned, at = rotation(bodies[base]["orientation"]), np.array(parent[base]["anchor"])
            elif floating:
                turned, at = (rotation(bodies[base]["orientation"]),
                              np.array(bodies[base]["position"]))
            own_axes = rotation(body["orientation"])
            kind = pb.JOINT_REVOLUTE if joint["kind"] == "revolute" else pb.JOINT_PRISMATIC
            values = (body["mass"]["mass"], shape(body), -1,
                      list(turned.T @ (np.array(joint["anchor"]) - at)),
                      self.quaternion(turned.T @ own_axes),
                      list(own_axes.T @ np.subtract(body["position"], joint["anchor"])),
                      [0, 0, 0, 1], order.index(base) + 1 if base in order else 0, kind,
                      list(own_axes.T @ np.array(joint["axis"])))
            for name, value in zip(names, values):
                links[name].append(value)
        nothing = dict(mass=None, position=[0, 0, 0], orientation=[0, 0, 0, 1])
        body = bodies[own] if floating else nothing
        at = self.base(body, shape(body) if floating else -1, **links)
        if floating:
            self.where[own] = (at, -1)
        for link, i in enumerate(order):
            self.where[i] = (at, link)
            pb.changeDynamics(at, link, localInertiaDiagonal=bodies[i]["mass"]["inertia"],
                              jointDamping=0)
            pb.setJointMotorControl2(at, link, pb.VELOCITY_CONTROL, force=0)
            pb.resetJointState(at, link, 0.0, joint_rate(task, parent[i]))

    def close(self, joint):
        pb, bodies = self.pb, self.task["bodies"]
        at, link = self.where[joint["child"]]
        for side in (0.0,) if joint["kind"] == "spherical" else (-0.1, 0.1):
            point = np.add(joint["anchor"], side * np.array(joint["axis"]))
            own = bodies[joint["child"]]
            inside = list(rotation(own["orientation"]).T @ (point - own["position"]))
            if bodies[joint["parent"]]["mass"]:
                other, base = bodies[joint["parent"]], self.where[joint["parent"]]
                outside = list(rotation(other["orientation"]).T @ (point - other["position"]))
                pb.createConstraint(*base, at, link, pb.JOINT_POINT2POINT, [0, 0, 0], outside,
                                    inside)
            else:
                pb.createConstraint(at, link, -1, -1, pb.JOINT_POINT2POINT, [0, 0, 0], inside,
                                    list(point))

    @staticmethod
    def quaternion(r):
        k = np.array([[r[0, 0] - r[1, 1] - r[2, 2], 0, 0, 0],
                      [r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], 0, 0],
                      [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1], 0],
                      [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], np.trace(r)]])
        return list(np.linalg.eigh(k)[1][:, -1])

    def steps(self, count):
        pb = self.pb
        for _ in range(count):
            for push in self.task["forces"]:
                at, link = self.where[push["body"]]
                place = pb.getBasePositionAndOrientation(at)[0]
                pb.applyExternalForce(at, link, push["force"], place, pb.WORLD_FRAME)
            pb.stepSimulation()

    @staticmethod
    def version():
        import importlib.metadata
        return importlib.metadata.version("pybullet")

    def contacts(self):
        return len(self.pb.getContactPoints())

    def moving(self):
        out = []
        for i in self.free:
            at, link = self.where[i]
            if link < 0:
                x, q = self.pb.getBasePositionAndOrientation(at)
                v, w = self.pb.getBaseVelocity(at)
            else:
                state = self.pb.getLinkState(at, link, computeLinkVelocity=1,
                                             computeForwardKinematics=1)
                x, q, v, w = state[0], state[1], state[6], state[7]
            out.append(dict(position=list(x), orientation=list(q), linear=list(v),
                            angular=list(w)))
        return out
