/*
 * One JSON object a line, for programs: first the profile, then what samples refer to, each before
 * it is used, the samples, and at last the counts. The schema is pystack-core-profile/1.
 */
#include "profile_formats_private.h"

static void begin_line(struct json_writer *writer, const char *type)
{
    json_open_object(writer, NULL);
    json_put_string(writer, "type", type);
}

static void end_line(struct profile_printer *printer, struct json_writer *writer)
{
    json_close_object(writer);
    if (writer->failed)
        printer->status = PSC_ERR_MEMORY;
    text_add_char(&printer->text, '\n');
    writer->follows = false;
    printer_flow(printer);
}

static const char *text_or_null(const struct profile *profile, uint32_t string)
{
    return string ? profile_string(profile, string) : NULL;
}

static void put_profile(const struct profile *profile, const struct profile_output *output,
                        struct json_writer *writer)
{
    json_put_string(writer, "schema", "pystack-core-profile/1");
    json_put_string(writer, "version", output->version);
    json_put_string(writer, "target", profile->target);
    json_put_unsigned(writer, "start_ns", true, profile->start_epoch);
    json_put_unsigned(writer, "duration_ns", true, profile->duration);
    json_put_unsigned(writer, "interval_ns", true, profile->interval);
    json_put_boolean(writer, "native_frames", profile->merged);
    json_put_boolean(writer, "idle_threads", profile->with_idle);
    json_put_boolean(writer, "gil_only", profile->only_gil);
    json_put_string(writer, "weight", profile->by_cpu ? "cpu_ns" : "weight");
}

static void put_process(const struct profile *profile, uint32_t number, struct json_writer *writer)
{
    const struct profile_process *one = &profile->processes[number];
    json_put_unsigned(writer, "id", true, number);
    json_put_integer(writer, "pid", true, one->pid);
    json_put_unsigned(writer, "parent", one->parent != 0, one->parent);
    json_put_string(writer, "name", text_or_null(profile, one->name));
    json_put_string(writer, "executable", text_or_null(profile, one->executable));
    json_put_string(writer, "arguments", text_or_null(profile, one->arguments));
    json_put_string(writer, "python", text_or_null(profile, one->python));
    json_put_unsigned(writer, "start_ns", true, one->start);
    json_put_unsigned(writer, "end_ns", true, one->end);
    json_put_boolean(writer, "ended", one->ended);
}

static void put_thread(const struct profile *profile, uint32_t number, struct json_writer *writer)
{
    const struct profile_thread *one = &profile->threads[number];
    json_put_unsigned(writer, "id", true, number);
    json_put_unsigned(writer, "process", true, one->process);
    json_put_integer(writer, "tid", true, one->tid);
    json_put_string(writer, "name", text_or_null(profile, one->name));
    json_put_boolean(writer, "main", one->main);
    json_put_unsigned(writer, "start_ns", true, one->start);
    json_put_unsigned(writer, "end_ns", true, one->end);
    json_put_boolean(writer, "ended", one->ended);
}

static void put_frame(const struct profile *profile, uint32_t number, struct json_writer *writer)
{
    const struct profile_frame *one = &profile->frames[number];
    const struct profile_function *function = &profile->functions[one->function];
    const struct profile_library *library = &profile->libraries[function->library];
    json_put_unsigned(writer, "id", true, number);
    json_put_string(writer, "kind", profile_kind_name((enum profile_kind)function->kind));
    json_put_string(writer, "function", profile_string(profile, function->name));
    json_put_string(writer, "file", text_or_null(profile, function->file));
    json_put_unsigned(writer, "line", one->line != 0, one->line);
    json_put_string(writer, "symbol", text_or_null(profile, function->symbol));
    json_put_string(writer, "module", text_or_null(profile, library->path));
    json_put_string(writer, "build_id", text_or_null(profile, library->build_id));
    json_put_address(writer, "offset", one->offset != 0, one->offset);
    json_put_boolean(writer, "inlined", one->inlined);
}

/** The samples' flags, in the order in which they are named. */
static const struct {
    uint32_t flag;
    const char *name;
} states[] = {{PROFILE_RUNNING, "running"},
              {PROFILE_IDLE, "idle"},
              {PROFILE_HOLDS_GIL, "holds-gil"},
              {PROFILE_WAITS_GIL, "waits-for-gil"},
              {PROFILE_COLLECTS, "collecting-garbage"},
              {PROFILE_STOPPED, "stopped"},
              {PROFILE_REPEATED, "repeated"},
              {PROFILE_FAILED, "failed"}};

static void put_sample(const struct profile_sample *sample, struct json_writer *writer)
{
    json_put_unsigned(writer, "time_ns", true, sample->time);
    json_put_unsigned(writer, "thread", true, sample->thread);
    json_put_unsigned(writer, "stack", sample->stack != 0, sample->stack);
    json_put_unsigned(writer, "weight", true, sample->weight);
    json_put_unsigned(writer, "cpu_ns", true, sample->cpu);
    json_open_array(writer, "state");
    for (size_t i = 0; i < PSC_ARRAY_SIZE(states); i++)
        if (sample->flags & states[i].flag)
            json_put_string(writer, NULL, states[i].name);
    json_close_array(writer);
}

static void put_counts(const struct profile_counts *counts, struct json_writer *writer)
{
    json_put_unsigned(writer, "wanted", true, counts->wanted);
    json_put_unsigned(writer, "taken", true, counts->taken);
    json_put_unsigned(writer, "late", true, counts->late);
    json_put_unsigned(writer, "lost", true, counts->lost);
    json_put_unsigned(writer, "samples", true, counts->samples);
    json_put_unsigned(writer, "failed", true, counts->failed);
    json_put_unsigned(writer, "partial", true, counts->partial);
    json_put_unsigned(writer, "repeated", true, counts->repeated);
    json_put_unsigned(writer, "stops", true, counts->stops);
    json_put_unsigned(writer, "stood_ns", true, counts->stood_ns);
    json_put_unsigned(writer, "sampler_ns", true, counts->sampler_ns);
}

static void write_tables(const struct profile *profile, struct profile_printer *printer,
                         struct json_writer *writer)
{
    for (uint32_t i = 1; i < profile->process_count; i++) {
        begin_line(writer, "process");
        put_process(profile, i, writer);
        end_line(printer, writer);
    }
    for (uint32_t i = 1; i < profile->thread_count; i++) {
        begin_line(writer, "thread");
        put_thread(profile, i, writer);
        end_line(printer, writer);
    }
    for (uint32_t i = 1; i < profile->frame_count; i++) {
        begin_line(writer, "frame");
        put_frame(profile, i, writer);
        end_line(printer, writer);
    }
    for (uint32_t i = 1; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];
        begin_line(writer, "stack");
        json_put_unsigned(writer, "id", true, i);
        json_put_unsigned(writer, "parent", stack->parent != 0, stack->parent);
        json_put_unsigned(writer, "frame", true, stack->frame);
        end_line(printer, writer);
    }
}

enum psc_status write_ndjson(const struct profile *profile, const struct profile_output *output,
                             struct psc_error *err)
{
    struct profile_printer printer = {.output = output};
    struct json_writer writer = {.out = &printer.text, .one_line = true};
    begin_line(&writer, "profile");
    put_profile(profile, output, &writer);
    end_line(&printer, &writer);
    write_tables(profile, &printer, &writer);
    struct profile_reader reader;
    struct profile_sample sample;
    profile_start_reading(&reader, profile);
    while (printer.status == PSC_OK && profile_next_sample(&reader, &sample)) {
        begin_line(&writer, "sample");
        put_sample(&sample, &writer);
        end_line(&printer, &writer);
    }
    begin_line(&writer, "counts");
    put_counts(&profile->counts, &writer);
    end_line(&printer, &writer);
    return psc_fail_status(err, printer_end(&printer));
}
