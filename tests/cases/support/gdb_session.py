"""Run inside gdb: executes the commands of PSC_COMMANDS (JSON), writes what each said to PSC_ANSWERS."""
import json
import os

import gdb

gdb.execute("set pagination off")
gdb.execute("set width 0")
answers = []
for command in json.loads(os.environ["PSC_COMMANDS"]):
    try:
        if command.startswith("python-value "):
            answers.append(eval(command[len("python-value "):]))
        else:
            answers.append(gdb.execute(command, to_string=True))
    except gdb.error as error:
        answers.append("error: %s" % error)
    except KeyboardInterrupt:
        answers.append("interrupted")
with open(os.environ["PSC_ANSWERS"], "w") as file:
    json.dump(answers, file)
