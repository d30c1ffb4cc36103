/* The list of formats, and what they have in common. */
#include "profile_formats_private.h"

/** Bytes that are held before they are handed on. */
#define PRINTER_HELD 65536

const struct profile_format profile_formats[] = {
    {"collapsed", "one line for each stack, with its count", write_collapsed},
    {"lines", "own and total time of each line and function, as text", write_lines},
    {"ndjson", "each sample, one JSON object a line", write_ndjson},
    {NULL, NULL, NULL},
};

static void hand_on(struct profile_printer *printer)
{
    struct text *text = &printer->text;
    const struct profile_output *output = printer->output;
    if (text->failed)
        printer->status = PSC_ERR_MEMORY;
    if (printer->status == PSC_OK && text->size &&
        output->write(output->context, text->data, text->size))
        printer->status = PSC_ERR_IO;
    text_clear(text);
}

void printer_flow(struct profile_printer *printer)
{
    if (printer->text.size >= PRINTER_HELD || printer->text.failed)
        hand_on(printer);
}

enum psc_status printer_end(struct profile_printer *printer)
{
    hand_on(printer);
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
