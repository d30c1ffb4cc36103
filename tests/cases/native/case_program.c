/*
 * A stack through a library: main, program_outer, library_outer, library_middle,
 * library_inner, program_inner, which dies in the way that is asked for.
 *
 *     case_program LIBRARY WAY [PATH]
 *
 * WAY: abort | null | wild | data; library: the library itself dies;
 * unlink: removes LIBRARY first; rename: renames PATH over it first.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;
static volatile char data[64];
static const char *way;
static int (*enter)(int (*callback)(int), int);

__attribute__((noinline)) int program_inner(int depth)
{
    void (*volatile target)(void) = abort;
    if (strcmp(way, "null") == 0)
        target = NULL;
    else if (strcmp(way, "wild") == 0)
        target = (void (*)(void))(unsigned long)0x1ead0000beefUL;
    else if (strcmp(way, "data") == 0)
        target = (void (*)(void))(unsigned long)data;
    target();
    sink = depth;
    return sink;
}

__attribute__((noinline)) int program_outer(int depth)
{
    sink = enter(strcmp(way, "library") == 0 ? NULL : program_inner, depth + 1);
    return sink + 1;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 64;
    way = argv[2];
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    enter = (int (*)(int (*)(int), int))(unsigned long)dlsym(library, "library_outer");
    if (strcmp(way, "unlink") == 0 && unlink(argv[1]) != 0)
        return 1;
    if (strcmp(way, "rename") == 0 && (argc < 4 || rename(argv[3], argv[1]) != 0))
        return 1;
    sink = program_outer(0);
    return sink;
}
