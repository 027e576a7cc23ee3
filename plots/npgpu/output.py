"""Files as the program writes its own: whole or not there, with the permissions of what they replace."""
import errno
import os
import stat
import tempfile


def write(path, content):
    """Replaces the file by these bytes, or writes to a pipe or device where it is. What nobody may write is not replaced.
    OSError where it fails, and then nothing is left."""
    place = os.path.realpath(path)
    try:
        mode = os.stat(place).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(place, "wb") as file:
            file.write(content)
        return
    if mode is not None and (not mode & 0o222 or not os.access(place, os.W_OK)):
        raise PermissionError(errno.EACCES, "it is write-protected", path)
    descriptor, scratch = tempfile.mkstemp(prefix=f".{os.path.basename(place)[:100]}.", dir=os.path.dirname(place))
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o666 & ~umask() if mode is None else stat.S_IMODE(mode))
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(scratch, place)
    except BaseException:
        os.unlink(scratch)
        raise


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
