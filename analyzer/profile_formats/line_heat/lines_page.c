/* The heat of sources as a page: hot lines with those around them, without a script. */
#include "line_heat_private.h"
#include "page_parts.h"

#define OPEN_FILES  3u    /* Shown unfolded. */
#define FILES_LIMIT 1000u /* With lines; of others the page says how many there are. */
#define AROUND      3u    /* Lines of source before and behind one that has time. */
#define HEATS       8     /* Classes h1 to h8 of lines.css. */

extern const char lines_style[];

struct lines_page {
    const struct heat *heat;
    struct profile_printer *printer;
    struct source_walk walk;
    struct text source;
};

static void put_percent(struct text *text, const struct heat *heat, uint64_t weight)
{
    if (weight)
        text_printf(text, "<td class=\"n\">%.1f</td>", heat_percent(heat, weight));
    else
        text_add_string(text, "<td class=\"n\"></td>");
}

/* By its share of all time: 1 % is warm, 50 % is hot. */
static int heat_class(const struct heat *heat, uint64_t weight)
{
    static const double least[HEATS] = {0, 0.5, 1, 2.5, 5, 10, 20, 40};
    int class = 0;
    while (weight && class < HEATS && heat_percent(heat, weight) >= least[class])
        class ++;
    return class;
}

static void put_row(struct lines_page *page, uint32_t number, const struct heated_line *line)
{
    struct text *text = &page->printer->text;
    const struct heat *heat = page->heat;
    int class = line ? heat_class(heat, line->own ? line->own : line->total / 8) : 0;
    text_printf(text, "<tr%s", class ? " class=\"h" : "");
    if (class)
        text_printf(text, "%d\"", class);
    text_add_char(text, '>');
    put_percent(text, heat, line ? line->own : 0);
    put_percent(text, heat, line ? line->total : 0);
    if (number)
        text_printf(text, "<td class=\"l\">%u</td><td class=\"f\">", number);
    else
        text_add_string(text, "<td class=\"l\"></td><td class=\"f\">");
    if (line)
        text_add_html(text, profile_string(heat->profile, heated_function(heat, line)->name));
    text_add_string(text, "</td><td>");
    text_clear(&page->source);
    if (number && source_add_line(&page->walk, number, &page->source))
        text_add_html(text, page->source.data ? page->source.data : "");
    text_add_string(text, "</td></tr>\n");
    printer_flow(page->printer);
}

/* Lines of source from `from` up to `to`, without time of their own. */
static void put_around(struct lines_page *page, uint32_t from, uint32_t to)
{
    for (uint32_t number = from; number < to && page->walk.text; number++) {
        if (!page->walk.at && number > page->walk.line)
            break;
        put_row(page, number, NULL);
    }
}

static void put_file_lines(struct lines_page *page, const struct heated_file *file)
{
    const struct heat *heat = page->heat;
    uint32_t shown = 0; /* The last line that stands there. */
    for (size_t i = 0; i < file->count; i++) {
        const struct heated_line *line = heat->sorted[file->first + i];
        uint32_t number = heated_line_number(line);
        if (number > shown) {
            uint32_t behind = shown ? shown + AROUND + 1 : 0;
            uint32_t before = number > AROUND ? number - AROUND : 1;
            bool cut = shown && before > behind;
            if (shown)
                put_around(page, shown + 1, behind < number ? behind : number);
            if (cut && page->walk.text)
                text_add_string(&page->printer->text,
                                "<tr class=\"cut\"><td colspan=\"5\"></td></tr>\n");
            put_around(page, before > behind ? before : behind, number);
        }
        put_row(page, number, line);
        shown = number;
    }
    if (shown)
        put_around(page, shown + 1, shown + AROUND + 1);
}

static void put_file(struct lines_page *page, const struct heated_file *file, bool open)
{
    const struct heat *heat = page->heat;
    struct text *text = &page->printer->text;
    const char *name = profile_string(heat->profile, (uint32_t)file->name);
    text_printf(text, "<details%s><summary><b>%.1f %%</b>", open ? " open" : "",
                heat_percent(heat, file->own));
    text_add_html(text, *name ? name : "(no file)");
    text_printf(text, " <span class=\"sub\">in all %.1f %%</span></summary>\n",
                heat_percent(heat, file->total));
    text_add_string(text, "<div class=\"scroll\"><table><thead><tr><th>own %</th><th>total %</th>"
                          "<th>line</th><th class=\"f\">function</th><th>source</th></tr></thead>"
                          "<tbody>\n");
    source_open(&page->walk, page->printer->output, name);
    put_file_lines(page, file);
    source_deinit(&page->walk);
    text_add_string(&page->printer->text, "</tbody></table></div></details>\n");
    printer_flow(page->printer);
}

static void put_page(struct lines_page *page)
{
    const struct heat *heat = page->heat;
    const struct profile *profile = heat->profile;
    const char *title = profile->target ? profile->target : "Lines";
    struct text *text = &page->printer->text;
    html_begin(text, &(struct html_head){title, lines_style, PSC_LINES_STYLE_HASH, NULL});
    text_add_string(text, "<header>\n<h1>");
    text_add_html(text, title);
    text_add_string(text, "</h1>\n<p class=\"sub\">");
    html_add_summary(text, profile);
    text_add_string(text, "</p>\n<p class=\"sub\">own: the line itself ran; total: it, or what it "
                          "called.</p>\n");
    if (profile->folds_lines)
        text_add_string(text, "<p class=\"sub\">Recorded by function: lines are not known.</p>\n");
    text_add_string(text, "</header>\n<main>\n");
    for (size_t i = 0; i < heat->files.count && i < FILES_LIMIT; i++)
        put_file(page, hash_table_at(&heat->files, i), i < OPEN_FILES);
    if (heat->files.count > FILES_LIMIT)
        text_printf(text, "<p class=\"sub\">%zu more files are left out.</p>\n",
                    heat->files.count - FILES_LIMIT);
    text_add_string(text, "</main>\n</body>\n</html>\n");
}

enum psc_status write_heat(const struct profile *profile, const struct profile_output *output,
                           struct psc_error *err)
{
    struct heat heat PSC_CLEANUP(heat_deinit);
    enum psc_status status = heat_read(profile, &heat, err);
    if (status != PSC_OK)
        return status;
    struct profile_printer printer = {.output = output};
    struct lines_page page = {.heat = &heat, .printer = &printer};
    put_page(&page);
    if (page.source.failed)
        printer.status = PSC_ERR_MEMORY;
    text_deinit(&page.source);
    return psc_fail_status(err, printer_end(&printer));
}
