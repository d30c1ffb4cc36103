"""Calls main() of a library inside of the interpreter: run_main.py LIBRARY [ARGUMENT…]."""
import ctypes
import sys

arguments = [one.encode() for one in sys.argv[1:]]
sys.exit(ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL).main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments)))
