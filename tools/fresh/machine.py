# What it owns: one fresh system: a tree that debootstrap made, a layer over it for each user who
# tries Talus there, and commands in it. It works in a mount namespace of its own (run.py), so that
# nothing of it stays mounted, however it ends.
# It must not know what is tried.
# SPDX-License-Identifier: MIT
"""Fresh systems in folders."""

import os
import re
import shutil
import subprocess

import mirrors

# What README asks for, and what a clone over https needs.
PACKAGES = ("ca-certificates", "git", "make", "sudo")
PROXY_NAMES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy",
               "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
USER = "fresh"


class Failure(Exception):
    """A step that went wrong, with the end of what it said."""


def checked(command, **more):
    """Runs a command; its output is shown only when it fails."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                            **more)
    if result.returncode != 0:
        tail = "\n".join(result.stdout.splitlines()[-40:])
        raise Failure(f"{' '.join(command)[:200]} ended with {result.returncode}:\n{tail}")
    return result.stdout


def own_architecture():
    return checked(["dpkg", "--print-architecture"]).strip()


def apt_settings():
    """What this machine's apt was told about the network, and the proxies of the environment."""
    lines = [line for line in checked(["apt-config", "dump"]).splitlines()
             if re.match(r"Acquire::(http|https|ftp|Check)", line)
             and not line.endswith('"";')]
    for kind in ("http", "https"):
        proxy = os.environ.get(f"{kind}_proxy") or os.environ.get(f"{kind.upper()}_PROXY")
        if proxy:
            lines.append(f'Acquire::{kind}::Proxy "{proxy}";')
    return "\n".join(lines) + "\n"


def make_tree(system, tree, folder):
    """debootstrap, with the mirror and keyring that fit."""
    architecture = own_architecture()
    mirror = mirrors.own_mirror(system.distribution, mirrors.own_entries(), mirrors.own_release())
    mirror = mirror or mirrors.default_mirror(system.distribution, architecture)
    keyring = mirrors.keyring_for(system.distribution, mirror, system.suite, architecture, folder)
    partial = f"{tree}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    components = "main" if system.distribution == "debian" else "main,universe"
    checked(["debootstrap", "--variant=minbase", f"--components={components}",
             f"--include={','.join(PACKAGES)}", f"--keyring={keyring}", system.suite, partial,
             mirror, mirrors.script_of(system.distribution, system.suite)])
    checked(["chroot", partial, "apt-get", "clean"])
    # debootstrap leaves /proc mounted where it could not take it away.
    subprocess.run(["umount", f"{partial}/proc"], stderr=subprocess.DEVNULL, check=False)
    os.rename(partial, tree)


class Machine:
    """A layer over a tree: what one user does in it is not seen in the tree."""

    def __init__(self, tree, folder, is_root):
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
        """Runs a shell script as the user, in the user's home; what it prints is the result."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME": self.home, "LANG": "C.UTF-8", "TERM": "dumb"}
        environment.update({name: os.environ[name] for name in PROXY_NAMES if name in os.environ})
        who = "root" if self.is_root else USER
        return checked(["chroot", f"--userspec={who}", "--groups=", self.root, "/bin/sh", "-ec",
                        f'cd "$HOME"\n{script}'], env=environment)

    def close(self):
        """Frees what the layer holds on the disk."""
        for path in (f"{self.root}/proc", self.root):
            subprocess.run(["umount", path], stderr=subprocess.DEVNULL, check=False)
        if not os.path.ismount(self.root) and not os.path.ismount(f"{self.root}/proc"):
            shutil.rmtree(self.folder, ignore_errors=True)
