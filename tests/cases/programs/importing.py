# Dies while a module is imported that another module imports: importlib is on the stack.
import os
import sys

import witness

for name, text in (("outer_module", "import inner_module\n"),
                   ("inner_module", "import witness\n\n\ndef setup():\n    witness.die()\n\n\nsetup()\n")):
    with open(os.path.join(witness.FOLDER, name + ".py"), "w") as out:
        out.write(text)
sys.path.insert(0, witness.FOLDER)
sys.dont_write_bytecode = True


def main():
    import outer_module
    return outer_module


main()
