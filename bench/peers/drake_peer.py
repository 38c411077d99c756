# Drake: discrete steps, the default contact approximation, contact points for round shapes,
# compliant hydroelastic boxes with the default modulus of 1e7 Pa on rigid ground (single points
# let boxes rock). A cylinder between two planes is hydroelastic too: one point per plane lets it
# pitch and sink, but its facets do not roll. Stiff: modulus 1e9 Pa, and points with a penetration
# allowance of 1e-6 m. It has no coefficient of restitution.


class Drake:
    def __init__(self, task, stiff=False):
        from pydrake.all import (AddCompliantHydroelasticProperties,
                                 AddContactMaterial, AddMultibodyPlantSceneGraph,
                                 AddRigidHydroelasticProperties, Box, Capsule, CoulombFriction, Cylinder, DiagramBuilder,
                                 ExternallyAppliedSpatialForce, HalfSpace, PrismaticJoint,
                                 ProximityProperties, Quaternion, RevoluteJoint, RigidTransform,
                                 Simulator, SpatialForce, SpatialInertia,
                                 SpatialVelocity, Sphere, UnitInertia)
        if restitution(task) > 0:
            raise ValueError("no coefficient of restitution")
        mu, self.task = one_friction(task), task
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, task["dt"])
        plant.mutable_gravity_field().set_gravity_vector(task["gravity"])

        def pose(thing):
            x, y, z, w = np.array(thing["orientation"]) / np.linalg.norm(thing["orientation"])
            return RigidTransform(Quaternion(w, x, y, z), thing["position"])

        make = dict(sphere=lambda s: Sphere(s[0]), box=lambda s: Box(*(2 * np.array(s))),
                    capsule=lambda s: Capsule(s[0], 2 * s[1]),
                    cylinder=lambda s: Cylinder(s[0], 2 * s[1]),
                    half_space=lambda s: HalfSpace())
        planes = sum(s["kind"] == "half_space" for b in task["bodies"] for s in b["shapes"])
        spread = ("box", "half_space") + (("cylinder",) if planes > 1 else ())
        self.bodies, jointed = {}, {joint["child"] for joint in task["joints"]}
        for i, body in enumerate(task["bodies"]):
            own, place = plant.world_body(), pose(body)
            if body["mass"]:
                mass, inertia = body["mass"]["mass"], np.array(body["mass"]["inertia"])
                unit = UnitInertia(*(inertia / mass))
                own = plant.AddRigidBody(f"b{i}", SpatialInertia(mass, np.zeros(3), unit))
                self.bodies[i], place = own, RigidTransform()
            for k, shape in enumerate(body["shapes"]):
                properties = ProximityProperties()
                AddContactMaterial(friction=CoulombFriction(mu, mu), properties=properties)
                modulus = 1e9 if stiff else 1e7
                fine = min(shape["size"], default=1.0) / 2
                if shape["kind"] not in spread:
                    pass
                elif body["mass"]:
                    AddCompliantHydroelasticProperties(fine, modulus, properties)
                else:
                    AddRigidHydroelasticProperties(fine, properties)
                plant.RegisterCollisionGeometry(own, place @ pose(shape),
                                                make[shape["kind"]](shape["size"]), f"b{i}g{k}",
                                                properties)
        for n, joint in enumerate(task["joints"]):
            self.join(plant, joint, n, RevoluteJoint, PrismaticJoint)
        plant.Finalize()
        if stiff:
            plant.set_penetration_allowance(1e-6)
        self.plant, self.diagram = plant, builder.Build()
        self.simulator = Simulator(self.diagram)
        context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.context = context
        for i, own in self.bodies.items():
            body = task["bodies"][i]
            if i in jointed:
                continue
            plant.SetFreeBodyPose(context, own, pose(body))
            plant.SetFreeBodySpatialVelocity(
                context, own, SpatialVelocity(np.array(body["angular"]), np.array(body["linear"])))
        for n, joint in enumerate(task["joints"]):
            rate = joint_rate(task, joint)
            if joint["kind"] == "spherical":
                turned = rotation(task["bodies"][joint["child"]]["orientation"])
                plant.GetJointByName(f"j{n}").set_angular_velocity(context, turned @ rate)
            elif joint["kind"] == "revolute":
                plant.GetJointByName(f"j{n}").set_angular_rate(context, rate)
            elif joint["kind"] == "prismatic":
                plant.GetJointByName(f"j{n}").set_translation_rate(context, rate)
        pushes = []
        for push in task["forces"]:
            one = ExternallyAppliedSpatialForce()
            one.body_index = self.bodies[push["body"]].index()
            one.p_BoBq_B = np.zeros(3)
            one.F_Bq_W = SpatialForce(np.zeros(3), np.array(push["force"]))
            pushes.append(one)
        if pushes:
            plant.get_applied_spatial_force_input_port().FixValue(context, pushes)
        self.simulator.Initialize()
        self.time = 0.0

    def join(self, plant, joint, n, revolute, prismatic):
        from pydrake.all import BallRpyJoint, FixedOffsetFrame, RigidTransform, RotationMatrix
        frames = []
        for side in ("parent", "child"):
            body = self.task["bodies"][joint[side]]
            turned = rotation(body["orientation"])
            # Both frames have the axes of the world as the scene begins.
            at = turned.T @ np.subtract(joint["anchor"], body["position"])
            offset = RigidTransform(RotationMatrix.ProjectToRotationMatrix(turned.T), at)
            own = self.bodies.get(joint[side], plant.world_body())
            if not body["mass"]:
                offset = RigidTransform(joint["anchor"])
            frame = FixedOffsetFrame(f"j{n}{side}", own.body_frame(), offset)
            frames.append(plant.AddFrame(frame))
        if joint["kind"] == "spherical":
            plant.AddJoint(BallRpyJoint(f"j{n}", *frames))
        else:
            kind = revolute if joint["kind"] == "revolute" else prismatic
            plant.AddJoint(kind(f"j{n}", *frames, joint["axis"]))

    def steps(self, count):
        self.time += count * self.task["dt"]
        self.simulator.AdvanceTo(self.time)

    def contacts(self):
        port = self.plant.get_contact_results_output_port()
        found = port.Eval(self.context)
        return found.num_point_pair_contacts() + found.num_hydroelastic_contacts()

    def moving(self):
        out = []
        for own in self.bodies.values():
            pose = self.plant.EvalBodyPoseInWorld(self.context, own)
            speed = self.plant.EvalBodySpatialVelocityInWorld(self.context, own)
            q = pose.rotation().ToQuaternion()
            out.append(dict(position=list(pose.translation()),
                            orientation=[q.x(), q.y(), q.z(), q.w()],
                            linear=list(speed.translational()), angular=list(speed.rotational())))
        return out

    @staticmethod
    def version():
        import importlib.metadata
        return importlib.metadata.version("drake")
