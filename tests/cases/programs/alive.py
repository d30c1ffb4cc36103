# Not dead: two threads that wait, for a core made by gcore.
import threading
import time

import witness


def sleeps():
    time.sleep(600)


threading.Thread(target=sleeps, name="sleeper", daemon=True).start()
witness.wait_until_others_rest(1)
witness.testify(), time.sleep(600)
