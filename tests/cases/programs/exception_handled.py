# Dies while an exception is handled, called from within the except block.
import witness


def look_up(table, key):
    return table[key]


def main():
    try:
        look_up({}, "rank")
    except KeyError:
        witness.die()


main()
