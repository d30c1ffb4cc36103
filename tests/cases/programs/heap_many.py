"""Ends with so many small objects, six for each session, and nothing else."""
import os
import sys


class Session(object):
    def __init__(self, number):
        self.number = number
        self.name = "name-%d" % number
        self.tags = [number, str(number)]


sessions = [Session(number + 1000) for number in range(int(sys.argv[1]) // 6)]
os.abort()
