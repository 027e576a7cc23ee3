"""Completions and manual pages: the shells and roff take them, and they offer what --help explains."""
import functools
import os
import pty
import re
import shutil
import subprocess

from npgpu_run import PROGRAM, SOURCE, Checks, folder, run, written

check = Checks()


@functools.cache
def help_of(word):
    return run("help", word).out


def completed(script, *words):
    """What bash offers for the last of these words."""
    line = (f"source {script}; COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; "
            "_npgpu; printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=os.path.dirname(script),
                          env={**os.environ, "PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"]})
    check(not done.stderr, f"bash: {words}: {done.stderr}")
    return done.stdout.split()


def on_terminal(*words, env):
    """What a terminal shows of a run."""
    ours, its = pty.openpty()
    process = subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=env)
    os.close(its)
    shown = b""
    try:
        while more := os.read(ours, 4096):
            shown += more
    except OSError:  # its other end was closed
        pass
    os.close(ours)
    process.wait(60)
    return shown.decode()


def in_bash(at):
    script = os.path.join(at, "npgpu.bash")
    for words, wanted in ((("npgpu", "tr"), ["transfer"]),
                          (("npgpu", "transfer", "--patt"), ["--pattern"]),
                          (("npgpu", "transfer", "--pattern", "p"), ["pingpong"]),
                          (("npgpu", "transfer", "--pattern", "stream,d"), ["stream,duplex"]),
                          (("npgpu", "transfer", "--timing", ""), ["host", "event", "gated"]),
                          (("npgpu", "transfer", "--memory", "w"), ["write-combined"]),
                          (("npgpu", "transfer", "--start", ""), []),
                          (("npgpu", "transfer", "--device", "sim:gtx2"), None),
                          (("npgpu", "probe", "lat"), ["latency"]),
                          (("npgpu", "export", "--table", "cal"), ["calls"]),
                          (("npgpu", "report", "--html", "npgpu.b"), ["npgpu.bash"]),
                          (("npgpu", "report", "npgpu.z"), ["npgpu.zsh"]),
                          (("npgpu", "help", "der"), ["derive"])):
        found = completed(script, *words)
        if wanted is None:  # bash itself splits words at colons, which it has not done here
            check(any(word.startswith("sim:gtx2") for word in found), f"devices: {found}")
        else:
            check(found == wanted, f"{words}: {found}, not {wanted}")


def all_options(at, commands):
    """Every option that --help explains is offered, and has its place in the manual page."""
    scripts = {shell: open(os.path.join(at, f"npgpu.{shell}")).read() for shell in ("bash", "zsh", "fish")}
    for command in commands:
        explained, _, of_all = help_of(command).partition("Options of every measuring command")
        options = re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", explained, re.M)
        if of_all:  # their names only
            named = re.findall(r"--([a-z0-9-]+)", of_all.split("Examples:")[0])
            told = re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", help_of("measuring"), re.M)
            check(set(named) == set(told), f"{command}: it names {named}, and help measuring explains {told}")
            options = list(dict.fromkeys(options + told))
        page = run("man", command).out
        offered = completed(os.path.join(at, "npgpu.bash"), "npgpu", command, "--")
        check(set(offered) == {f"--{option}" for option in options}, f"{command}: bash offers {offered}")
        for option in options:
            if command not in ("man", "completion"):
                check(f"'--{option}[" in scripts["zsh"], f"zsh: --{option}")
            check(re.search(rf"from {command}' -l {option}\b", scripts["fish"]), f"fish: {command} --{option}")
            check("\\-\\-" + option.replace("-", "\\-") in page, f"{command}: --{option} is not in the manual page")


# What a command needs before it looks at its options' words, with a device that can all that is asked for, and a trace.
NEEDS = {"probe": ["all"], "export": ["TRACE"], "predict": ["TRACE", "--bytes-in", "1MiB", "--kernel-ms", "1", "--bytes-out", "0"],
         "simulate": ["--bytes-in", "1MiB", "--kernel-ms", "1"]}


def refusal(command, option, word):
    """What is said of this word; of one that is taken nothing is, or something else than of a word that there is not."""
    trace = os.path.join(SOURCE, "data", "traces", "h200_check.h5" if command == "export" else "h200_streams.h5")
    words = [trace if one == "TRACE" else one for one in NEEDS.get(command, [])]
    dry = ["--dry-run"] if "Options of every measuring command" in help_of(command) else []
    device = ["--device", "sim:h200x2" if command == "collectives" else "sim:h200"] if command not in ("export", "predict") else []
    return run(command, *words, *device, *dry, f"--{option}={word}").err


def words_are_taken(script):
    """Every word that a shell offers for an option is one that the command takes, and the command refuses others."""
    tried = 0
    with open(script, encoding="utf-8") as file:
        text = file.read()
    for command, body in re.findall(r"^    (\w+)\)\n(.*?)esac ;;$", text, re.M | re.S):
        for option, words in re.findall(r"--([a-z-]+)(?:\|-\w)?\) words=\"([\w -]{2,})\"", body):
            if option == "chunk":  # which only a job of several ranks reads
                continue
            bogus = refusal(command, option, "frobnicate")
            check("frobnicate" in bogus, f"{command} --{option} takes any word: {bogus}")
            check(len(set(words.split())) == len(words.split()), f"{command} --{option} offers a word twice: {words}")
            for word in words.split():
                said = refusal(command, option, word)
                check(said != bogus.replace("frobnicate", word), f"{command} --{option} {word}: {said}")
                tried += 1
    check(tried > 100, f"{tried} words")


def taken_by(tool, *arguments):
    if not shutil.which(tool):
        print(f"not tested: there is no {tool}")
        return
    done = subprocess.run([tool, *arguments], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, f"{tool} {arguments}: {done.stderr[:300]}")


with folder() as at:
    for shell in ("bash", "zsh", "fish"):
        written(os.path.join(at, f"npgpu.{shell}"), run("completion", shell).out)
        taken_by(shell, "-n", os.path.join(at, f"npgpu.{shell}"))
    if shutil.which("zsh"):  # it is defined and registered where completion is
        done = subprocess.run(["zsh", "-fc", f"autoload -U compinit; compinit -u -d {at}/dump; source {at}/npgpu.zsh; "
                               "print $_comps[npgpu]; functions _npgpu | wc -l"], capture_output=True, text=True)
        check(done.stdout.split()[:1] == ["_npgpu"] and int(done.stdout.split()[1]) > 20, f"zsh: {done.stdout} {done.stderr}")
    if shutil.which("fish"):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {at}/npgpu.fish; complete -C 'npgpu transfer --pattern p'"],
                              capture_output=True, text=True)
        check(done.stdout.split()[:1] == ["pingpong"], f"fish: {done.stdout} {done.stderr}")
    in_bash(at)
    words_are_taken(os.path.join(at, "npgpu.bash"))
    overview = run("man").out
    commands = re.findall(r"^\.BR npgpu\\-(\w+) \(1\)$", overview, re.M)
    check(len(commands) > 15 and "transfer" in commands, f"commands: {commands}")
    all_options(at, commands)
    for page in ["", *commands]:
        name = os.path.join(at, f"npgpu-{page}.1")
        written(name, run("man", *([page] if page else [])).out)
        taken_by("groff", "-man", "-Tascii", "-ww", "-z", name)
    # On a terminal man shows it, where there is one; without, the page is printed as it is.
    os.chmod(written(os.path.join(at, "man"), "#!/bin/sh\necho seen by man: $1 $2\ncat > /dev/null\n"), 0o755)
    for path, told in ((f"{at}:{os.environ['PATH']}", "seen by man: -l -"), ("/nowhere", ".SH NAME")):
        shown = on_terminal("man", "derive", env={**os.environ, "PATH": path})
        check(told in shown and (".SH" in shown) == (told == ".SH NAME"), f"man on a terminal: {shown[:300]}")
    check(run("completion", "tcsh").code == 2 and run("man", "nonsense").code == 2, "what there is not is refused")
check.finish()
