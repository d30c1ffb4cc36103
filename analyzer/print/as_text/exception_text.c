/* Exceptions, as text. */
#include "as_text_private.h"

#include <inttypes.h>
#include <string.h>

/* Of an exception's message on one line; JSON has all of it. */
#define MESSAGE_LIMIT 200u

static void add_message(struct text *text, const char *message)
{
    size_t size = strlen(message);
    if (size <= MESSAGE_LIMIT) {
        text_add_escaped(text, message);
        return;
    }
    struct text start = {0};
    size = MESSAGE_LIMIT;
    while (size && ((unsigned char)message[size] & 0xc0) == 0x80)
        size--;
    text_add(&start, message, size);
    if (!start.failed)
        text_add_escaped(text, start.data);
    text_add_string(text, "\u2026");
    text_deinit(&start);
}

static void add_exception(struct text *text, const struct trace_exception *exception)
{
    text_add_escaped(text, exception->type);
    if (exception->message && *exception->message) {
        text_add_string(text, ": ");
        add_message(text, exception->message);
    }
}

void print_text_exception_summary(const struct trace_exception *exception, struct text *text)
{
    text_add_string(text, exception->raised ? "exception raised: " : "exception being handled: ");
    add_exception(text, exception);
}

static void add_origin(struct text *text, const struct trace_exception *exception)
{
    if (!exception->traceback_count)
        return;
    const struct trace_location *origin = exception->traceback[exception->traceback_count - 1];
    text_add_string(text, " \u00b7 from ");
    text_add_escaped(text, origin->function ? origin->function : "??");
    if (origin->file) {
        text_add_char(text, ' ');
        text_add_escaped(text, origin->file);
        if (origin->line)
            text_printf(text, ":%" PRIu32, origin->line);
    }
}

void print_text_exceptions(const struct trace_thread *thread,
                           const struct psc_print_options *options, struct print_sink *sink)
{
    struct text *text = &sink->buffer;
    for (size_t i = 0; i < thread->exception_count; i++) {
        const struct trace_exception *exception = &thread->exceptions[i];
        text_add_string(text, "  ");
        print_add_style(text, options, PRINT_NOTICE);
        switch (exception->link) {
        case TRACE_LINK_NONE:
            print_text_exception_summary(exception, text);
            break;
        case TRACE_LINK_CAUSE:
            text_add_string(text, "  caused by ");
            add_exception(text, exception);
            break;
        case TRACE_LINK_CONTEXT:
            text_add_string(text, "  while handling ");
            add_exception(text, exception);
            break;
        }
        print_add_style(text, options, PRINT_PLAIN);
        add_origin(text, exception);
        text_add_char(text, '\n');
    }
}

void print_text_instruction(const struct trace_crash *crash, struct text *text)
{
    if (!crash->instruction)
        return;
    text_add_string(text, ": ");
    text_add_escaped(text, crash->instruction);
    for (size_t i = 0; i < crash->operand_count; i++) {
        text_add_string(text, ", ");
        text_add_escaped(text, crash->operands[i].name);
        text_printf(text, "=0x%" PRIx64, crash->operands[i].value);
    }
}
