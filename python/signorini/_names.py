"""Names of what a scene holds."""

from __future__ import annotations


class Named:
    """What has bodies, joints and motors with names."""

    def _names(self, what: str) -> list[str]:
        raise NotImplementedError

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies; the first is the ground. The rows of `poses` and `velocities` are in this order."""
        return self._names("body")

    @property
    def joints(self) -> list[str]:
        """Names of the joints. The places in `angles` are in this order."""
        return self._names("joint")

    @property
    def motors(self) -> list[str]:
        """Names of the motors."""
        return self._names("motor")
