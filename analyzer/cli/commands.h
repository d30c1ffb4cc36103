/** What the program does besides printing a core: each command has its own arguments. */
#ifndef PSC_COMMANDS_H
#define PSC_COMMANDS_H

/** argv[0] is the command's name. @return the exit code. */
int command_demangle(int argc, char **argv);

#endif
