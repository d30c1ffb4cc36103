/*
 * Files that are copied, not mapped, as in a library's host: whole, or, where a file is too large
 * for that, a window at a time. The linker leads the calls here first (-Wl,--wrap).
 */
#include "mutants.h"

#include "foreign_file.h"

static bool takes_windows;

void copies_take_windows(bool windows)
{
    takes_windows = windows;
}

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
int __real_foreign_file_copy(int fd);
int __wrap_foreign_file_copy(int fd);
int __wrap_foreign_file_copy(int fd)
{
    return takes_windows ? fd : __real_foreign_file_copy(fd);
}
// NOLINTEND(bugprone-reserved-identifier)
