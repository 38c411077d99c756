"""Bodies, joints, motors and materials of a simulation, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._scene import Drive, Vector, dumps, number, quaternion, vector

if TYPE_CHECKING:
    from ._simulation import Simulation


class ForceBetween(NamedTuple):
    """What the contacts between two bodies exerted on the second one."""

    force: np.ndarray
    """Sum of the mean contact forces, world, N."""
    torque: np.ndarray
    """Their torque about the centre of mass of the second body, world, N m."""
    contacts: int
    """How many contacts carry."""


class JointReaction(NamedTuple):
    """What a joint exerted on its second body during the last step."""

    force: np.ndarray
    """Mean force, world, N."""
    torque: np.ndarray
    """Mean torque about the joint's point, world, N m."""
    local_force: np.ndarray
    """The force along the axes of the joint's frame on the first body, N."""
    local_torque: np.ndarray
    """The torque along these axes, N m."""
    unique: np.ndarray
    """Which of the six local components have only one possible value."""


class _Part:
    __slots__ = ("_sim", "_name", "id")
    _what = ""

    def __init__(self, sim: Simulation, id: int) -> None:
        self._sim = sim
        self._name: str | None = None
        self.id = id
        """The number in the scene."""

    @property
    def name(self) -> str:
        """The name in the scene."""
        if self._name is None:
            self._name = self._sim._names(self._what)[self.id]
        return self._name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Body(_Part):
    """A body of a simulation, as it is now. Vectors are along the axes of the world.

        height = sim.body("crate").position[2]
    """

    __slots__ = ()
    _what = "body"

    @property
    def position(self) -> np.ndarray:
        """Where the origin of the frame in which the body was described is, m."""
        return self._sim._body_vector(self.id, 0)

    @property
    def velocity(self) -> np.ndarray:
        """The velocity of `position`, m/s."""
        return self._sim._body_vector(self.id, 1)

    @property
    def angular_velocity(self) -> np.ndarray:
        """Its angular velocity, rad/s."""
        return self._sim._body_vector(self.id, 2)

    @property
    def center_of_mass(self) -> np.ndarray:
        """Where its centre of mass is, m."""
        return self._sim._body_vector(self.id, 3)

    @property
    def center_of_mass_velocity(self) -> np.ndarray:
        """The velocity of its centre of mass, m/s."""
        return self._sim._body_vector(self.id, 4)

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternion x y z w: from its own axes to those of the world."""
        return self._sim._body_vector(self.id, 5)

    @property
    def mass(self) -> float | None:
        """Mass, kg; none unless it is rigid."""
        return self._sim._body_mass(self.id)[0]

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy, J; zero unless it is rigid."""
        return self._sim._body_mass(self.id)[1]

    def velocity_at(self, point: Vector) -> np.ndarray:
        """The velocity of the point of the body that is now at `point` (world), m/s."""
        return self._sim._body_velocity_at(self.id, vector(point, "point"))

    def set_pose(self, position: Vector, orientation: Vector = (0, 0, 0, 1)) -> None:
        """Places a rigid body; joints are not asked."""
        self._sim._set_pose(self.id, vector(position, "position"), quaternion(orientation))

    def set_velocity(self, linear: Vector, angular: Vector = (0, 0, 0)) -> None:
        """Gives a rigid body velocities: of its centre of mass (m/s), and angular (rad/s)."""
        self._sim._set_velocity(self.id, vector(linear, "velocity"), vector(angular, "angular velocity"))

    def apply_force(self, force: Vector, point: Vector | None = None) -> None:
        """Lets a force (N) act during the next step, at a point of the world (m) or at the centre of mass."""
        at = None if point is None else vector(point, "point")
        self._sim._apply_force(self.id, vector(force, "force"), at)

    def apply_torque(self, torque: Vector) -> None:
        """Lets a torque (N m) act during the next step."""
        self._sim._apply_torque(self.id, vector(torque, "torque"))


class Joint(_Part):
    """A joint of a simulation, as it is now.

        knee = sim.joint("knee")
        print(knee.angle, knee.rate, knee.reaction.force)
    """

    __slots__ = ()
    _what = "joint"

    @property
    def kind(self) -> str:
        """Revolute, prismatic, …"""
        return self._sim._joint_about(self.id)[0]

    @property
    def bodies(self) -> tuple[Body, Body]:
        """Its two bodies."""
        _, a, b = self._sim._joint_about(self.id)
        return Body(self._sim, a), Body(self._sim, b)

    @property
    def angle(self) -> float:
        """The angle about its axis, counted over full turns, rad."""
        return self._sim._joint(self.id, "angle")[0]

    @property
    def slide(self) -> float:
        """The displacement along its axis, m."""
        return self._sim._joint(self.id, "slide")[0]

    @property
    def rate(self) -> float:
        """The rate of the angle, rad/s; of a prismatic joint that of the displacement, of a rod that of the length, m/s."""
        return self._sim._joint(self.id)[1]

    @property
    def reaction(self) -> JointReaction | None:
        """What it exerted on its second body during the last step; none before the first one.

        Solves the step again for the reactions of least energy: for many joints ask `Simulation.reactions()` once.
        """
        return self._sim.reactions().get(self.name)


class Motor(_Part):
    """A motor of a simulation. What is set acts from the next step on.

        sim.motor("knee").torque = -40 * sim.joint("knee").angle
    """

    __slots__ = ()
    _what = "motor"

    @property
    def value(self) -> float:
        """The value of what it acts on, m or rad."""
        return self._sim._motor(self.id)[0]

    @property
    def effort(self) -> float:
        """The force or torque that it gave during the last step, N or N m."""
        return self._sim._motor(self.id)[1]

    @property
    def torque(self) -> float:
        """Reading: as `effort`. Setting: gives this torque (of a slide: force), N m or N, whatever it was before."""
        return self.effort

    @torque.setter
    def torque(self, value: float) -> None:
        self._set("torque", value)

    force = torque

    @property
    def target(self) -> float:
        """Reading: as `value`. Setting: goes to this value, m or rad; a servo with its stiffness and damping, any
        other motor at once, whatever it costs."""
        return self.value

    @target.setter
    def target(self, value: float) -> None:
        self._set("target", value)

    def set_speed(self, value: float) -> None:
        """Goes at this rate, m/s or rad/s."""
        self._set("speed", value)

    def _set(self, what: str, value: float) -> None:
        self._sim._set(f"motor.{self.name}.{what}", value)

    def set_drive(self, drive: Drive) -> None:
        """Does this."""
        self._sim._set_drive(self.id, dumps(f"motor `{self.name}`", drive._data))


FIGURES = ("mu", "restitution", "compliance", "damping", "torsion", "rolling")


def _figure(place: int, text: str) -> property:
    def get(self: Material) -> float:
        return self._sim._material(self.id)[place]

    def put(self: Material, value: float) -> None:
        self._sim._set(f"material.{self.name}.{FIGURES[place]}", value)

    return property(get, put, doc=text)


class Material(_Part):
    """A material of a simulation. What is set acts from the next step on.

        sim.material("wood").mu = 0.3
    """

    __slots__ = ()
    _what = "material"
    mu = _figure(0, "Coefficient of friction, ≥ 0.")
    restitution = _figure(1, "Coefficient of restitution, 0…1.")
    compliance = _figure(2, "Compliance of a contact, m/N; 0 is rigid.")
    damping = _figure(3, "Damping of a compliant contact, N s/m.")
    torsion = _figure(4, "Torsional friction, m: torque against spinning, for each N of normal force.")
    rolling = _figure(5, "Rolling friction, m: torque against rolling, for each N of normal force.")
