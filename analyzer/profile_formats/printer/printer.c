#include "printer.h"

/** Bytes that are held before they are handed on. */
#define PRINTER_HELD 65536

static void hand_on(struct profile_printer *printer, const char *bytes, size_t size)
{
    const struct profile_output *output = printer->output;
    if (printer->status == PSC_OK && size && output->write(output->context, bytes, size))
        printer->status = PSC_ERR_IO;
}

void printer_flush(struct profile_printer *printer)
{
    static const char less_than[] = "\\u003c";
    struct text *text = &printer->text;
    if (text->failed)
        printer->status = PSC_ERR_MEMORY;
    const char *at = text->data, *end = at ? at + text->size : at;
    while (printer->in_page && at < end) {
        const char *markup = memchr(at, '<', (size_t)(end - at));
        if (!markup)
            break;
        hand_on(printer, at, (size_t)(markup - at));
        hand_on(printer, less_than, sizeof(less_than) - 1);
        at = markup + 1;
    }
    if (at < end)
        hand_on(printer, at, (size_t)(end - at));
    text_clear(text);
}

void printer_flow(struct profile_printer *printer)
{
    if (printer->text.size >= PRINTER_HELD || printer->text.failed)
        printer_flush(printer);
}

enum psc_status printer_end(struct profile_printer *printer)
{
    printer_flush(printer);
    text_deinit(&printer->text);
    return printer->status;
}

void process_label(const struct profile *profile, uint32_t process, struct text *ret)
{
    const struct profile_process *one = &profile->processes[process];
    text_add_escaped(ret, one->name ? profile_string(profile, one->name) : "process");
    text_printf(ret, " (%d)", (int)one->pid);
}

void thread_label(const struct profile *profile, uint32_t thread, struct text *ret)
{
    const struct profile_thread *one = &profile->threads[thread];
    text_add_escaped(ret, one->name ? profile_string(profile, one->name) : "thread");
    text_printf(ret, " (%d)", (int)one->tid);
}
