/* Waits until all other threads of this process wait in the kernel. */
#ifndef PSC_RESTING_H
#define PSC_RESTING_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether no thread but this one is about to run: the state stands behind the name in parentheses.
 */
static int resting_others_wait(void)
{
    DIR *threads = opendir("/proc/self/task");
    struct dirent *thread;
    int running = 0;
    while (threads && (thread = readdir(threads))) {
        char path[300], text[512] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread->d_name);
        FILE *file = fopen(path, "r");
        const char *name_end = file && fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
        // ".." is this process, whose main thread may be the one that looks.
        running += thread->d_name[0] != '.' && name_end && name_end[2] != 'S';
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return running <= 1;
}

/* Returns when that was seen five times in a row, or after twenty seconds. */
static void resting_wait(void)
{
    for (int waits = 0, looks = 0; waits < 5 && looks < 10000; looks++) {
        usleep(2000);
        waits = resting_others_wait() ? waits + 1 : 0;
    }
}

#endif
