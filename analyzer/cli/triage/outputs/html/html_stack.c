/* Threads and their frames in a page. */
#include "html_private.h"

#include <stdlib.h>
#include <string.h>

#define INNERMOST_SHOWN 100u
#define OUTERMOST_SHOWN 20u
#define THREADS_SHOWN   60u /* Different stacks. */
#define THREADS_TAKEN   2000u
#define FOLDED_FROM     6u /* So many frames outside of the program's own are folded. */

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void put_frame_place(FILE *file, const struct triage_result *result, const json_t *frame)
{
    const char *path = text_of(frame, "file"), *own = sources_path(result->sources, frame);
    const char *offset = text_of(frame, "offset");
    if (own || *path) {
        put_html(file, own ? own : path);
        if (number_of(frame, "line") > 0)
            fprintf(file, "<wbr>:%lld", number_of(frame, "line"));
        return;
    }
    put_html(file, last_component(text_of(frame, "module")));
    if (*offset) {
        fputs("<wbr>+", file);
        put_html(file, offset);
    }
}

static void put_locals(FILE *file, const json_t *frame)
{
    json_t *locals = json_object_get(frame, "locals"), *value;
    const char *name;
    if (!json_object_size(locals))
        return;
    fputs("<dl class=\"locals\">", file);
    json_object_foreach(locals, name, value)
    {
        fputs("<dt>", file);
        put_html(file, name);
        fputs("</dt><dd>", file);
        put_html(file, json_string_value(value) ? json_string_value(value) : "");
        fputs("</dd>", file);
    }
    fputs("</dl>", file);
}

/* Python's, Cython's, C's, or a gap: a word of the page's own. */
static const char *language_of(const json_t *frame)
{
    static const char *const languages[] = {"python", "cython", "native", "gap"};
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
        if (!strcmp(text_of(frame, "kind"), languages[i]))
            return languages[i];
    return "native";
}

static bool is_own(const struct triage_result *result, const json_t *frame)
{
    return frame_is_own(frame) || (!is_gap(frame) && sources_path(result->sources, frame));
}

static void put_frame(FILE *file, const struct triage_result *result, const json_t *frame)
{
    const char *function = text_of(frame, "function"), *language = language_of(frame);
    size_t size;
    fprintf(
        file,
        "<li class=\"%s%s\"><span class=\"lang\">%s</span><span class=\"call\"><code class=\"fn\">",
        language, is_own(result, frame) ? " own" : "", language);
    put_html(file, *function ? function : "??");
    fputs("</code> ", file);
    if (!is_gap(frame)) {
        fputs("<code class=\"at\">", file);
        put_frame_place(file, result, frame);
        fputs("</code>", file);
    }
    const char *line =
        result->shows_source ? sources_frame_line(result->sources, frame, &size) : NULL;
    if (line && size) {
        fputs("<code class=\"src\">", file);
        put_html_bytes(file, line, size);
        fputs("</code>", file);
    }
    if (result->shows_values)
        put_locals(file, frame);
    fputs("</span></li>\n", file);
}

/* The visible ones; *ret_own is how many there are up to the outermost of the program's own. */
static size_t count_frames(const struct triage_result *result, const json_t *frames,
                           size_t *ret_own)
{
    size_t shown = 0;
    *ret_own = 0;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!is_shown(frame))
            continue;
        shown++;
        if (shown <= INNERMOST_SHOWN && is_own(result, frame))
            *ret_own = shown;
    }
    return shown;
}

void put_stack(FILE *file, const struct triage_result *result, const json_t *thread)
{
    const json_t *frames = json_object_get(thread, "frames");
    size_t own, count = count_frames(result, frames, &own), at = 0;
    const bool cut = count > INNERMOST_SHOWN + OUTERMOST_SHOWN;
    const bool folds = own && count - own >= FOLDED_FROM;
    fputs("<ol class=\"stack\">\n", file);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!is_shown(frame))
            continue;
        if (folds && at == own)
            fprintf(file,
                    "</ol><details class=\"outer\"><summary>%zu outer frames</summary>"
                    "<ol class=\"stack\">\n",
                    count - own);
        if (cut && at == INNERMOST_SHOWN)
            fprintf(file, "<li class=\"left\">%zu frames are left out here</li>\n",
                    count - INNERMOST_SHOWN - OUTERMOST_SHOWN);
        if (!cut || at < INNERMOST_SHOWN || at >= count - OUTERMOST_SHOWN)
            put_frame(file, result, frame);
        at++;
    }
    fputs(folds ? "</ol></details>\n" : "</ol>\n", file);
    const json_t *recursion = json_object_get(thread, "recursion");
    if (number_of(recursion, "times") > 1)
        fprintf(file, "<p class=\"note\">A recursion: the same %lld frame%s %lld times.</p>\n",
                number_of(recursion, "frames"), number_of(recursion, "frames") == 1 ? "" : "s",
                number_of(recursion, "times"));
}

static void put_wait(FILE *file, const json_t *wait)
{
    const json_t *owner = json_object_get(wait, "owner");
    const char *object = text_of(wait, "object");
    if (!json_is_object(wait))
        return;
    fputs(" · waits for ", file);
    put_html(file, *object ? object : text_of(wait, "kind"));
    if (number_of(owner, "tid") > 0)
        fprintf(file, ", held by thread %lld%s", number_of(owner, "tid"),
                json_is_true(json_object_get(wait, "owner_certain")) ? "" : " (likely)");
}

void put_thread_words(FILE *file, const json_t *thread)
{
    const json_t *states = json_object_get(thread, "state");
    fputs("Thread ", file);
    if (number_of(thread, "tid") > 0)
        fprintf(file, "%lld ", number_of(thread, "tid"));
    put_element(file, "b", "name", text_of(thread, "name"));
    for (size_t i = 0; i < json_array_size(states); i++) {
        const char *state = json_string_value(json_array_get(states, i));
        fputs(" · ", file);
        put_html(file, state ? state : "");
    }
    put_wait(file, json_object_get(thread, "waits_for"));
}

/* What two threads that stand alike have in common; malloc'd. */
static char *stack_key(const json_t *thread)
{
    const json_t *frames = json_object_get(thread, "frames");
    char *key = NULL;
    size_t size;
    FILE *file = open_memstream(&key, &size);
    for (size_t i = 0; file && i < json_array_size(frames) && i < INNERMOST_SHOWN; i++) {
        const json_t *frame = json_array_get(frames, i);
        if (is_shown(frame))
            fprintf(file, "%s\1%s\1%lld\2", text_of(frame, "function"), text_of(frame, "file"),
                    number_of(frame, "line"));
    }
    if (file)
        fclose(file);
    return key;
}

struct thread_stack {
    char *key;
    const json_t *first;
    size_t count;
};

static void take_thread(struct thread_stack *stacks, size_t *count, const json_t *thread)
{
    char *key = stack_key(thread);
    for (size_t i = 0; key && i < *count; i++)
        if (!strcmp(stacks[i].key, key)) {
            stacks[i].count++;
            free(key);
            return;
        }
    if (key && *count < THREADS_SHOWN)
        stacks[(*count)++] = (struct thread_stack){key, thread, 1};
    else
        free(key);
}

void put_other_threads(FILE *file, const struct triage_result *result, const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads"), *first = core_report_thread(report);
    struct thread_stack stacks[THREADS_SHOWN];
    size_t count = 0, all = json_array_size(threads), told = 0;
    for (size_t i = 0; i < all && i < THREADS_TAKEN; i++)
        if (json_array_get(threads, i) != first)
            take_thread(stacks, &count, json_array_get(threads, i));
    if (count)
        fprintf(file, "<details class=\"threads\"><summary>%zu other thread%s</summary>\n", all - 1,
                all == 2 ? "" : "s");
    for (size_t i = 0; i < count; i++) {
        fputs("<details class=\"thread\"><summary>", file);
        if (stacks[i].count > 1)
            fprintf(file, "<span class=\"times\">%zu ×</span> ", stacks[i].count);
        put_thread_words(file, stacks[i].first);
        fputs("</summary>\n", file);
        put_stack(file, result, stacks[i].first);
        fputs("</details>\n", file);
        told += stacks[i].count;
        free(stacks[i].key);
    }
    if (count && told + 1 < all)
        fprintf(file, "<p class=\"note\">%zu more threads are left out here.</p>\n",
                all - 1 - told);
    if (count)
        fputs("</details>\n", file);
}
