/*
 * write_profile FORMAT MOMENTS [STACKS DEPTH] [threads] [processes] [cpu]: writes the made-up
 * profile of profile_sample.h to standard output.
 */
#include "profile_formats.h"
#include "profile_sample.h"

#include <stdlib.h>

static int write_to_stdout(void *context, const char *bytes, size_t size)
{
    (void)context;
    return fwrite(bytes, 1, size, stdout) != size;
}

static char *read_source(void *context, const char *file, size_t *ret_size)
{
    (void)context;
    char *text = NULL;
    if (strcmp(file, "/app/app.py"))
        return NULL;
    struct text source = {0};
    for (int i = 1; i <= 40; i++)
        text_printf(&source, "\tline_%d = %d < 2\n", i, i);
    text = source.data;
    *ret_size = source.size;
    return text;
}

int main(int argc, char **argv)
{
    struct sample_profile sample;
    if (argc < 3 || !sample_make(&sample, strtoull(argv[2], NULL, 10)))
        return 2;
    int rest = 3;
    if (argc > 4 && argv[3][0] >= '0' && argv[3][0] <= '9') {
        rest = 5;
        if (!sample_add_many(&sample, (uint32_t)strtoul(argv[3], NULL, 10),
                             (uint32_t)strtoul(argv[4], NULL, 10)))
            return 2;
    }
    for (int i = rest; i < argc; i++) {
        sample.profile->splits_threads |= !strcmp(argv[i], "threads");
        sample.profile->several_processes |= !strcmp(argv[i], "processes");
        sample.profile->by_cpu |= !strcmp(argv[i], "cpu");
    }
    struct profile_output output = {
        .write = write_to_stdout, .version = "1.2.3", .read_source = read_source};
    int code = 64;
    for (const struct profile_format *format = profile_formats; format->name; format++)
        if (!strcmp(format->name, argv[1]))
            code = format->write(sample.profile, &output, NULL) == PSC_OK ? 0 : 1;
    profile_destroy(sample.profile);
    return fflush(stdout) ? 1 : code;
}
