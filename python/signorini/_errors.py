"""What can go wrong, each under its own name. The text is that of the command line."""


class SignoriniError(Exception):
    """Anything that Signorini complains about."""


class SceneFileError(SignoriniError, ValueError):
    """A scene file that cannot be read: every fault, with file, place, found and wanted."""


class SceneError(SignoriniError, ValueError):
    """A scene or settings that cannot be simulated."""


class StepError(SignoriniError, RuntimeError):
    """A step that was not taken; the state is as it was."""


class NotAcceptedError(StepError):
    """A step whose error is not within the tolerance, under the policy "stop"; the state is as it was."""


class NotFoundError(SignoriniError, KeyError):
    """A name or number that the scene does not have; the text lists what there is."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InputError(SignoriniError, ValueError):
    """A value that a motor, force, material or setting cannot have."""


class RestoreError(SignoriniError, ValueError):
    """Bytes that are no saved state of this scene."""


class RecordError(SignoriniError, RuntimeError):
    """Something that cannot be drawn or written."""


class ProblemError(SignoriniError, ValueError):
    """A problem that makes no sense: the culprit and its value."""


class ProblemFileError(ProblemError):
    """A problem file that cannot be read or written."""


class UnsupportedError(SignoriniError, ValueError):
    """A problem that the method does not treat."""


class InternalError(SignoriniError, RuntimeError):
    """The engine itself failed. Please report it."""
