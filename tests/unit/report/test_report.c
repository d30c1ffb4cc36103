/* Reports that are read back: what they say, and text that is none. */
#include "print.h"
#include "report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define HEAD "{\"schema\": \"pystack-core/1\", \"target\": {\"kind\": \"core\", \"pid\": 12"

static struct psc_trace *read_back(const char *text, size_t *ret_used)
{
    struct psc_error err = {0};
    struct psc_trace *trace = NULL;
    assert_int_equal(parse_report(text, strlen(text), ret_used, &trace, &err), PSC_OK);
    return trace;
}

static void assert_refused(const char *text, const char *words)
{
    struct psc_error err = {0};
    struct psc_trace *trace = NULL;
    size_t used;
    assert_int_equal(parse_report(text, strlen(text), &used, &trace, &err), PSC_ERR_FORMAT);
    assert_null(trace);
    assert_non_null(strstr(err.message, words));
    assert_null(strchr(err.message, '\n'));
}

static int append(void *text, const char *bytes, size_t size)
{
    text_add(text, bytes, size);
    return 0;
}

/* A core that was written of a process that lived on says that by its cause, without a signal. */
static void test_summary_of_snapshots(void **state)
{
    static const char snapshot[] =
        HEAD "}, \"crash\": {\"signal\": null, \"cause\": \"snapshot\"}, \"threads\": []}";
    static const char death[] =
        HEAD "}, \"crash\": {\"signal\": null, \"cause\": \"unknown\"}, \"threads\": []}";
    static const struct psc_print_options options = {.size = sizeof(options),
                                                     .content = PSC_CONTENT_SUMMARY};
    (void)state;
    size_t used;
    struct text text = {0};
    struct psc_trace *traces[] = {read_back(snapshot, &used), read_back(death, &used)};
    const struct print_output output = {append, &text};
    assert_null(traces[0]->crash->signal);
    assert_int_equal(
        print_traces((const struct psc_trace *const *)traces, 2, &options, &output, NULL), PSC_OK);
    const char *first = strstr(text.data, "died of");
    assert_non_null(first);
    assert_null(strstr(first + 1, "died of"));
    text_deinit(&text);
    trace_destroy(traces[0]);
    trace_destroy(traces[1]);
}

static void test_a_report(void **state)
{
    static const char text[] =
        " \n" HEAD ", \"arguments\": [\"a\", 1, \"b\"]},\n"
        "\"crash\": {\"signal\": \"SIGBUS\", \"thread\": 13, \"summary\": \"gone\"},\n"
        "\"running\": {\"host\": \"h\", \"rank\": {\"number\": 7, \"variable\": \"RANK\"}},\n"
        "\"threads\": [{\"tid\": 13, \"name\": \"x\", \"state\": [\"crashed\", \"new\"], "
        "\"frames\": ["
        "{\"kind\": \"native\", \"function\": null, \"module\": \"/lib/a.so\", \"offset\": "
        "\"0x1f\"},"
        "{\"kind\": \"python\", \"function\": \"f\", \"file\": \"/x.py\", \"line\": 3, \"hidden\": "
        "true}]}]}  {";
    (void)state;
    size_t used = 0;
    struct psc_trace *trace = read_back(text, &used);
    assert_int_equal(used, strlen(text) - strlen("  {"));
    assert_int_equal(trace->pid, 12);
    assert_int_equal(trace->argument_count, 3);
    assert_string_equal(trace->arguments[1], "");
    assert_string_equal(trace->crash->signal, "SIGBUS");
    assert_string_equal(trace->running->host, "h");
    assert_int_equal(trace->running->rank, 7);
    assert_int_equal(trace->thread_count, 1);
    const struct trace_thread *thread = &trace->threads[0];
    assert_int_equal(thread->state, TRACE_STATE_CRASHED);
    assert_int_equal(thread->frame_count, 2);
    assert_string_equal(thread->frames[0].location->module->name, "a.so");
    assert_int_equal(thread->frames[0].location->offset, 0x1f);
    assert_null(thread->frames[0].location->function);
    assert_int_equal(thread->frames[1].location->line, 3);
    assert_true(thread->frames[1].hidden);
    trace_destroy(trace);
}

static void test_nothing(void **state)
{
    (void)state;
    size_t used;
    assert_null(read_back("", &used));
    assert_null(read_back(" \n\t", &used));
    assert_int_equal(used, 3);
}

static void test_what_is_none(void **state)
{
    (void)state;
    assert_refused("x", "no JSON");
    assert_refused("{", "no JSON");
    assert_refused("[1]", "no report");
    assert_refused("3", "JSON");
    assert_refused("{}", "no report");
    assert_refused("{\"schema\": \"pystack-core-values/1\"}", "pystack-core-values/1");
    assert_refused("{\"schema\": \"pystack-core/1\"}", "target");
    assert_refused(HEAD "}}", "threads");
    assert_refused(HEAD "}, \"threads\": {}}", "\"threads\" is no list");
    assert_refused(HEAD "}, \"threads\": [3]}", "a thread is no object");
    assert_refused(HEAD "}, \"threads\": [{\"tid\": \"x\"}]}", "\"tid\" is no whole number");
    assert_refused(HEAD "}, \"threads\": [{\"frames\": [{}]}]}", "kind");
    assert_refused(HEAD "}, \"threads\": [{\"frames\": [3]}]}", "kind");
    assert_refused(HEAD ", \"path\": 3}, \"threads\": []}", "\"path\" is no text");
    assert_refused("{\"schema\": \"pystack-core/1\", \"target\": []}", "\"target\" is no object");
}

static void test_depth(void **state)
{
    enum { DEPTH = 1000000 };
    (void)state;
    char *text = malloc(DEPTH + 1);
    memset(text, '[', DEPTH);
    text[DEPTH] = '\0';
    assert_refused(text, "no JSON");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report), cmocka_unit_test(test_summary_of_snapshots),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
