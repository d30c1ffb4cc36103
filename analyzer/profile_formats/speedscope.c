/*
 * speedscope's own format (github.com/jlfwong/speedscope, src/lib/file-format-spec.ts and
 * file-format-schema.json in its package, 1.25.0): frames that all share, and for each thread
 * the stacks of its samples, outermost frame first, with their weights.
 */
#include "profile_formats_private.h"
#include "samples.h"

#include <stdlib.h>

struct speedscope {
    const struct profile *profile;
    struct thread_samples *samples;
    struct profile_printer *printer;
    struct json_writer *writer;
    struct text label;
    uint32_t *frames;
    size_t capacity;
};

static void put_frame(struct speedscope *to, uint32_t number)
{
    const struct profile *profile = to->profile;
    const struct profile_frame *frame = &profile->frames[number];
    const struct profile_function *function = &profile->functions[frame->function];
    uint32_t file = function->file ? function->file : profile->libraries[function->library].path;
    json_open_object(to->writer, NULL);
    json_put_string(to->writer, "name", profile_string(profile, function->name));
    if (file)
        json_put_string(to->writer, "file", profile_string(profile, file));
    if (frame->line)
        json_put_unsigned(to->writer, "line", true, frame->line);
    json_close_object(to->writer);
    printer_flow(to->printer);
}

/* Of samples after each other with one stack; moves *at behind them. */
static uint64_t sum_run(const struct profile *profile, const struct profile_sample *samples,
                        size_t count, size_t *at)
{
    uint32_t stack = samples[*at].stack;
    uint64_t weight = 0;
    for (; *at < count && sample_has_stack(&samples[*at]) && samples[*at].stack == stack; ++*at)
        weight += profile_weight(profile, &samples[*at]);
    return profile->by_cpu ? weight : weight * profile->interval;
}

static bool put_stack(struct speedscope *to, uint32_t stack)
{
    size_t count;
    if (!profile_unfold(to->profile, stack, &to->frames, &to->capacity, &count))
        return false;
    json_open_array(to->writer, NULL);
    for (size_t i = 0; i < count; i++)
        json_put_unsigned(to->writer, NULL, true, to->frames[i] - 1u);
    json_close_array(to->writer);
    printer_flow(to->printer);
    return true;
}

/* What all samples of a thread weigh. */
static uint64_t sum_thread(const struct speedscope *to, uint32_t thread)
{
    size_t count;
    uint64_t sum = 0;
    const struct profile_sample *samples = thread_samples_of(to->samples, thread, &count);
    for (size_t at = 0; at < count;)
        if (sample_has_stack(&samples[at]))
            sum += sum_run(to->profile, samples, count, &at);
        else
            at++;
    return sum;
}

static bool put_thread(struct speedscope *to, uint32_t thread)
{
    size_t count;
    const struct profile_sample *samples = thread_samples_of(to->samples, thread, &count);
    struct text *label = &to->label;
    text_clear(label);
    if (to->profile->several_processes) {
        process_label(to->profile, to->profile->threads[thread].process, label);
        text_add_string(label, " / ");
    }
    thread_label(to->profile, thread, label);
    json_break_line(to->writer);
    json_open_object(to->writer, NULL);
    json_put_string(to->writer, "type", "sampled");
    json_put_string(to->writer, "name", label->data);
    json_put_string(to->writer, "unit", "nanoseconds");
    json_put_unsigned(to->writer, "startValue", true, 0);
    json_put_unsigned(to->writer, "endValue", true, sum_thread(to, thread));
    json_open_array(to->writer, "samples");
    for (size_t at = 0; at < count;)
        if (!sample_has_stack(&samples[at]))
            at++;
        else if (put_stack(to, samples[at].stack))
            sum_run(to->profile, samples, count, &at);
        else
            return false;
    json_close_array(to->writer);
    json_open_array(to->writer, "weights");
    for (size_t at = 0; at < count;)
        if (sample_has_stack(&samples[at])) {
            json_put_unsigned(to->writer, NULL, true, sum_run(to->profile, samples, count, &at));
            printer_flow(to->printer);
        } else {
            at++;
        }
    json_close_array(to->writer);
    json_close_object(to->writer);
    return !label->failed;
}

/* One profile for each thread that has stacks; first is shown the one with most. */
static bool put_threads(struct speedscope *to)
{
    uint64_t most = 0;
    int64_t shown = 0, active = 0;
    bool good = true;
    json_open_array(to->writer, "profiles");
    for (uint32_t i = 1; good && i < to->profile->thread_count; i++) {
        uint64_t sum = sum_thread(to, i);
        if (!sum)
            continue;
        good = put_thread(to, i);
        if (sum > most) {
            most = sum;
            active = shown;
        }
        shown++;
    }
    json_close_array(to->writer);
    json_put_integer(to->writer, "activeProfileIndex", true, active);
    return good;
}

static bool put_all(struct speedscope *to)
{
    struct json_writer *writer = to->writer;
    struct text exporter = {0};
    text_printf(&exporter, "pystack-core@%s", to->printer->output->version);
    json_open_object(writer, NULL);
    json_put_string(writer, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_put_string(writer, "name", to->profile->target ? to->profile->target : "profile");
    json_put_string(writer, "exporter", exporter.data);
    json_open_object(writer, "shared");
    json_open_array(writer, "frames");
    for (uint32_t i = 1; i < to->profile->frame_count; i++)
        put_frame(to, i);
    json_close_array(writer);
    json_close_object(writer);
    bool good = put_threads(to);
    json_close_object(writer);
    text_add_char(&to->printer->text, '\n');
    good = good && !exporter.failed && !writer->failed;
    text_deinit(&exporter);
    return good;
}

enum psc_status write_speedscope(const struct profile *profile, const struct profile_output *output,
                                 struct psc_error *err)
{
    struct thread_samples *samples PSC_CLEANUP(cleanup_thread_samples) = NULL;
    enum psc_status status = thread_samples_create(profile, &samples, err);
    if (status != PSC_OK)
        return status;
    struct profile_printer printer = {.output = output};
    struct json_writer writer = {.out = &printer.text};
    struct speedscope to = {
        .profile = profile, .samples = samples, .printer = &printer, .writer = &writer};
    if (!put_all(&to))
        printer.status = PSC_ERR_MEMORY;
    free(to.frames);
    text_deinit(&to.label);
    return psc_fail_status(err, printer_end(&printer));
}
