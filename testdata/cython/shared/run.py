import os, sys, user
user.stop = os.abort
getattr(user, sys.argv[1])(user.Store())
