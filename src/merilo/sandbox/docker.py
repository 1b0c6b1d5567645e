"""The backend that runs workers in Docker containers."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Final

from merilo.errors import MissingPartError, UsageError, argument
from merilo.sandbox import seccomp
from merilo.sandbox.launch import (
    ARGUMENTS,
    DEVICES,
    ENVIRONMENT,
    HOME,
    PACKAGES,
    SCRATCH,
    Start,
    inside_folder,
    output_of,
    settings_for,
    tasks,
)
from merilo.sandbox.program import Limits

#: Folders of a container that the worker hides from programs, each with the paths in it that stay visible.
_COVERS: Final[dict[str, list[str]]] = {
    **{
        path: []
        for path in ("/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/srv", "/sys", "/var")
    },
    "/dev": [*DEVICES, SCRATCH[1]],
    "/etc": ["/etc/ld.so.cache"],
}


class Docker:
    """A container of the official Python image for each worker.

    Args:
        image: the image to run, with a `python3` of a supported version.
        packages: a folder with packages for the programs.

    Raises:
        MissingPartError: `docker` is not installed, or its engine does not answer.
        UsageError: the folder of packages is not readable by everybody.
    """

    name = "docker"
    jailed = True

    def __init__(self, image: str, packages: Path | None = None) -> None:
        docker = shutil.which("docker")
        if docker is None:
            raise MissingPartError("docker is not installed")
        if not output_of([docker, "version", "--format", "{{.Server.Version}}"]).strip():
            raise MissingPartError(
                "docker is installed, but its engine does not answer: start it, or allow this user to use it"
            )
        if packages is not None and packages.stat().st_mode & 0o005 != 0o005:
            raise UsageError(
                f"'{packages}' must be readable by everybody, because programs in a container run as the user nobody",
                field=argument("packages"),
            )
        self.python = image.rpartition("/")[2].removeprefix("python:")
        self._docker = docker
        self._image = image
        self._packages = packages
        self._profile = os.memfd_create("merilo-seccomp")
        os.write(self._profile, json.dumps(seccomp.docker_profile()).encode())

    def start(self, number: int, limits: Limits) -> Start:
        """See `Backend`."""
        del number  # every container is separate: the number is not needed
        return Start(
            [
                self._docker,
                *container_arguments(self._image, limits, f"/proc/self/fd/{self._profile}", self._packages),
            ],
            dict(os.environ),  # for Docker's client; the container gets only the variables in its arguments
            (self._profile,),
            settings_for(limits, user=None, packages=PACKAGES if self._packages else None)
            | {"seal": list(DEVICES), "covers": _COVERS},
        )

    def close(self) -> None:
        """See `Backend`."""
        if self._profile >= 0:
            os.close(self._profile)
            self._profile = -1


def container_arguments(image: str, limits: Limits, profile: str, packages: Path | None) -> list[str]:
    """Return the arguments of `docker` that start one worker.

    Args:
        image: the image.
        limits: what one program may use; the container gets as much for one program, and additional memory for the worker.
        profile: a file with the seccomp profile, readable by the client.
        packages: a folder to mount.
    """
    memory = limits.memory_bytes * limits.processes + 2 * limits.scratch_bytes + _WORKERS_MEMORY
    words = ["run", "--rm", "--interactive", "--pull", "missing", "--log-driver", "none"]
    words += [
        "--network",
        "none",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--user",
        "65534:65534",
        "--ipc",
        "private",
    ]
    words += ["--security-opt", "no-new-privileges", "--security-opt", f"seccomp={profile}"]
    words += ["--pids-limit", str(tasks(limits) + 4), "--memory", str(memory), "--memory-swap", str(memory)]
    words += ["--hostname", "jail", "--workdir", "/"]
    for folder in SCRATCH:
        words += [
            "--tmpfs",
            f"{folder}:rw,nosuid,nodev,noexec,size={limits.scratch_bytes},nr_inodes=4096,mode=1777",
        ]
    words += ["--mount", f"type=bind,source={inside_folder()},target={HOME}/merilo/sandbox/inside,readonly"]
    if packages:
        words += ["--mount", f"type=bind,source={packages},target={PACKAGES},readonly"]
    for name, value in {**ENVIRONMENT, "PYTHONPATH": HOME}.items():
        words += ["--env", f"{name}={value}"]
    return [*words, "--entrypoint", "python3", image, *ARGUMENTS]


_WORKERS_MEMORY: Final = 128 * 2**20


def image_of(python: str | None) -> str:
    """Return the name of the official image for a version of Python.

    Raises:
        UsageError: `python` is a path.
    """
    if python is not None and "/" in python:
        raise UsageError(
            "Docker runs the Python of an image: give a version such as 3.12, not a path",
            field=argument("python"),
        )
    return f"python:{python or '3.12'}-slim"
