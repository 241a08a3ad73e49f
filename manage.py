"""Run Countersign with nothing but Python 3.11+: `python3 manage.py VERB`.

The first start builds `.venv` beside this file; a later start finds its stamp and goes straight to the verb.
Only the standard library may be imported here, and at the top only what that second start needs.
"""

import hashlib
import os
import sys

OLDEST = (3, 11)
USAGE_ERROR = 2
SETUP_FAILED = 3
INTERRUPTED = 130


def require_python(version: "tuple[int, ...]") -> None:
    """Exit with one sentence when this interpreter is too old.

    The whole file has to parse on such an interpreter, so it uses no syntax newer than Python 3.6.
    """
    if tuple(version[:2]) < OLDEST:
        found, needed = (".".join(str(number) for number in each[:2]) for each in (version, OLDEST))
        sentence = f"Countersign needs Python {needed} or newer, and this is Python {found}."
        print(f"{sentence} Try: python{needed} manage.py", file=sys.stderr)
        sys.exit(SETUP_FAILED)


# Before the definitions below, because older interpreters cannot evaluate their annotations.
require_python(sys.version_info[:3])

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYTHON = os.path.join(BIN, "python.exe" if os.name == "nt" else "python")
UV_PROGRAM = os.path.join(BIN, "uv.exe" if os.name == "nt" else "uv")
STAMP = os.path.join(VENV, ".countersign-stamp")
INSTALLED_FROM = ("requirements.txt", "pyproject.toml")
UNFINISHED = "unfinished"
UV = "uv==0.13.9"

Command = list[str]
Step = tuple[str, Command]


# --- the verbs --------------------------------------------------------------------------------------------


def module_verb(name: str, *leading: str) -> Step:
    """A verb that is a module; `-P` keeps a `submission` where the person stands from shadowing ours."""
    return name, [PYTHON, "-P", "-m", name, *leading]


def script_verb(*path: str) -> Step:
    """A verb that is a file, so that it runs exactly as it does when started by hand."""
    return path[-1], [PYTHON, os.path.join(ROOT, *path)]


VERBS = {
    "play": "serve the game and open the browser",
    "serve": "serve the game: --host --port --data DIR",
    "simulate": "play a campaign in the terminal; needs no credential",
    "verify": "check a log: integrity, completeness, schema, XP, rescoring",
    "replay": "show a run as it was at any event of its log",
    "compare": "show where two runs part and how the companies differ",
    "bench": "measure, each figure as a ratio to a floor of this machine",
    "test": "run the tests and the smoke test; with arguments, pytest with them",
    "check": "lint, format, types and import contracts, then test",
    "lock": "renew requirements.txt from pyproject.toml; --upgrade for newer versions",
    "help": "show this list",
}
ONE_STEP = {
    "play": module_verb("submission.tools.server", "play"),
    "serve": module_verb("submission.tools.server", "serve"),
    "simulate": script_verb("submission", "tools", "run_quest_simulation.py"),
    "verify": module_verb("submission.tools.judge", "verify"),
    "replay": module_verb("submission.tools.judge", "replay"),
    "compare": module_verb("submission.tools.judge", "compare"),
    "bench": ("tests.bench", [PYTHON, "-m", "tests.bench"]),
}
LINTERS = [
    ("ruff check", [PYTHON, "-m", "ruff", "check", "."]),
    ("ruff format", [PYTHON, "-m", "ruff", "format", "--check", "."]),
    ("mypy", [PYTHON, "-m", "mypy"]),
    ("lint-imports", [os.path.join(BIN, "lint-imports")]),
]
FROM_ROOT = {"bench", "test", "check", "lock"}


def steps_of(verb: str, arguments: list[str]) -> list[Step]:
    """What a verb runs, in order; the arguments go on untouched to the last tool that can use them."""
    if verb in ONE_STEP:
        name, command = ONE_STEP[verb]
        return [(name, command + arguments)]
    tests = [("pytest", [PYTHON, "-m", "pytest", *arguments])]
    if not arguments:
        tests.append(script_verb("submission", "tools", "demo_smoke_test.py"))
    return tests if verb == "test" else LINTERS + tests


def usage() -> str:
    """The list of verbs, one a line."""
    lines = [f"  {verb:<9} {what}" for verb, what in VERBS.items()]
    return "\n".join(["usage: python3 manage.py VERB [arguments]", "", *lines])


def run(steps: list[Step]) -> int:
    """Run the steps up to the first that fails, and say which; a single step takes this process over."""
    if len(steps) == 1:
        return replace_process(steps[0][1])
    for name, command in steps:
        say(name)
        code = wait_for(command)
        if code:
            say(f"stopped at {name} (exit {code})")
            return code
    return 0


def replace_process(command: Command) -> int:
    """Become the command, so that its signals, its terminal and its exit code are the person's own."""
    if os.name == "nt":  # there, exec gives the prompt back before the program has ended
        return wait_for(command)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)


def wait_for(command: Command) -> int:
    """Run a command to its end and return the exit code a shell would give it.

    Ctrl-C reaches the command too; it is left the time to put its things away.
    """
    import subprocess

    interrupted = False
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            try:
                process.wait()
            except KeyboardInterrupt:
                interrupted = True
    code = process.returncode
    if interrupted:
        return INTERRUPTED
    return code if code >= 0 else 128 - code


# --- the environment --------------------------------------------------------------------------------------


class SetupError(Exception):
    """The environment could not be made; the message is all that the person reads."""


def say(line: str) -> None:
    """Tell the person; never on stdout, where verbs print JSON."""
    print(f"countersign: {line}", file=sys.stderr, flush=True)


def place() -> str:
    """What a `.venv` cannot outlive: its Python's version, and its folder, whose full path it holds."""
    return f"{sys.implementation.cache_tag} {ROOT}"


def stamp() -> str:
    """What a finished environment for the present files is stamped with."""
    digest = hashlib.sha256()
    for name in INSTALLED_FROM:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return f"{place()}\n{digest.hexdigest()}\n"


def read_stamp() -> str:
    """The stamp that the environment bears, or nothing when it has none or its Python is gone."""
    if not os.path.exists(PYTHON):
        return ""
    try:
        with open(STAMP, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def write_stamp(text: str) -> None:
    """Stamp the environment in one move, so that no reader meets half a stamp."""
    with open(STAMP + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    os.replace(STAMP + ".new", STAMP)


def ensure_environment() -> None:
    """Make `.venv` what the present files ask for; do nothing when it already is."""
    try:
        if read_stamp() == stamp():
            return
        held = take_lock()
        try:
            if read_stamp() != stamp():  # it may have been made while this start waited
                install()
        finally:
            os.close(held)
    except OSError as error:
        raise SetupError(f"{error}\n{DISK_ADVICE}") from error


DISK_ADVICE = "Make sure that this folder can be written and that its disk has room, then start again."
VENV_ADVICE = "Python could not make .venv: install its venv module (Debian: python3-venv), then start again."
NETWORK_ADVICE = "The packages could not be installed: see to the network or pip's index, then start again."


def install() -> None:
    """Build the environment, or bring a finished one up to date; the stamp is written last.

    Without a stamp nothing in `.venv` is trusted and it is made anew. An update that was cut short leaves its
    mark, and the next start installs every package again over it.
    """
    wanted, found = stamp(), read_stamp()
    if found.startswith(f"{place()}\n"):
        say("bringing .venv up to date")
        write_stamp(f"{place()}\n{UNFINISHED}\n")
    else:
        say("preparing .venv, once; this takes up to a minute")
        quietly(VENV_ADVICE, sys.executable, "-m", "venv", "--clear", VENV)
    quietly(NETWORK_ADVICE, PYTHON, "-m", "pip", "install", "--quiet", UV)
    install_packages(again=UNFINISHED in found)
    write_stamp(wanted)


def install_packages(again: bool) -> None:
    """Install the pinned packages with uv, or with pip where only pip knows an index that can be reached."""
    uv = [UV_PROGRAM, "pip", "install", "--python", PYTHON, "--compile-bytecode"]
    pip = [PYTHON, "-m", "pip", "install", "--quiet"]
    try:
        quietly(NETWORK_ADVICE, *uv, *["--reinstall"] * again, "-r", "requirements.txt")
    except SetupError:
        say("uv could not install the packages, trying pip")
        quietly(NETWORK_ADVICE, *pip, *["--force-reinstall"] * again, "-r", "requirements.txt")


def quietly(advice: str, *command: str) -> None:
    """Run a tool without its output; if it fails, its last lines and the advice are the error."""
    import subprocess

    # close_fds=False hands the lock down: a tool that outlives a killed launcher keeps others waiting.
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        close_fds=False,
        check=False,
    )
    if done.returncode:
        last_lines = done.stdout.decode(errors="replace").strip().splitlines()[-12:]
        raise SetupError("\n".join([*last_lines, advice]))


def take_lock() -> int:
    """Wait to be the only start that installs, until the descriptor is closed or the process dies."""
    import time

    held = os.open(VENV + ".lock", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(held, True)
    waiting = False
    while not try_lock(held):
        if not waiting:
            say("another start is preparing .venv, waiting for it")
        waiting = True
        time.sleep(0.2)
    return held


def try_lock(descriptor: int) -> bool:
    """Take the lock unless another process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


# --- renewing the pins ------------------------------------------------------------------------------------

PINS_HEADER = "# Pinned from pyproject.toml for every platform. To renew: python3 manage.py lock\n"
COMPILE = ["pip", "compile", "pyproject.toml", "--extra=dev", "--universal", "--python-version=3.11", "-q"]
ONLY_PINS = ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]


def lock(arguments: list[str]) -> int:
    """Renew requirements.txt; pins that still fit are kept unless the arguments say otherwise."""
    pins, draft = os.path.join(ROOT, "requirements.txt"), os.path.join(VENV, "requirements.txt")
    with open(pins) as file:
        kept = [line for line in file if not line.startswith(("#", "-e"))]
    with open(draft, "w") as file:
        file.writelines(kept)
    code = wait_for([UV_PROGRAM, *COMPILE, *ONLY_PINS, "--output-file", draft, *arguments])
    if code:
        return code
    with open(draft) as file:
        compiled = file.read()
    with open(draft, "w") as file:
        file.write(f"{PINS_HEADER}{compiled}-e .\n")
    os.replace(draft, pins)
    return 0


# --- the door ---------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Do what the person asked, and return the exit code."""
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    if verb in ("help", "-h", "--help"):
        print(usage())
        return 0
    if verb not in VERBS:
        say(f"there is no verb {verb!r}\n{usage()}")
        return USAGE_ERROR
    try:
        # Pins that can no longer be installed are what `lock` is there to renew; it needs only uv.
        if verb != "lock" or not os.path.exists(UV_PROGRAM):
            ensure_environment()
    except SetupError as error:
        say(f"{verb} could not start\n{error}")
        return SETUP_FAILED
    if verb in FROM_ROOT:
        os.chdir(ROOT)
    return lock(rest) if verb == "lock" else run(steps_of(verb, rest))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
