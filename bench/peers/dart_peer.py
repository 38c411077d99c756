# DART as shipped: its pivoting solver for box friction, semi-implicit Euler. Tuned: no other setting
# that its Python interface offers applies. It takes the smaller friction and multiplies restitution.


class Dart:
    def __init__(self, task):
        import dartpy as dart
        self.dart, self.task = dart, task
        mu, e = one_friction(task), restitution(task) ** 0.5
        world = dart.simulation.World()
        world.setTimeStep(task["dt"])
        world.setGravity(task["gravity"])
        kinds = dict(sphere=lambda s: dart.dynamics.SphereShape(s[0]),
                     box=lambda s: dart.dynamics.BoxShape(2 * np.array(s)),
                     capsule=lambda s: dart.dynamics.CapsuleShape(s[0], 2 * s[1]),
                     cylinder=lambda s: dart.dynamics.CylinderShape(s[0], 2 * s[1]),
                     # Its planes do not collide with every shape: a large box is below the plane.
                     half_space=lambda s: dart.dynamics.BoxShape([200, 200, 2]))
        tree = {joint["child"]: joint for joint in task["joints"]}
        if len(tree) < len(task["joints"]):
            raise ValueError("closed loops")
        self.nodes = {}

        def pose(thing):
            out = dart.math.Isometry3()
            out.set_rotation(rotation(thing["orientation"]))
            out.set_translation(thing["position"])
            return out

        def add(i):
            """The body, and before it the one that carries it."""
            body = task["bodies"][i]
            if i in self.nodes:
                return
            joint = tree.get(i)
            parent, skeleton = None, dart.dynamics.Skeleton(f"b{i}")
            if joint and task["bodies"][joint["parent"]]["mass"]:
                add(joint["parent"])
                parent = self.nodes[joint["parent"]]
                skeleton = parent.getSkeleton()
            made, node = self.create(skeleton, parent, joint, body)
            node.setName(f"b{i}")
            if joint:
                base = (task["bodies"][joint["parent"]] if parent
                        else dict(position=[0, 0, 0], orientation=[0, 0, 0, 1]))
                # Both frames of a joint have the axes of the child as the scene begins.
                own, turned = rotation(body["orientation"]), rotation(base["orientation"])
                for place, at, axes in ((made.setTransformFromParentBodyNode,
                                         turned.T @ np.subtract(joint["anchor"], base["position"]),
                                         turned.T @ own),
                                        (made.setTransformFromChildBodyNode,
                                         own.T @ np.subtract(joint["anchor"], body["position"]),
                                         np.eye(3))):
                    frame = dart.math.Isometry3()
                    frame.set_rotation(axes)
                    frame.set_translation(at)
                    place(frame)
                made.setVelocities(np.atleast_1d(joint_rate(task, joint)))
            elif body["mass"]:
                made.setTransform(pose(body))
                made.setLinearVelocity(body["linear"])
                made.setAngularVelocity(body["angular"])
            else:
                made.setTransformFromParentBodyNode(pose(body))
            if body["mass"]:
                inertia = dart.dynamics.Inertia(body["mass"]["mass"], np.zeros(3),
                                                np.diag(body["mass"]["inertia"]))
                node.setInertia(inertia)
            for shape in body["shapes"]:
                if shape["kind"] == "hull":
                    raise ValueError("hulls")
                own = node.createShapeNode(kinds[shape["kind"]](shape["size"]))
                place = pose(shape)
                if shape["kind"] == "half_space":
                    place.set_translation([0, 0, -1])
                own.setRelativeTransform(place)
                own.createCollisionAspect()
                surface = own.createDynamicsAspect()
                surface.setFrictionCoeff(mu)
                surface.setRestitutionCoeff(e)
            self.nodes[i] = node
            if parent is None:
                world.addSkeleton(skeleton)

        for i, body in enumerate(task["bodies"]):
            if body["mass"] or body["shapes"]:
                add(i)
        self.world = world
        self.free = [i for i, b in enumerate(task["bodies"]) if b["mass"]]

    def create(self, skeleton, parent, joint, body):
        dynamics = self.dart.dynamics
        own = rotation(body["orientation"])
        if not body["mass"]:
            return skeleton.createWeldJointAndBodyNodePair(parent)
        if not joint:
            return skeleton.createFreeJointAndBodyNodePair(parent)
        if joint["kind"] == "spherical":
            return skeleton.createBallJointAndBodyNodePair(parent)
        create = (skeleton.createRevoluteJointAndBodyNodePair if joint["kind"] == "revolute"
                  else skeleton.createPrismaticJointAndBodyNodePair)
        made, node = create(parent)
        made.setAxis(own.T @ np.array(joint["axis"]))
        return made, node

    def steps(self, count):
        for _ in range(count):
            for push in self.task["forces"]:
                self.nodes[push["body"]].addExtForce(push["force"], [0, 0, 0], False, True)
            self.world.step()

    def contacts(self):
        return self.world.getLastCollisionResult().getNumContacts()

    def moving(self):
        out = []
        for i in self.free:
            node = self.nodes[i]
            pose = node.getWorldTransform()
            q = pose.quaternion()
            out.append(dict(position=list(np.ravel(pose.translation())),
                            orientation=[q.x(), q.y(), q.z(), q.w()],
                            linear=list(np.ravel(node.getLinearVelocity())),
                            angular=list(np.ravel(node.getAngularVelocity()))))
        return out

    @staticmethod
    def version():
        import importlib.metadata
        return importlib.metadata.version("dartpy")
