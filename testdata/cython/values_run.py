# Writes what values.truth says, then dies in values.dereference.
import array
import json

import values


def callback(count, size):
    with open("truth.json", "w") as file:
        json.dump(values.truth, file)
    return values.finish("a note")


def main():
    numbers = array.array("d", [1.5, 2.5, 3.5, 4.0, 5.0, 6.0])
    values.fit(callback, memoryview(numbers).cast("B").cast("d", (2, 3)))


main()
