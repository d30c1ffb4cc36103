/* Starts an interpreter of the libpython that it is given, runs nothing of Python, and dies.
 * Made by: cc -g -O1 -o bare bare.c -ldl */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void (*initialize)(void) =
        library ? (void (*)(void))(uintptr_t)dlsym(library, "Py_Initialize") : NULL;
    if (!initialize)
        return 1;
    initialize();
    kill(getpid(), SIGSEGV);
    return 0;
}
