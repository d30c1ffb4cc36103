/** `pystack-core demangle` */
#ifndef PSC_COMMAND_DEMANGLE_H
#define PSC_COMMAND_DEMANGLE_H

/** argv[0] is the command's name. @return the exit code. */
int command_demangle(int argc, char **argv);

#endif
