/* The page: groups, those with most deaths first. */
#include "html_private.h"

#include <string.h>

#define OPEN_GROUPS  3u   /* Shown unfolded. */
#define WHOLE_GROUPS 500u /* With stacks; further ones as a line. */
#define PATHS_SHOWN  200u

#define PLURAL(count) ((count) == 1 ? "" : "s")

static void put_head(FILE *file, const struct triage_result *result)
{
    const size_t causes = result->groups->count - result->groups->unread;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src '" PSC_STYLE_HASH "'; script-src '" PSC_SCRIPT_HASH "'; "
          "base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"referrer\" content=\"no-referrer\">\n",
          file);
    fprintf(file, "<title>%zu death%s, %zu cause%s</title>\n<style>", result->report_count,
            PLURAL(result->report_count), causes, PLURAL(causes));
    fputs(page_style, file);
    fputs("</style>\n</head>\n<body>\n", file);
}

static void put_header(FILE *file, const struct triage_result *result)
{
    const struct report_groups *groups = result->groups;
    const size_t causes = groups->count - groups->unread;
    size_t known = 0;
    for (size_t i = 0; i < groups->count; i++)
        known += groups->items[i].known;
    fprintf(file, "<header>\n<h1>%zu death%s, %zu cause%s</h1>\n<p class=\"sub\">",
            result->report_count, PLURAL(result->report_count), causes, PLURAL(causes));
    if (result->has_baseline)
        fprintf(file, "<span>%zu new</span> <span>%zu known</span> ", causes - known, known);
    if (groups->unread)
        fprintf(file, "<span>%zu could not be read</span>", groups->unread);
    fputs("</p>\n<div id=\"tools\" hidden><input id=\"search\" type=\"search\" "
          "placeholder=\"Search functions, files, tests, cores ( / )\" aria-label=\"Search\">"
          "<button id=\"fold\" type=\"button\">Unfold all</button>"
          "<span id=\"found\" role=\"status\"></span></div>\n</header>\n",
          file);
}

static void put_fact(FILE *file, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(file, "<dt>%s</dt><dd>", name);
    put_html(file, text);
    fputs("</dd>", file);
}

/* The tests of a group, each once while they are few. */
static void put_tests(FILE *file, const struct triage_result *result, size_t index)
{
    const size_t *members = result->groups->members + result->groups->member_at[index];
    const size_t count = result->groups->items[index].count;
    const char *last = NULL;
    size_t told = 0;
    for (size_t i = 0; i < count && told < 10; i++) {
        const char *test = report_text(result->reports[members[i]].json, "running", "test", "id");
        if (!test || (last && !strcmp(last, test)))
            continue;
        put_fact(file, told++ ? "" : "Test", test);
        last = test;
    }
}

static void put_exception(FILE *file, const json_t *thread)
{
    const json_t *exception = json_object_get(thread, "exception");
    if (!*text_of(exception, "type"))
        return;
    fputs("<dt>Exception</dt><dd>", file);
    put_html(file, text_of(exception, "type"));
    if (*text_of(exception, "message")) {
        fputs(": ", file);
        put_html(file, text_of(exception, "message"));
    }
    fprintf(file, "%s</dd>",
            strcmp(text_of(exception, "state"), "handled") ? "" : " (being handled)");
}

static void put_facts(FILE *file, const struct triage_result *result, size_t index,
                      const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash"), *thread = core_report_thread(report);
    const json_t *target = json_object_get(report, "target");
    const json_t *deadlocks = json_object_get(report, "deadlocks");
    fputs("<dl class=\"facts\">", file);
    put_tests(file, result, index);
    put_fact(file, "Message", text_of(crash, "message"));
    put_exception(file, thread);
    put_fact(file, "During", text_of(crash, "during"));
    for (size_t i = 0; i < json_array_size(deadlocks) && i < 10; i++)
        put_fact(file, "Deadlock", text_of(json_array_get(deadlocks, i), "summary"));
    put_fact(file, "Instruction", text_of(crash, "instruction"));
    put_fact(file, "Program", text_of(target, "executable"));
    put_fact(file, "Python", report_text(target, "python", NULL, "version"));
    put_fact(file, "Signature", result->groups->items[index].hash);
    fputs("</dl>\n", file);
}

static void put_reports(FILE *file, const struct triage_result *result, size_t index)
{
    const size_t *members = result->groups->members + result->groups->member_at[index];
    const size_t count = result->groups->items[index].count;
    fprintf(file, "<details class=\"cores\"><summary>%zu report%s</summary><ul>\n", count,
            PLURAL(count));
    for (size_t i = 0; i < count && i < PATHS_SHOWN; i++) {
        const json_t *json = result->reports[members[i]].json;
        const char *test = report_text(json, "running", "test", "id");
        fputs("<li><code>", file);
        put_html(file, result->reports[members[i]].path);
        fputs("</code>", file);
        put_element(file, "span", "test", test);
        fputs("</li>\n", file);
    }
    if (count > PATHS_SHOWN)
        fprintf(file, "<li>and %zu more</li>\n", count - PATHS_SHOWN);
    fputs("</ul></details>\n", file);
}

static void put_warnings(FILE *file, const json_t *report)
{
    const json_t *warnings = json_object_get(report, "warnings");
    const size_t count = json_array_size(warnings);
    if (!count)
        return;
    fprintf(file, "<details class=\"warnings\"><summary>%zu warning%s</summary><ul>\n", count,
            PLURAL(count));
    for (size_t i = 0; i < count && i < 100; i++) {
        fputs("<li>", file);
        put_html(file, text_of(json_array_get(warnings, i), "message"));
        fputs("</li>\n", file);
    }
    fputs("</ul></details>\n", file);
}

/* Where it died, as its programmer sees it: the nearest frame of the repository, or of his own. */
static void put_where(FILE *file, const struct triage_result *result, const json_t *frames)
{
    const char *path;
    const json_t *frame = sources_nearest(result->sources, frames, &path);
    for (size_t i = 0; !frame && i < json_array_size(frames); i++)
        if (frame_is_own(json_array_get(frames, i)) && is_shown(json_array_get(frames, i)))
            frame = json_array_get(frames, i);
    if (!frame)
        return;
    fputs("<span class=\"where\">in <code class=\"fn\">", file);
    put_html(file, text_of(frame, "function"));
    fputs("</code> <code class=\"at\">", file);
    put_frame_place(file, result, frame);
    fputs("</code></span>", file);
}

/* What one reads of a group that is folded. */
static void put_summary(FILE *file, const struct triage_result *result, size_t index)
{
    const struct report_group *group = &result->groups->items[index];
    const struct core_report *first = &result->reports[group->first];
    const char *signal = report_text(first->json, "crash", NULL, "signal");
    const char *what = report_text(first->json, "crash", NULL, "summary");
    fprintf(file,
            "<summary><span class=\"count\">%zu<span class=\"x\"> ×</span></span>"
            "<span class=\"head\"><span class=\"line\">",
            group->count);
    put_element(file, "b", "signal", signal);
    if (group->unread)
        put_element(file, "b", "signal", "not read");
    put_element(file, "span", "what", what && !group->unread ? what : core_report_title(first));
    if (result->has_baseline && !group->unread)
        put_element(file, "span", group->known ? "mark known" : "mark new",
                    group->known ? "known" : "new");
    fputs("</span>", file);
    json_t *frames = core_report_frames(first);
    put_where(file, result, frames);
    json_decref(frames);
    if (!group->unread)
        put_element(file, "span", "title", core_report_title(first));
    fputs("</span></summary>\n", file);
}

static void put_group(FILE *file, const struct triage_result *result, size_t index)
{
    const struct report_group *group = &result->groups->items[index];
    fprintf(file, "<article id=\"cause-%zu\"%s><details%s>\n", index + 1,
            group->unread ? " class=\"unread\"" : "", index < OPEN_GROUPS ? " open" : "");
    put_summary(file, result, index);
    json_t *report = index < WHOLE_GROUPS
                         ? kept_reports_get(result->kept, &result->reports[group->first])
                         : NULL;
    const json_t *thread = core_report_thread(report);
    fputs("<div class=\"body\">\n", file);
    if (report && !group->unread)
        put_facts(file, result, index, report);
    if (thread) {
        fputs("<h3>", file);
        put_thread_words(file, thread);
        fputs("</h3>\n", file);
        put_stack(file, result, thread);
        put_other_threads(file, result, report);
    }
    if (!report)
        fputs("<p class=\"note\">Its stacks are left out here.</p>\n", file);
    put_reports(file, result, index);
    put_warnings(file, report);
    json_decref(report);
    fputs("</div></details></article>\n", file);
}

bool write_html(FILE *file, const struct triage_result *result)
{
    put_head(file, result);
    put_header(file, result);
    fputs("<main>\n", file);
    for (size_t i = 0; i < result->groups->count; i++)
        put_group(file, result, i);
    if (!result->groups->count)
        fputs("<p class=\"nothing\">Nothing has died.</p>\n", file);
    fputs("</main>\n<script>", file);
    fputs(page_script, file);
    fputs("</script>\n</body>\n</html>\n", file);
    return true;
}
