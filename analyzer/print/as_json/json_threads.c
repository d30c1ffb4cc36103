#include "as_json_private.h"

void json_put_states(struct json_writer *writer, uint32_t state)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } states[] = {
        {TRACE_STATE_CRASHED, "crashed"},
        {TRACE_STATE_MAIN, "main"},
        {TRACE_STATE_HOLDS_GIL, "holds-gil"},
        {TRACE_STATE_WAITS_FOR_GIL, "waits-for-gil"},
        {TRACE_STATE_COLLECTING, "collecting-garbage"},
        {TRACE_STATE_FINALIZING, "finalizing"},
        {TRACE_STATE_IDLE, "idle"},
        {TRACE_STATE_TERMINATED, "terminated"},
        {TRACE_STATE_NO_PYTHON, "no-python"},
    };
    json_open_array(writer, "state");
    for (size_t i = 0; i < PSC_ARRAY_SIZE(states); i++)
        if (state & states[i].bit)
            json_put_string(writer, NULL, states[i].name);
    json_close_array(writer);
}

/* ---- exceptions ---- */

/* What all exceptions have, those of a chain as well. */
static void put_exception_members(struct json_writer *writer,
                                  const struct trace_exception *exception)
{
    json_put_string(writer, "type", exception->type);
    json_put_string(writer, "message", exception->message);
    json_open_array(writer, "traceback");
    for (size_t i = 0; i < exception->traceback_count && json_takes(writer); i++)
        json_put_location(writer, exception->traceback[i]);
    json_close_array(writer);
    json_put_boolean(writer, "traceback_cut", exception->traceback_cut);
}

/* The exception at *at with its causes and contexts; *at moves behind them. */
static void put_exception(struct json_writer *writer, const char *key,
                          const struct trace_thread *thread, size_t *at)
{
    const struct trace_exception *first = &thread->exceptions[(*at)++];
    json_open_object(writer, key);
    put_exception_members(writer, first);
    json_put_string(writer, "state", first->raised ? "raised" : "handled");
    json_open_array(writer, "chain");
    for (; *at < thread->exception_count && thread->exceptions[*at].link != TRACE_LINK_NONE;
         (*at)++) {
        bool cause = thread->exceptions[*at].link == TRACE_LINK_CAUSE;
        json_open_object(writer, NULL);
        put_exception_members(writer, &thread->exceptions[*at]);
        json_put_string(writer, "link", cause ? "cause" : "context");
        json_close_object(writer);
    }
    json_close_array(writer);
    json_close_object(writer);
}

/* The first as "exception"; the others, which few threads have, in a member of their own. */
static void put_exceptions(struct json_writer *writer, const struct trace_thread *thread)
{
    size_t at = 0;
    if (thread->exception_count)
        put_exception(writer, "exception", thread, &at);
    else
        json_put_null(writer, "exception");
    if (at == thread->exception_count)
        return;
    json_open_array(writer, "other_exceptions");
    while (at < thread->exception_count)
        put_exception(writer, NULL, thread, &at);
    json_close_array(writer);
}

/* ---- recursions ---- */

static void put_recursion(struct json_writer *writer, const char *key,
                          const struct trace_recursion *recursion, size_t first)
{
    json_open_object(writer, key);
    json_put_unsigned(writer, "frames", true, recursion->frames);
    json_put_unsigned(writer, "times", true, recursion->times);
    json_put_unsigned(writer, "first", true, first);
    json_close_object(writer);
}

/* Among the frames that are listed, from the one at `from`, which is listed as `listed`. */
static size_t find_listed(const struct trace_thread *thread,
                          const struct psc_print_options *options, size_t from, size_t listed,
                          size_t frame)
{
    for (size_t i = from; i < frame; i++)
        listed += print_shows_frame(options, &thread->frames[i]);
    return listed;
}

/* The longest as "recursion"; the others, which few threads have, in a member of their own. */
static void put_recursions(struct json_writer *writer, const struct trace_thread *thread,
                           const struct psc_print_options *options)
{
    const struct trace_recursion *longest = NULL;
    for (size_t i = 0; i < thread->recursion_count; i++) {
        const struct trace_recursion *one = &thread->recursions[i];
        if (!longest || one->frames * one->times > longest->frames * longest->times)
            longest = one;
    }
    if (longest)
        put_recursion(writer, "recursion", longest,
                      find_listed(thread, options, 0, 0, longest->first));
    else
        json_put_null(writer, "recursion");
    if (!longest || thread->recursion_count < 2)
        return;
    json_open_array(writer, "other_recursions");
    size_t from = 0;
    size_t listed = 0;
    for (size_t i = 0; i < thread->recursion_count; i++) {
        const struct trace_recursion *one = &thread->recursions[i];
        listed = find_listed(thread, options, from, listed, one->first);
        from = one->first;
        if (one != longest)
            put_recursion(writer, NULL, one, listed);
    }
    json_close_array(writer);
}

/* ---- faults ---- */

void json_put_crash(struct json_writer *writer, const char *key, const struct trace_crash *crash)
{
    if (!crash) {
        json_put_null(writer, key);
        return;
    }
    json_open_object(writer, key);
    json_put_string(writer, "signal", crash->signal);
    json_put_integer(writer, "signal_number", crash->signal_number != 0, crash->signal_number);
    json_put_string(writer, "code", crash->code);
    json_put_address(writer, "fault_address", crash->has_address, crash->address);
    json_put_integer(writer, "sender_pid", crash->has_sender, crash->sender_pid);
    json_put_integer(writer, "thread", crash->tid != 0, crash->tid);
    json_put_string(writer, "summary", crash->summary);
    json_put_string(writer, "message", crash->message);
    json_put_string(writer, "cause", trace_cause_name(crash->cause));
    json_put_string(writer, "access", trace_access_name(crash->access));
    json_put_string(writer, "instruction", crash->instruction);
    json_open_object(writer, "operands");
    for (size_t i = 0; i < crash->operand_count; i++)
        json_put_address(writer, crash->operands[i].name, true, crash->operands[i].value);
    json_close_object(writer);
    json_put_boolean(writer, "raised_again", crash->raised_again);
    json_put_string(writer, "during", crash->during);
    if (crash->object)
        json_put_string(writer, "object", crash->object);
    if (crash->damage)
        json_put_string(writer, "damage", crash->damage);
    if (crash->handler_fault)
        json_put_string(writer, "handler_fault", crash->handler_fault);
    json_close_object(writer);
}

/* ---- threads ---- */

void json_put_thread(struct json_writer *writer, const struct trace_thread *thread,
                     const struct psc_print_options *options)
{
    bool has_python = thread->has_python;
    json_put_integer(writer, "tid", thread->tid > 0, thread->tid);
    json_put_unsigned(writer, "python_thread_id", has_python, thread->python_thread_id);
    json_put_string(writer, "name", thread->name);
    json_put_integer(writer, "interpreter", has_python && thread->interpreter_id >= 0,
                     thread->interpreter_id);
    json_put_states(writer, thread->state);
    put_exceptions(writer, thread);
    put_recursions(writer, thread, options);
    json_put_wait(writer, "waits_for", thread->waits_for);
    if (thread->fault)
        json_put_crash(writer, "fault", thread->fault);
}
