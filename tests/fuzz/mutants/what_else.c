/* What else a trace is asked for: its signature by other rules, waits and cycles of them, what was
 * running, a summary; and its report is read back, damaged or not. */
#include "mutants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROWTH_MAX ((size_t)4 << 20)

static void must(enum psc_status status, const char *what, struct complaint *complaint)
{
    if (status != PSC_OK)
        complain(complaint, "%s: %s", what, psc_status_name(status));
}

/* ---- signatures ---- */

static const char *const some_rules =
    "skip libc!*\nkeep [a-f]*\nprefix *::*\nsentinel ?\nrename * <unknown>\n"
    "not-in-app */lib/*\nin-app *\nskip [\nprefix _*[!x]*!*\n";

/* Of undamaged and of damaged rules; those that are refused leave the ones that are built in. */
static void sign(struct psc_trace *trace, struct choice *choice, struct complaint *complaint)
{
    char text[512];
    struct psc_signature_rules *rules = NULL;
    struct psc_error err = {0};
    snprintf(text, sizeof(text), "%s", some_rules);
    for (size_t times = choose_below(choice, 8); times; times--)
        text[choose_below(choice, strlen(some_rules))] = (char)choose_number(choice, '*');
    enum psc_status status = psc_signature_rules_create(text, "rules", &rules, &err);
    if (status != PSC_OK && (status != PSC_ERR_ARGUMENT || !err.message[0]))
        complain(complaint, "psc_signature_rules_create: %s", psc_status_name(status));
    must(psc_trace_sign(trace, rules, NULL), "psc_trace_sign", complaint);
    psc_signature_rules_destroy(rules);
}

static bool is_digest(const char *text)
{
    return text && strlen(text) == 40 && strspn(text, "0123456789abcdef") == 40;
}

static void check_signature(const struct psc_trace *trace, struct complaint *complaint)
{
    struct psc_signature_info info = PSC_SIGNATURE_INFO_INIT;
    if (psc_trace_get_signature(trace, &info, NULL) != PSC_OK)
        return;
    if (!is_digest(info.hash) || (info.exact && !is_digest(info.exact)) || !info.title)
        complain(complaint, "a signature with the hash %s, exact %s", info.hash ? info.hash : "-",
                 info.exact ? info.exact : "-");
    for (size_t i = 0; i <= info.part_count; i++)
        if (!psc_trace_signature_part(trace, i) != (i == info.part_count))
            complain(complaint, "%s %zu of a signature", i == info.part_count ? "part" : "no part",
                     i);
    struct report_text text = {0};
    const char *explained = psc_trace_explain_signature(trace);
    if (!explained || report_take(&text, explained, strlen(explained)))
        complain(complaint, "a signature that is not explained");
    report_check_text(&text, complaint);
    free(text.bytes);
}

static void walk_signature(struct psc_trace *trace, struct choice *choice,
                           struct complaint *complaint)
{
    check_signature(trace, complaint);
    if (!choose_one_in(choice, 4))
        return;
    sign(trace, choice, complaint);
    check_signature(trace, complaint);
}

/* ---- waits, cycles, what was running ---- */

static void walk_waits(const struct psc_trace *trace, struct complaint *complaint)
{
    for (size_t i = 0; i < psc_trace_thread_count(trace); i++) {
        struct psc_wait wait = PSC_WAIT_INIT;
        enum psc_status status = psc_trace_get_wait(trace, i, &wait, NULL);
        if (status != PSC_OK && status != PSC_ERR_NOT_FOUND)
            complain(complaint, "psc_trace_get_wait: %s", psc_status_name(status));
        if (status == PSC_OK && !wait.kind && !wait.system_call)
            complain(complaint, "a wait for nothing");
    }
    for (size_t i = 0; i < psc_trace_deadlock_count(trace); i++) {
        struct psc_deadlock deadlock = PSC_DEADLOCK_INIT;
        must(psc_trace_get_deadlock(trace, i, &deadlock, NULL), "psc_trace_get_deadlock",
             complaint);
        if (!deadlock.verdict || !deadlock.summary || !deadlock.member_count)
            complain(complaint, "a cycle of %u members without words", deadlock.member_count);
        for (size_t j = 0; j < deadlock.member_count; j++) {
            struct psc_deadlock_member member = PSC_DEADLOCK_MEMBER_INIT;
            must(psc_trace_get_deadlock_member(trace, i, j, &member, NULL),
                 "psc_trace_get_deadlock_member", complaint);
            if (!member.waits_for)
                complain(complaint, "a member of a cycle that waits for nothing");
        }
    }
}

static void walk_running(const struct psc_trace *trace, struct complaint *complaint)
{
    struct psc_running_info running = PSC_RUNNING_INFO_INIT;
    struct psc_crash_info crash = PSC_CRASH_INFO_INIT;
    if (psc_trace_get_running(trace, &running, NULL) == PSC_OK) {
        const uint32_t counts[] = {running.memory_count, running.package_count,
                                   running.variable_count};
        for (int list = PSC_RUNNING_MEMORY; list <= PSC_RUNNING_ENVIRONMENT; list++)
            for (size_t i = 0; i < counts[list]; i++) {
                struct psc_running_item item = PSC_RUNNING_ITEM_INIT;
                must(psc_trace_get_running_item(trace, (enum psc_running_list)list, i, &item, NULL),
                     "psc_trace_get_running_item", complaint);
            }
    }
    if (psc_trace_get_crash(trace, &crash, NULL) == PSC_OK)
        for (size_t i = 0; i < crash.operand_count; i++) {
            struct psc_operand operand = PSC_OPERAND_INIT;
            must(psc_trace_get_operand(trace, i, &operand, NULL), "psc_trace_get_operand",
                 complaint);
        }
    for (size_t i = 0; i < psc_trace_evaluation_count(trace); i++) {
        struct psc_evaluated value = PSC_EVALUATED_INIT;
        must(psc_trace_get_evaluation(trace, i, &value, NULL), "psc_trace_get_evaluation",
             complaint);
        if (!value.value == !value.problem)
            complain(complaint, "a value and its problem: %s, %s", value.value ? value.value : "-",
                     value.problem ? value.problem : "-");
    }
}

/* ---- summaries, of processes and of reports ---- */

static void print_summary(const struct psc_trace *const *traces, size_t count,
                          const struct look_options *options, struct complaint *complaint,
                          uint64_t *reports)
{
    for (int format = PSC_FORMAT_TEXT; format <= PSC_FORMAT_JSON; format++) {
        struct psc_print_options print = PSC_PRINT_OPTIONS_INIT;
        struct psc_error err = {0};
        struct report_text text = {0};
        print.format = (enum psc_format)format;
        print.content = PSC_CONTENT_SUMMARY;
        enum psc_status status =
            psc_print_processes(traces, count, &print, report_take, &text, &err);
        if (status != PSC_OK && status != PSC_ERR_MEMORY)
            complain(complaint, "no summary: %s", err.message);
        else if (status == PSC_OK && format == PSC_FORMAT_JSON)
            report_check_json(&text, options->summary_schema, complaint);
        else if (status == PSC_OK)
            report_check_text(&text, complaint);
        *reports += status == PSC_OK;
        free(text.bytes);
    }
}

static char *damaged_report(const struct report_text *report, struct choice *choice,
                            size_t *ret_size)
{
    size_t capacity = report->size + GROWTH_MAX;
    char *bytes = malloc(capacity);
    if (bytes) {
        memcpy(bytes, report->bytes, report->size);
        *ret_size = damage_text_bytes(choice, bytes, report->size, capacity);
    }
    return bytes;
}

/* What was written can be read; what was damaged can be refused. */
static void read_back(struct psc_trace *trace, const struct report_text *report,
                      struct choice *choice, const struct look_options *options,
                      struct complaint *complaint, uint64_t *reports)
{
    bool damages = !choose_one_in(choice, 3);
    size_t size = report->size, used = 0;
    char *bytes = damages ? damaged_report(report, choice, &size) : NULL;
    struct psc_trace *again = NULL;
    struct psc_error err = {0};
    enum psc_status status =
        psc_read_report(bytes ? bytes : report->bytes, size, &used, &again, &err);
    if (status == PSC_OK ? used > size : !err.message[0])
        complain(complaint, "psc_read_report: %s, %zu of %zu bytes",
                 status == PSC_OK ? "read" : "refused without a word", used, size);
    if (status != PSC_OK && !bytes && status != PSC_ERR_MEMORY)
        complain(complaint, "psc_read_report: %s", err.message);
    if (again) {
        struct psc_trace *both[] = {trace, again};
        must(psc_find_deadlocks(both, 2, NULL), "psc_find_deadlocks", complaint);
        walk_waits(trace, complaint);
        print_summary((const struct psc_trace *const *)both, 2, options, complaint, reports);
    }
    psc_trace_destroy(again);
    free(bytes);
}

static void summarize(struct psc_trace *trace, struct choice *choice,
                      const struct look_options *options, struct complaint *complaint,
                      uint64_t *reports)
{
    const struct psc_trace *alone[] = {trace};
    struct psc_print_options print = PSC_PRINT_OPTIONS_INIT;
    struct report_text report = {0};
    print_summary(alone, 1, options, complaint, reports);
    print.format = PSC_FORMAT_JSON;
    print.all = choose_one_in(choice, 2);
    if (psc_print(trace, &print, report_take, &report, NULL) == PSC_OK && report.size)
        read_back(trace, &report, choice, options, complaint, reports);
    free(report.bytes);
}

void ask_what_else(struct psc_trace *trace, struct choice *choice,
                   const struct look_options *options, struct complaint *complaint,
                   uint64_t *reports)
{
    walk_signature(trace, choice, complaint);
    walk_waits(trace, complaint);
    walk_running(trace, complaint);
    if (choose_one_in(choice, 4))
        summarize(trace, choice, options, complaint, reports);
}
