/* Own and total time of each line of each source file, with its text: the heat of sources. */
#include "line_heat_private.h"

static void print_line(const struct heat *heat, const struct heated_line *line,
                       struct source_walk *walk, struct text *text)
{
    const struct profile *profile = heat->profile;
    uint32_t number = heated_line_number(line);
    text_printf(text, "%6.1f %6.1f  ", heat_percent(heat, line->own),
                heat_percent(heat, line->total));
    if (number)
        text_printf(text, "%6u  ", number);
    else
        text_add_string(text, "     -  ");
    size_t from = text->size;
    text_add_escaped(text, profile_string(profile, heated_function(heat, line)->name));
    struct text source = {0};
    if (number)
        source_add_line(walk, number, &source);
    if (source.size)
        text_printf(text, "%*s| %s", from + 24 > text->size ? (int)(from + 24 - text->size) : 1, "",
                    source.data);
    text_deinit(&source);
    text_add_char(text, '\n');
}

static void print_file(const struct heat *heat, const struct heated_file *file,
                       struct profile_printer *printer)
{
    const struct profile *profile = heat->profile;
    const char *name = profile_string(profile, (uint32_t)file->name);
    struct source_walk walk PSC_CLEANUP(source_deinit);
    source_open(&walk, printer->output, name);
    text_add_char(&printer->text, '\n');
    text_add_escaped(&printer->text, *name ? name : "(no file)");
    text_printf(&printer->text,
                "  %.1f %% own, %.1f %% total\n   own%% total%%    line  function\n",
                heat_percent(heat, file->own), heat_percent(heat, file->total));
    for (size_t i = 0; i < file->count; i++) {
        print_line(heat, heat->sorted[file->first + i], &walk, &printer->text);
        printer_flow(printer);
    }
}

static enum psc_status print_heat(const struct heat *heat, const struct profile_output *output)
{
    const struct profile *profile = heat->profile;
    struct profile_printer printer = {.output = output};
    text_add_escaped(&printer.text, profile->target ? profile->target : "profile");
    text_printf(&printer.text, "\n  %.1f s, %llu samples of threads at %llu moments\n",
                (double)profile->duration / 1e9, (unsigned long long)profile->counts.samples,
                (unsigned long long)profile->counts.taken);
    for (size_t i = 0; i < heat->files.count; i++)
        print_file(heat, hash_table_at(&heat->files, i), &printer);
    return printer_end(&printer);
}

enum psc_status write_lines(const struct profile *profile, const struct profile_output *output,
                            struct psc_error *err)
{
    struct heat heat PSC_CLEANUP(heat_deinit);
    enum psc_status status = heat_read(profile, &heat, err);
    return status == PSC_OK ? psc_fail_status(err, print_heat(&heat, output)) : status;
}
