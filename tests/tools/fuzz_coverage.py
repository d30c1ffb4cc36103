"""Which lines of each room a build with gcov has reached."""
import collections
import glob
import gzip
import json
import os
import subprocess
import tempfile


def forget(build):
    """Counters of earlier runs."""
    for path in glob.glob(os.path.join(build, "**", "*.gcda"), recursive=True):
        os.unlink(path)


def lines_of(build):
    """{source file: {line: whether it was reached}}; a header's lines are those of all who include it."""
    found: dict = collections.defaultdict(dict)
    notes = sorted(glob.glob(os.path.join(build, "analyzer", "**", "*.gcno"), recursive=True))
    if not notes:
        raise SystemExit("%s was not built with --preset coverage" % build)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(notes), 64):
            subprocess.run(["gcov", "--json-format", *notes[first:first + 64]], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for path in glob.glob(os.path.join(folder, "*.gcov.json.gz")):
            with gzip.open(path, "rt") as file:
                document = json.load(file)
            for source in document["files"]:
                name = os.path.normpath(os.path.join(document["current_working_directory"], source["file"]))
                for line in source["lines"]:
                    known = found[name].get(line["line_number"], False)
                    found[name][line["line_number"]] = known or line["count"] > 0
    return found


def show(build, tree):
    """Prints a line for each room, and the files of which least was reached."""
    rooms: dict = collections.defaultdict(lambda: [0, 0])
    files = []
    analyzer = os.path.join(tree, "analyzer") + os.sep
    for name, lines in lines_of(build).items():
        room = os.path.dirname(name[len(analyzer):])
        # The program's own rooms are no part of the library.
        if not name.startswith(analyzer) or room.split(os.sep)[0] in ("cli", "new_file") or not lines:
            continue
        reached = sum(lines.values())
        rooms[room][0] += reached
        rooms[room][1] += len(lines)
        files.append((reached / len(lines), reached, len(lines), name[len(analyzer):]))
    for room, (reached, total) in sorted(rooms.items()):
        print("%5.1f %%  %5d of %5d  %s" % (100 * reached / total, reached, total, room))
    total = [sum(counts) for counts in zip(*rooms.values())]
    print("%5.1f %%  %5d of %5d  all rooms" % (100 * total[0] / total[1], *total))
    print("least of:")
    for share, reached, count, name in sorted(files)[:12]:
        print("%5.1f %%  %5d of %5d  %s" % (100 * share, reached, count, name))
