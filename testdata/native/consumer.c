/* The smallest user of the library: prints the stacks of a core file, twice, from two threads.
 * Made by: cc consumer.c $(pkg-config --cflags --libs pystack-core) -pthread */
#include <pthread.h>
#include <pystack_core.h>
#include <stdio.h>
#include <string.h>

static int write_to(void *context, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : -1;
}

struct job {
    const char *path;
    char *text;
    size_t size;
    int failed;
};

static void *run(void *argument)
{
    struct job *job = argument;
    struct psc_error err;
    struct psc_target *target = NULL;
    struct psc_trace *trace = NULL;
    FILE *out = open_memstream(&job->text, &job->size);

    memset(&err, 0, sizeof(err));
    job->failed = psc_open_core(job->path, NULL, NULL, &target, &err) != PSC_OK ||
                  psc_capture(target, NULL, &trace, &err) != PSC_OK ||
                  psc_print(trace, NULL, write_to, out, &err) != PSC_OK;
    if (job->failed)
        fprintf(stderr, "%s\n", err.message);
    psc_trace_destroy(trace);
    psc_close(target);
    fclose(out);
    return NULL;
}

int main(int argc, char **argv)
{
    struct job jobs[2] = {{argv[1], NULL, 0, 0}, {argv[argc - 1], NULL, 0, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, &jobs[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (jobs[0].failed || jobs[1].failed)
        return 2;
    fputs(jobs[0].text, stdout);
    return strcmp(jobs[0].text, jobs[1].text) == 0 ? 0 : 3;
}
