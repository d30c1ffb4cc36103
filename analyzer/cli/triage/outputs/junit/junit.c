/* Reports as test cases. */
#include "facts.h"
#include "junit_private.h"
#include "messages.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_SHOWN  60u
#define TEXT(literal) ((const xmlChar *)(literal))

/* What stands in the test case: title, signature, core, stack; malloc'd. */
static char *make_details(const struct core_report *report, size_t count)
{
    char *text = NULL, *made = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return NULL;
    put_safely(file, core_report_title(report));
    putc('\n', file);
    put_safely(file, report->path);
    if (count > 1)
        fprintf(file, " and %zu more", count - 1);
    if (core_report_hash(report))
        fprintf(file, ", signature %s", core_report_hash(report));
    putc('\n', file);
    json_t *stack = core_report_stack(report);
    put_frames(file, stack, "", FRAMES_SHOWN);
    json_decref(stack);
    if (!fclose(file))
        made = make_xml_text(text);
    free(text);
    return made;
}

/* One line: how, and where in the repository. */
static char *make_message(const struct triage_result *result, const struct core_report *report)
{
    const char *signal = report_text(report->json, "crash", NULL, "signal");
    const char *summary = report_text(report->json, "crash", NULL, "summary"), *path;
    json_t *frames = core_report_frames(report);
    const json_t *frame = sources_nearest(result->sources, frames, &path);
    char *text = NULL, *made = NULL, place[32] = "";
    if (frame && number_of(frame, "line") > 0)
        snprintf(place, sizeof(place), ":%lld", number_of(frame, "line"));
    int size = summary
                   ? asprintf(&text, "%s%s%s%s%s%s%s%s", signal ? signal : "", signal ? ": " : "",
                              summary, frame ? " in " : "", frame ? text_of(frame, "function") : "",
                              frame ? ", " : "", frame ? path : "", place)
                   : asprintf(&text, "%s", core_report_title(report));
    if (size >= 0) {
        made = make_xml_text(text);
        free(text);
    }
    json_decref(frames);
    return made;
}

/* A test runner's own word of it, "worker 'gw0' crashed", is gone on with. */
static bool extend(const struct junit_file *file, xmlNodePtr problem, const char *message,
                   const char *details)
{
    xmlChar *old = file->xml->xmlGetNoNsProp(problem, TEXT("message"));
    char *joined = NULL, *text = NULL;
    const bool told = old && strstr((const char *)old, message);
    bool good = asprintf(&joined, "%s%s%s", old ? (const char *)old : "", old && !told ? "; " : "",
                         told ? "" : message) >= 0;
    joined = good ? joined : NULL;
    good = good && asprintf(&text, "\n%s", details) >= 0;
    text = good ? text : NULL;
    good = good && file->xml->xmlSetProp(problem, TEXT("message"), TEXT(joined));
    xmlNodePtr more = good ? file->xml->xmlNewDocText(file->document, TEXT(text)) : NULL;
    good = more && file->xml->xmlAddChild(problem, more);
    free(old);
    free(joined);
    free(text);
    return good;
}

static bool put_death(struct junit_file *file, const struct triage_result *result,
                      const struct core_report *report, const struct junit_name *name, size_t count)
{
    xmlNodePtr test = junit_file_case(file, name);
    char *message = make_message(result, report), *details = make_details(report, count);
    bool good = test && message && details;
    xmlNodePtr problem = good ? junit_case_problem(test) : NULL;
    if (problem) {
        good = extend(file, problem, message, details);
    } else if (good) {
        const char *signal = report_text(report->json, "crash", NULL, "signal");
        problem = file->xml->xmlNewTextChild(test, NULL, TEXT("error"), TEXT(details));
        good = problem && file->xml->xmlSetProp(problem, TEXT("message"), TEXT(message)) &&
               file->xml->xmlSetProp(problem, TEXT("type"),
                                     TEXT(signal ? signal : death_kind_of(report)->name));
    }
    free(message);
    free(details);
    return good;
}

/* A test that was seen last, and of which the runner tells that it went well: it was one before. */
static bool was_over(const struct junit_file *file, const struct core_report *report,
                     const struct junit_name *name)
{
    const json_t *test = json_object_get(json_object_get(report->json, "running"), "test");
    xmlNodePtr found =
        json_is_number(json_object_get(test, "last_seen_s")) ? junit_file_find(file, name) : NULL;
    return found && !junit_case_problem(found);
}

/* Deaths of one cause outside of tests are one test case. */
static bool put_group(struct junit_file *file, const struct triage_result *result, size_t index)
{
    const struct report_group *group = &result->groups->items[index];
    const size_t *members = result->groups->members + result->groups->member_at[index];
    const struct core_report *first = NULL;
    struct junit_name name;
    size_t without = 0;
    bool good = true;
    for (size_t i = 0; good && i < group->count; i++) {
        const struct core_report *report = &result->reports[members[i]];
        const char *test = report_text(report->json, "running", "test", "id");
        name = (struct junit_name){0};
        good = !test || junit_name_of_test(test, &name);
        if (good && (!test || was_over(file, report, &name))) {
            first = first ? first : report;
            without++;
        } else if (good) {
            good = put_death(file, result, report, &name, 1);
        }
        junit_name_deinit(&name);
    }
    if (!good || !first)
        return good;
    name =
        (struct junit_name){strdup(group->unread ? "pystack-core.unread" : "pystack-core"),
                            make_xml_text(group->unread ? first->path : core_report_title(first))};
    good = name.class_name && name.name && put_death(file, result, first, &name, without);
    junit_name_deinit(&name);
    return good;
}

bool write_junit(FILE *file, const struct triage_result *result)
{
    struct junit_file suites;
    bool opened = junit_file_open(&suites, result->junit_merge), good = opened;
    xmlChar *text = NULL;
    int size = 0;
    for (size_t i = 0; good && i < result->groups->count; i++)
        good = put_group(&suites, result, i);
    good = good && junit_file_count(&suites);
    if (good)
        suites.xml->xmlDocDumpFormatMemoryEnc(suites.document, &text, &size, "utf-8", 1);
    if (opened && !text)
        complain("out of memory");
    if (text)
        fwrite(text, 1, (size_t)size, file); // Its errors are the file's.
    good = text != NULL;
    free(text);
    junit_file_close(&suites);
    return good;
}
