# Names and files beyond ASCII: Latin-1, Cyrillic, CJK, emoji, in functions, classes, files, threads.
import threading

import witness

source = """
def größe(naïve):
    return функция(naïve)

def функция(значение):
    return 名前(значение)

def 名前(値):
    return Класс().méthode()

class Класс:
    def méthode(self):
        ñ = "a" if witness else "b"; return {"é": witness.die(deep=True)}
"""


def main():
    scope = {"witness": witness}
    exec(compile(source, "dossier/été 日本 \U0001f40d.py", "exec"), scope)
    scope["größe"](1)


thread = threading.Thread(target=main, name="поток 線程 \U0001f9f5")
thread.start()
thread.join()
