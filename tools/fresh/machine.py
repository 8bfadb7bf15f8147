# What it owns: one fresh system: a tree made by debootstrap, a layer over it for each user who
# tries Talus, and commands in it. It works in a mount namespace of its own (run.py), so nothing
# stays mounted after any end.
# It must not know what is tried.
# SPDX-License-Identifier: MIT
"""Fresh systems in folders."""

import os
import re
import shutil
import subprocess

import emulator
import mirrors

# The packages that README requires, and those that a clone over https needs.
PACKAGES = ("ca-certificates", "git", "make", "sudo")
PROXY_NAMES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy",
               "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
USER = "fresh"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What Debian calls other processors.
DEBIAN_NAMES = {"aarch64": "arm64"}


class Failure(Exception):
    """A step that failed, with the end of its output."""


def checked(command, **more):
    """Runs a command. Shows its output only on failure."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                            **more)
    return output_of(command, result.returncode, result.stdout)


def emulated(processor, command, **more):
    """The same for a program of another processor."""
    return output_of(command, *emulator.run(processor, command, **more))


def output_of(command, status, output):
    if status != 0:
        tail = "\n".join(output.splitlines()[-40:])
        raise Failure(f"{' '.join(command)[:200]} ended with {status}:\n{tail}")
    return output


def own_architecture():
    return checked(["dpkg", "--print-architecture"]).strip()


def apt_settings():
    """The network settings of this machine's apt, and the proxies of the environment."""
    lines = [line for line in checked(["apt-config", "dump"]).splitlines()
             if re.match(r"Acquire::(http|https|ftp|Check)", line)
             and not line.endswith('"";')]
    for kind in ("http", "https"):
        proxy = os.environ.get(f"{kind}_proxy") or os.environ.get(f"{kind.upper()}_PROXY")
        if proxy:
            lines.append(f'Acquire::{kind}::Proxy "{proxy}";')
    return "\n".join(lines) + "\n"


def make_tree(system, tree, folder, processor=None):
    """Makes a tree with debootstrap, from the mirror and with the keyring that fit: for this
    processor, or the smallest one for another."""
    architecture = own_architecture() if processor is None else DEBIAN_NAMES[processor]
    mirror = mirrors.own_mirror(system.distribution, mirrors.own_entries(), mirrors.own_release())
    mirror = mirror or mirrors.default_mirror(system.distribution, architecture)
    keyring = mirrors.keyring_for(system.distribution, mirror, system.suite, architecture, folder)
    partial = f"{tree}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    components = "main" if system.distribution == "debian" else "main,universe"
    more = (["--include=" + ",".join(PACKAGES)] if processor is None
            else ["--foreign", f"--arch={architecture}"])
    checked(["debootstrap", "--variant=minbase", f"--components={components}", *more,
             f"--keyring={keyring}", system.suite, partial, mirror,
             mirrors.script_of(system.distribution, system.suite)])
    if processor is None:
        checked(["chroot", partial, "apt-get", "clean"])
    else:
        install_foreign(partial, processor)
    # debootstrap leaves /proc mounted if it could not unmount it.
    subprocess.run(["umount", f"{partial}/proc"], stderr=subprocess.DEVNULL, check=False)
    os.rename(partial, tree)


def install_foreign(tree, processor):
    """Installs what debootstrap has unpacked, in an emulator."""
    checked(["mount", "-t", "proc", "proc", f"{tree}/proc"])
    # In this kind of container debootstrap makes no devices; its first stage has made them.
    emulated(processor, ["chroot", tree, "/debootstrap/debootstrap", "--second-stage"],
             env={"PATH": PATH, "HOME": "/root", "container": "lxc"})
    emulated(processor, ["chroot", tree, "apt-get", "clean"], env={"PATH": PATH})


class Machine:
    """A layer over a tree. It keeps all changes by one user out of the tree."""

    def __init__(self, tree, folder, is_root, processor=None):
        self.processor = processor
        self.root = f"{folder}/root"
        self.is_root = is_root
        self.home = "/root" if is_root else f"/home/{USER}"
        self.folder = folder
        for name in ("root", "upper", "work"):
            os.makedirs(f"{folder}/{name}")
        layers = f"lowerdir={tree},upperdir={folder}/upper,workdir={folder}/work"
        if subprocess.run(["mount", "-t", "overlay", "-o", layers, "overlay", self.root],
                          stderr=subprocess.DEVNULL, check=False).returncode != 0:
            os.rmdir(self.root)
            checked(["cp", "-a", tree, self.root])
        checked(["mount", "-t", "proc", "proc", f"{self.root}/proc"])
        for name in ("resolv.conf", "hosts"):
            path = f"{self.root}/etc/{name}"
            if os.path.lexists(path):
                os.unlink(path)
            shutil.copy(f"/etc/{name}", path)
        with open(f"{self.root}/etc/apt/apt.conf.d/99this-machine", "w", encoding="utf-8") as file:
            file.write(apt_settings())
        if not is_root:
            checked(["chroot", self.root, "useradd", "-m", USER])
            rule = f"{self.root}/etc/sudoers.d/{USER}"
            with open(rule, "w", encoding="utf-8") as file:
                file.write(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
            os.chmod(rule, 0o440)

    def run(self, script):
        """Runs a shell script as the user, in the user's home. Returns its output."""
        environment = {"PATH": PATH, "HOME": self.home, "LANG": "C.UTF-8", "TERM": "dumb"}
        environment.update({name: os.environ[name] for name in PROXY_NAMES if name in os.environ})
        who = "root" if self.is_root else USER
        command = ["chroot", f"--userspec={who}", "--groups=", self.root, "/bin/sh", "-ec",
                   f'cd "$HOME"\n{script}']
        if self.processor is not None:
            return emulated(self.processor, command, env=environment)
        return checked(command, env=environment)

    def close(self):
        """Frees the layer's space on the disk."""
        for path in (f"{self.root}/proc", self.root):
            subprocess.run(["umount", path], stderr=subprocess.DEVNULL, check=False)
        if not os.path.ismount(self.root) and not os.path.ismount(f"{self.root}/proc"):
            shutil.rmtree(self.folder, ignore_errors=True)
