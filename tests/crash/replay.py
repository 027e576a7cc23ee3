#!/usr/bin/env python3
"""Runs a program that writes a trace, then looks at every moment at which it could have been cut off.

    replay.py --shim record.so [--before TRACE] -- write_many {trace} --eager

The shim records every operation on the trace's folder. Each prefix of that record, and each write half done, is a
moment at which the program could have been killed, or the machine could have lost its power. In the latter case data
that was not yet fsynced may be missing or half there, and names that changed after the folder's last fsync may be as
they were before. At all of these moments the trace must be absent or open with h5py, and it must hold every visit that
the program had called saved (lines like "saved <series> <bytes> <round>" or "saved /<kind>/<series> <row>:").

--before starts with a copy of that trace, whose visits must stay; --pretend-no fsync or folder-fsync takes those operations out of the record,
and --expect-broken turns the verdict round: a check that cannot fail checks nothing.
"""
import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

from trace_visits import SAVED, announced, visits_of


class Inode:
    """A file's bytes, now and when they were last fsynced."""

    def __init__(self, data=b"", durable=b""):
        self.data = bytearray(data)
        self.durable = bytes(durable)

    def write(self, offset, data):
        if offset > len(self.data):
            self.data.extend(b"\0" * (offset - len(self.data)))
        self.data[offset:offset + len(data)] = data

    def after_power_loss(self):
        """What may be on the disk: all, what was synced, the beginning of what was not, the length without the bytes."""
        now = bytes(self.data)
        if now == self.durable:
            return [now]
        return [now, self.durable, now[:len(now) // 2], b"\0" * len(now)]


class Disk:
    """One folder of files, and the name tables that may be found after a power loss."""

    def __init__(self, files):
        self.names = {name: Inode(data, data) for name, data in files.items()}
        self.possible = [dict(self.names)]  # the folder as of its last fsync, and after each change since
        self.open = {}

    def apply(self, operation, *arguments):
        getattr(self, "do_" + operation)(*arguments)

    def changed(self):
        self.possible.append(dict(self.names))

    def do_open(self, fd, flags, path):
        if "u" in flags:
            self.open[fd] = Inode()
            return
        if path == ".":
            self.open[fd] = None
            return
        if path not in self.names:
            if "c" not in flags:
                raise KeyError(f"{path} was opened and never created")
            self.names[path] = Inode()
            self.changed()
        elif "t" in flags:
            self.names[path].data = bytearray()
        self.open[fd] = self.names[path]

    def do_write(self, fd, offset, data):
        self.open[fd].write(offset, data)

    def do_truncate(self, fd, length):
        data = self.open[fd].data
        self.open[fd].data = data[:length] + b"\0" * (length - len(data))

    def do_fsync(self, fd):
        if self.open[fd] is None:
            self.possible = [dict(self.names)]
        else:
            self.open[fd].durable = bytes(self.open[fd].data)

    def do_close(self, fd):
        del self.open[fd]

    def do_rename(self, source, target):
        self.names[target] = self.names.pop(source)
        self.changed()

    def do_link(self, source, target):
        self.names[target] = self.names[source]
        self.changed()

    def do_name(self, fd, target):
        self.names[target] = self.open[fd]
        self.changed()

    def do_unlink(self, path):
        del self.names[path]
        self.changed()


def read_log(path):
    """The operations, with numbers as numbers and bytes as bytes."""
    data = open(path + ".data", "rb").read()
    for line in open(path):
        operation, *fields = line.rstrip("\n").split("\t")
        if operation == "open":
            yield operation, int(fields[0]), fields[1], fields[2]
        elif operation == "write":
            fd, offset, at, length = map(int, fields)
            yield operation, fd, offset, data[at:at + length]
        elif operation == "say":
            at, length = map(int, fields)
            yield operation, data[at:at + length].decode(errors="replace")
        elif operation == "name":
            yield operation, int(fields[0]), fields[1]
        elif operation in ("truncate", "fsync", "close"):
            yield operation, *map(int, fields)
        else:
            yield operation, *fields


class Judge:
    """Looks at what a trace may be after a moment, and counts."""

    def __init__(self, name, scratch, pattern):
        self.name, self.scratch, self.pattern = name, os.path.join(scratch, "found.h5"), pattern
        self.said = ""
        self.kept = set()  # visits that were there before
        self.known = {}  # content -> visits, or why it cannot be read
        self.moments = self.states = 0
        self.problems = []

    def visits(self, content):
        key = hashlib.sha256(content).digest()
        if key not in self.known:
            with open(self.scratch, "wb") as file:
                file.write(content)
            try:
                self.known[key] = visits_of(self.scratch)
            except Exception as error:  # whatever h5py makes of it
                self.known[key] = f"{type(error).__name__}: {error}"
        return self.known[key]

    def look(self, disk, when):
        self.moments += 1
        saved = self.kept | announced(self.said, self.pattern)
        killed = [disk.names.get(self.name)]
        contents = {("kill", None if i is None else bytes(i.data)) for i in killed}
        for names in disk.possible:
            inode = names.get(self.name)
            contents |= {("power loss", c) for c in ([None] if inode is None else inode.after_power_loss())}
        for cause, content in contents:
            self.states += 1
            if content is None:
                if saved:
                    self.problems.append(f"{when}, {cause}: no trace, and {len(saved)} visits were called saved")
                continue
            found = self.visits(content)
            if isinstance(found, str):
                self.problems.append(f"{when}, {cause}: {found}")
            elif not saved <= found:
                self.problems.append(f"{when}, {cause}: {len(saved - found)} visits that were called saved are missing")


def halves(data):
    """Lengths at which a write may have been cut off."""
    return sorted({1, len(data) // 3, len(data) // 2, len(data) - 1, *range(4096, len(data), 65536)} & set(range(1, len(data))))


def judge_all(operations, disk, judge, pretend_no):
    judge.look(disk, "before the first operation")
    for number, (operation, *arguments) in enumerate(operations, 1):
        when = f"after operation {number} ({operation})"
        if operation == "say":
            judge.said += arguments[0]
        else:
            if operation == "fsync" and pretend_no == ("folder-fsync" if disk.open[arguments[0]] is None else "fsync"):
                continue
            if operation == "write":
                fd, offset, data = arguments
                before = bytearray(disk.open[fd].data)
                for length in halves(data):
                    disk.apply("write", fd, offset, data[:length])
                    judge.look(disk, f"after {length} of {len(data)} bytes of operation {number} (write)")
                    disk.open[fd].data = bytearray(before)
            disk.apply(operation, *arguments)
        judge.look(disk, when)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shim", required=True, help="the library that records")
    parser.add_argument("--saved", default=SAVED, help="regular expression of a line that calls a visit saved; groups: series, bytes, round")
    parser.add_argument("--before", help="a trace that is there already")
    parser.add_argument("--pretend-no", choices=("fsync", "folder-fsync"))
    parser.add_argument("--expect-broken", action="store_true")
    parser.add_argument("command", nargs="+", help="{trace} stands for the trace")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="npgpu-replay-") as scratch:
        folder, log = os.path.join(os.path.realpath(scratch), "folder"), os.path.join(scratch, "log")
        os.mkdir(folder)
        if options.before:
            shutil.copy(options.before, os.path.join(folder, "trace.h5"))
        contents = lambda: {n: open(os.path.join(folder, n), "rb").read() for n in os.listdir(folder)}
        disk = Disk(contents())
        environment = dict(os.environ, LD_PRELOAD=os.path.abspath(options.shim), RECORD_FOLDER=folder, RECORD_LOG=log,
                           HDF5_USE_FILE_LOCKING="FALSE",
                           ASAN_OPTIONS="verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", ""))
        command = [word.replace("{trace}", os.path.join(folder, "trace.h5")) for word in options.command]
        ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode != 0:
            print(ran.stdout)
            return f"the program failed with {ran.returncode}"

        judge = Judge("trace.h5", scratch, options.saved)
        if options.before:
            judge.kept = visits_of(options.before)
        operations = list(read_log(log))
        judge_all(operations, disk, judge, options.pretend_no)
        saved = announced(judge.said, options.saved)
        kinds = {kind: sum(o[0] == kind for o in operations) for kind in sorted({o[0] for o in operations})}
        print(f"{len(operations)} operations {kinds}")
        print(f"{judge.moments} moments, {judge.states} states, {len(judge.known)} different traces, {len(saved)} visits saved, "
              f"{len(judge.problems)} problems")
        if {name: bytes(i.data) for name, i in disk.names.items()} != contents():
            return "the record is incomplete: it does not end in the folder as it is"
        if not saved:
            return "the program called no visit saved"
        for problem in judge.problems[:10]:
            print(" ", problem)
        if options.expect_broken:
            return None if judge.problems else "problems were expected, and none was seen"
        return "a saved visit can be lost, or the trace broken" if judge.problems else None


if __name__ == "__main__":
    sys.exit(main())
