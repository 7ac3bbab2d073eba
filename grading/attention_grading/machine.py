"""What this machine is, and what to do where it lets no sandbox work."""

import os
import platform
import re
import shutil
from pathlib import Path
from typing import NamedTuple


class Machine(NamedTuple):
    """What the remedy depends on."""

    system: str  # Linux, Darwin, Windows
    family: str = ""  # what /etc/os-release says: its ID and the IDs it is like
    container: bool = False
    bubblewrap: bool = True
    namespaces: str = ""  # /proc/sys/user/max_user_namespaces
    clone: str = ""  # /proc/sys/kernel/unprivileged_userns_clone
    apparmor: str = ""  # /proc/sys/kernel/apparmor_restrict_unprivileged_userns
    root: bool = False  # then nothing needs sudo, which a container often lacks


def machine():
    return Machine(
        platform.system(),
        " ".join(re.findall(r"^ID(?:_LIKE)?=\"?([^\"\n]*)", content("/etc/os-release"), re.M)),
        any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))),
        bool(shutil.which("bwrap")),
        content("/proc/sys/user/max_user_namespaces"),
        content("/proc/sys/kernel/unprivileged_userns_clone"),
        content("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        hasattr(os, "geteuid") and os.geteuid() == 0,
    )


def content(path):
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return ""


INSTALL = {
    "debian": "{sudo}apt update && {sudo}apt install bubblewrap",  # a container comes without the lists
    "fedora": "{sudo}dnf install bubblewrap",
    "rhel": "{sudo}dnf install bubblewrap",
    "arch": "{sudo}pacman -S bubblewrap",
}
APPARMOR = (
    r"printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n"
    r"  userns,\n}\n' | sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor"
)


def remedy(machine, symptom):
    """What to do on this machine; symptom: what bubblewrap said.  A command ends its line, so that it can be copied."""
    sudo = "" if machine.root else "sudo "
    if machine.system == "Darwin":
        return (
            "macOS has no bubblewrap: run attn on a Linux server or in a Linux virtual machine "
            "(Lima: brew install lima, limactl start; or UTM, or Multipass)."
        )
    if machine.system == "Windows":
        return "Run attn inside WSL2 (wsl --install, then its Linux terminal)."
    if not machine.bubblewrap:
        known = (INSTALL[name] for name in machine.family.split() if name in INSTALL)
        return "Install bubblewrap: " + next(known, "it is a package of the system.").format(sudo=sudo)
    if machine.namespaces == "0":
        return f"User namespaces are switched off: {sudo}sysctl user.max_user_namespaces=10000"
    if machine.clone == "0":
        return "User namespaces are kept to root: sudo sysctl kernel.unprivileged_userns_clone=1"
    if machine.container:
        host = " and, on its host, run sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        return (
            f"This is a container that keeps bubblewrap from working ({symptom}): start it with --security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined, and if that is not enough with --cap-add "
            f"SYS_ADMIN{host if machine.apparmor == '1' else ''}; or run attn outside."
        )
    if machine.apparmor == "1":
        return f"AppArmor denies bubblewrap user namespaces; this allows them to bubblewrap alone: {APPARMOR}"
    return f"bubblewrap does not work here: {symptom}"
