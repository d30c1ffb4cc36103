/* `pystack-core crashes`: lists, shows and removes them. */
#include "crashes.h"

#include "crash_store.h"
#include "messages.h"
#include "sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MEGABYTES_LIMIT (UINT64_C(1) << 40)
#define DAYS_LIMIT      UINT64_C(100000)
#define LOCK_SECONDS    10.

struct request {
    const char *store;
    bool json;
    struct crash_limits limits;
    bool some_limit;
};

static const struct option_choice formats[] = {{"text", 0}, {"json", 1}, {NULL, 0}};

static enum options_result take_store(void *request, const struct option_spec *spec,
                                      const char *value)
{
    (void)spec;
    ((struct request *)request)->store = value;
    return OPTIONS_RUN;
}

static enum options_result take_format(void *request, const struct option_spec *spec,
                                       const char *value)
{
    int format;
    if (!option_choose(spec, value, &format))
        return OPTIONS_WRONG;
    ((struct request *)request)->json = format == 1;
    return OPTIONS_RUN;
}

static enum options_result take_number(struct request *request, const struct option_spec *spec,
                                       const char *value, uint64_t most, uint64_t *ret)
{
    request->some_limit = true;
    return option_parse_number(spec, value, most, ret) ? OPTIONS_RUN : OPTIONS_WRONG;
}

static enum options_result take_size(void *request, const struct option_spec *spec,
                                     const char *value)
{
    uint64_t megabytes = 0;
    enum options_result result = take_number(request, spec, value, MEGABYTES_LIMIT, &megabytes);
    ((struct request *)request)->limits.bytes = megabytes * 1000000;
    return result;
}

static enum options_result take_age(void *request, const struct option_spec *spec,
                                    const char *value)
{
    uint64_t days = 0;
    enum options_result result = take_number(request, spec, value, DAYS_LIMIT, &days);
    ((struct request *)request)->limits.seconds = (int64_t)days * 24 * 3600;
    return result;
}

static enum options_result take_count(void *request, const struct option_spec *spec,
                                      const char *value)
{
    uint64_t count = 0;
    enum options_result result = take_number(request, spec, value, UINT32_MAX, &count);
    ((struct request *)request)->limits.count = (size_t)count;
    return result;
}

static const struct option_spec option_list[] = {
    {NULL, "store", 0, OPTION_REQUIRED, "DIR", "where they are (" CRASH_STORE ")", take_store,
     COMPLETE_DIRECTORIES, NULL},
    {NULL, "format", 0, OPTION_REQUIRED, "FORMAT",
     "text (default) or json: of the list an object a line, of one\n"
     "crash its report",
     take_format, COMPLETE_CHOICES, formats},
    {"prune removes the oldest until these hold; without any, those of handle:", "max-size", 0,
     OPTION_REQUIRED, "MB", "of all together", take_size, COMPLETE_NOTHING, NULL},
    {NULL, "max-age", 0, OPTION_REQUIRED, "DAYS", "of each", take_age, COMPLETE_NOTHING, NULL},
    {NULL, "max-count", 0, OPTION_REQUIRED, "N", "how many", take_count, COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

const struct command_spec crashes_command = {
    .name = "crashes",
    .summary = "list, show and prune what handle has kept",
    .usage = "[OPTIONS]\n[OPTIONS] show ID\n[OPTIONS] prune [ID...]",
    .about = "Lists the crashes that pystack-core handle has kept, shows the report of one, or\n"
             "removes those that are named, or too old or too many.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core crashes\n"
                "pystack-core crashes show 20261123-011502-1234\n"
                "pystack-core crashes prune --max-age 7",
    .exit_status = "Exit status: 0 done, 2 the store or the crash cannot be read, 64 wrong usage.",
};

/* ---- list ---- */

static void print_line(const struct crash_record *crash)
{
    printf("%-24s %7d  %8.1f MB  ", crash->id, crash->pid, (double)crash->bytes / 1e6);
    put_safely(stdout, crash->command[0] ? crash->command : "?");
    fputs("  ", stdout);
    put_safely(stdout, crash->title[0] ? crash->title : crash->problem);
    putchar('\n');
}

/* What is known of it, also where its own record is damaged. */
static void print_record(const struct crash_record *crash)
{
    char *text = crash_record_print(crash);
    if (text)
        puts(text);
    free(text);
}

static bool copy_file(const struct crash_store *store, const char *id, const char *name)
{
    char bytes[64 * 1024];
    int fd = crash_store_open_file(store, id, name);
    ssize_t got = fd < 0 ? -1 : 0;
    while (fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0)
        if (fwrite(bytes, 1, (size_t)got, stdout) != (size_t)got)
            break;
    if (fd >= 0)
        close(fd);
    return got == 0;
}

/* All that is in the store, and how it is listed. */
struct listing {
    const struct kept_crash *crashes;
    size_t count;
    bool json;
};

/* Without rights. */
static int print_list(void *context)
{
    const struct listing *listing = context;
    for (size_t i = 0; i < listing->count; i++) {
        struct crash_record crash;
        crash_record_parse(&listing->crashes[i], &crash);
        if (listing->json)
            print_record(&crash);
        else
            print_line(&crash);
    }
    if (!fflush(stdout) || errno == EPIPE)
        return EXIT_COMPLETE;
    complain("standard output: %s", strerror(errno));
    return EXIT_NOTHING;
}

static int list(const struct crash_store *store, bool json)
{
    const struct sandbox_rules nothing = {0};
    struct listing listing = {.json = json};
    struct kept_crash *crashes = crash_store_list(store, true, &listing.count);
    if (!crashes) {
        complain("out of memory");
        return EXIT_NOTHING;
    }
    listing.crashes = crashes;
    sandbox_begin();
    int code = sandbox_run(&nothing, print_list, &listing);
    if (!listing.count && !json && code == EXIT_COMPLETE)
        printf("no crashes in %s\n", store->path);
    crash_store_free_list(crashes, listing.count);
    return code;
}

/* ---- show ---- */

static int show(const struct crash_store *store, const char *id, bool json)
{
    if (copy_file(store, id, json ? CRASH_JSON : CRASH_TEXT)) {
        if (!json)
            printf("\nsmall core: %s/%s/%s\n", store->path, id, CRASH_CORE);
        return EXIT_COMPLETE;
    }
    int error = errno;
    int head = crash_store_open_file(store, id, CRASH_HEAD);
    if (head < 0) {
        complain("%s: %s", id,
                 error == ENOENT ? "there is no such crash; pystack-core crashes lists them"
                                 : strerror(error));
        return EXIT_NOTHING;
    }
    close(head);
    complain("%s: no report could be made; %s/%s/%s says why, and %s is the head of its core", id,
             store->path, id, CRASH_LOG, CRASH_HEAD);
    return EXIT_NOTHING;
}

/* ---- prune ---- */

static int prune(struct crash_store *store, const struct request *request, char **ids)
{
    const struct crash_limits usual = CRASH_LIMITS_DEFAULT;
    int code = EXIT_COMPLETE;
    if (!crash_store_lock(store, LOCK_SECONDS)) {
        complain("%s: somebody else has its lock", store->path);
        return EXIT_NOTHING;
    }
    if (!*ids)
        printf("%zu removed\n",
               crash_store_prune(store, request->some_limit ? &request->limits : &usual));
    for (; *ids; ids++)
        if (!crash_store_remove(store, *ids)) {
            complain("%s: there is no such crash", *ids);
            code = EXIT_NOTHING;
        }
    crash_store_unlock(store);
    return code;
}

static int run(const struct request *request, char **words)
{
    struct crash_store store;
    int code = EXIT_NOTHING;
    if (!crash_store_open(&store, request->store, false))
        return EXIT_NOTHING;
    if (!*words || !strcmp(*words, "list"))
        code = list(&store, request->json);
    else if (!strcmp(*words, "prune"))
        code = prune(&store, request, words + 1);
    else
        code = show(&store, words[!strcmp(*words, "show")], request->json);
    crash_store_close(&store);
    return code;
}

int command_crashes(int argc, char **argv)
{
    struct request request = {.store = CRASH_STORE};
    int first;
    enum options_result result = command_line_parse(&crashes_command, &request, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    char **words = argv + first;
    int count = argc - first;
    bool shows = count && !strcmp(*words, "show"), prunes = count && !strcmp(*words, "prune");
    if ((shows && count != 2) || (count > 1 && !shows && !prunes)) {
        complain_of_usage("crashes: %s", shows ? "show takes one ID" : "one ID, or show, or prune");
        return EXIT_USAGE;
    }
    return run(&request, words);
}
